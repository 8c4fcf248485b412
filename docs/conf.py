"""Sphinx configuration."""

import runpy
import sys
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from bayespoint import __version__

sys.path.insert(0, str(Path(__file__).parent))
from draw_walk import draw

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


def draw_gallery(app):
    """Run the examples and keep their first figures, drawn anew at every build."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    folder = Path(app.srcdir) / "gallery"
    folder.mkdir(exist_ok=True)
    for script in sorted(Path(app.srcdir).parent.glob("examples/plot_*.py")):
        with warnings.catch_warnings(), redirect_stdout(StringIO()):
            warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
            runpy.run_path(str(script))
        plt.figure(1).savefig(folder / f"{script.stem}.png", dpi=90)
        plt.close("all")


def draw_walk(app):
    """The picture of the architecture page."""
    folder = Path(app.srcdir) / "gallery"
    folder.mkdir(exist_ok=True)
    draw(folder / "walk.png")


def setup(app):
    """Draw before pages are read."""
    app.connect("builder-inited", draw_walk)
    app.connect("builder-inited", draw_gallery)
