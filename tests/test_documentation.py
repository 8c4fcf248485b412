"""The python blocks of a page are one program that runs top to bottom as printed."""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").glob("*.md") if "```python" in page.read_text())]


def program(page):
    """The blocks, with an empty line for each line of text: line numbers of a traceback are those of the page."""
    lines, in_block = [], False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            in_block = line == "```python"
            line = ""
        lines.append(line if in_block else "")
    return compile("\n".join(lines), str(page), "exec")


def test_blocks_keep_the_line_numbers_of_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\na = 1\n```\n\n    make b = 2\n\n```python\nb = a + missing\n```\n")
    with pytest.raises(NameError, match="missing") as caught:
        exec(program(page), {})
    assert caught.traceback[-1].lineno + 1 == 10


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page, tmp_path, monkeypatch):
    """Clusters that a page starts when it is the main program stay off: tests/cluster has them."""
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    exec(program(page), {"__name__": page.stem})
    plt.close("all")
