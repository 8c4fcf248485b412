"""Pages for a browser: what the layers below return, as HTML."""
