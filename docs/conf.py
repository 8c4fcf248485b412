"""Sphinx configuration."""

from bayespoint import __version__

project = "bayespoint"
author = "The bayespoint developers"
release = version = __version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc", "myst_parser"]
myst_enable_extensions = ["dollarmath"]
autosummary_generate = True
numpydoc_show_class_members = False
suppress_warnings = ["ref.ref"]  # inherited docstrings point into the manual of scikit-learn
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"bayespoint {version}"
