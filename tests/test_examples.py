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


def test_the_gallery_shows_all_examples():
    assert len(EXAMPLES) >= 10
    gallery = (EXAMPLES[0].parents[1] / "docs" / "gallery.md").read_text()
    for path in EXAMPLES:
        title = path.read_text().split("\n")[0].removeprefix('"""')
        assert f"## {title}\n\n![{title}](gallery/{path.stem}.png)" in gallery
        assert f"../examples/{path.name}" in gallery


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
