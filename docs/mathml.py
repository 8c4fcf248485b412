"""Formulas as MathML, which browsers draw by themselves: no script, no network."""

from docutils import nodes
from latex2mathml.converter import convert


def inline(writer, node):
    """A formula within a line."""
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def displayed(writer, node):
    """A formula on a line of its own."""
    writer.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app):
    """Make it the way of the pages in HTML."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(displayed, None))
    app.connect("config-inited", lambda app, config: setattr(config, "html_math_renderer", "mathml"))
