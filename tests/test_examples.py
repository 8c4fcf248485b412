"""Every example runs without a warning and draws something."""

import runpy
from pathlib import Path

import matplotlib as mpl
import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("plot_*.py"))


@pytest.fixture
def plt():
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    yield plt
    plt.close("all")


def test_examples_are_pages_of_the_gallery():
    """A title with a line below it, and words on what it shows: what the gallery makes a page of."""
    assert len(EXAMPLES) >= 10
    for path in EXAMPLES:
        title, rule, blank, *_ = path.read_text().removeprefix('"""').splitlines()
        assert rule == "=" * len(title), path.name
        assert not blank, path.name


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, plt, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path))
    figures = [plt.figure(number) for number in plt.get_fignums()]
    assert figures
    for figure in figures:
        assert figure.axes
        assert all(ax.has_data() for ax in figure.axes)
        figure.canvas.draw()
