"""The python blocks of a page are one program that runs top to bottom as printed."""

import inspect
import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from bayespoint import Hinge, Logistic, Step
from bayespoint.engines import Engine
from bayespoint.likelihoods import Likelihood

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


def rows_of(page, columns):
    """Cells of the tables of a page that have this many columns, heads and rules left out."""
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in cells if len(row) == columns and not set(row[0]) <= set("-")]


def codes(cell):
    return re.findall(r"`([^`]+)`", cell)


def test_the_architecture_page_points_to_what_is_there():
    """Where do I change ...? The name stands in each file of its row."""
    package, rows = ROOT / "src" / "bayespoint", rows_of("architecture.md", 3)
    places = [(codes(where), codes(name)) for _, where, name in rows]
    places = [(files, names) for files, names in places if files and names and (package / files[0]).is_file()]
    assert len(places) >= 20
    for files, names in places:
        for file in files:
            text = (package / file).read_text(encoding="utf-8")
            assert all(re.search(rf"\b{name.split('.')[-1]}\b", text) for name in names), (file, names)


@pytest.mark.parametrize("page", ["architecture.md", "add_an_engine.md", "add_a_likelihood.md"])
def test_pages_for_contributors_name_files_that_exist(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("```")]
    names = {name.removeprefix("python ") for line in lines for name in codes(line)}
    files = {name for name in names if name.endswith((".py", ".rst")) and "<" not in name}
    assert len(files) > 3
    for name in files:
        assert (ROOT / name).is_file() or (ROOT / "src" / "bayespoint" / name).is_file(), name


def test_the_tree_of_the_architecture_page_has_every_room():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = text.split("src/bayespoint/\n")[1].split("\ntests/")[0]
    told = {line.split()[0].rstrip("/").removesuffix(".py") for line in tree.splitlines()}
    rooms = {path.stem for path in (ROOT / "src" / "bayespoint").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert told == rooms - {"__init__", "__pycache__"}


@pytest.mark.parametrize("likelihood", [Step(0.1, 0.5), Hinge(2.0), Logistic()], ids=lambda one: type(one).__name__)
def test_every_likelihood_has_the_hooks_of_the_page(likelihood):
    told = [*rows_of("add_a_likelihood.md", 3), *rows_of("add_a_likelihood.md", 2)]
    hooks = [codes(row[0])[0] for row in told if codes(row[0])]
    assert {hook.partition("(")[0] for hook in hooks} == {name for name in vars(Likelihood) if name[0] != "_"}
    for hook in hooks:
        name, _, arguments = hook.partition("(")
        found = getattr(likelihood, name)
        assert not arguments or list(inspect.signature(found).parameters) == arguments.rstrip(")").split(", ")


def test_the_page_on_engines_has_every_declaration():
    declared = set(Engine.__annotations__)
    told = {codes(row[0])[0] for row in rows_of("add_an_engine.md", 3) if codes(row[0])}
    assert told == declared
