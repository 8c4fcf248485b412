"""Sphinx configuration."""

import sys
import warnings
from pathlib import Path

from bayespoint import __version__

sys.path.insert(0, str(Path(__file__).parent))
import mathml
from draw_walk import draw

project = "bayespoint"
author = "The bayespoint developers"
release = version = __version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "numpydoc",
    "myst_parser",
]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
autosummary_generate = True
numpydoc_show_class_members = False
templates_path = ["templates"]
exclude_patterns = ["_build", "templates", "gallery/*.ipynb"]
suppress_warnings = [
    "ref.ref",  # inherited docstrings point into the manual of scikit-learn
    "config.cache",  # the gallery's settings hold functions
]

html_theme = "pydata_sphinx_theme"
html_title = f"bayespoint {version}"
html_static_path = ["static"]
html_css_files = ["house.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "bayespoint"},
    "navbar_end": ["theme-switcher"],  # nothing that asks another host
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
}
html_sidebars = {"index": []}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"[\\/]plot_",
    "ignore_pattern": r"[\\/](extending|_)",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 10_000,
    "write_computation_times": False,
    "remove_config_comments": True,
    "show_signature": False,
    "abort_on_example_error": True,
    "plot_gallery": "True",
}
warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")


def draw_walk(app):
    """The picture of the architecture page."""
    folder = Path(app.srcdir) / "drawn"
    folder.mkdir(exist_ok=True)
    draw(folder / "walk.png")


def setup(app):
    """Draw before pages are read; formulas that need neither network nor script."""
    mathml.setup(app)
    app.connect("builder-inited", draw_walk)
