import ast
import importlib

import pytest

import catalogue
from catalogue import FOLDERS, HERE, UnknownExperimentError, experiments, read, select

ASKED_FOR = {
    "herbrich2001": [*(f"figure{k}" for k in (2, 4, 5, 6, 7, 8, 9, 10)), "table1", "section1"],
    "herbrich1999": ["figure1", "figure2", "figure6"],
    "graepel2001": ["figure1", "figure3", "figure4"],
    "sollich2002": [*(f"figure{k}" for k in range(1, 11)), "evidence_maxima", "pima_crabs"],
    "crammer2009": ["figure2"],
}
EVERYTHING = experiments()


def test_every_table_and_figure_has_its_file():
    names = {one.name for one in EVERYTHING}
    assert names >= {f"{folder}/{stem}" for folder, stems in ASKED_FOR.items() for stem in stems}


@pytest.mark.parametrize("experiment", EVERYTHING, ids=lambda one: one.name)
def test_files_say_what_they_show(experiment):
    assert experiment.title.endswith(".")
    assert len(experiment.text) > 80
    assert experiment.minutes > 0


def bayespoint_imports(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "bayespoint":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "bayespoint")


@pytest.mark.parametrize("path", sorted(HERE.rglob("*.py")), ids=lambda path: str(path.relative_to(HERE)))
def test_experiments_use_the_public_api_alone(path):
    source = path.read_text(encoding="utf-8")
    for name in bayespoint_imports(source):
        assert is_public(name), name
    assert "pyplot" not in source, "pictures are built with matplotlib.figure.Figure: no state, no windows"


def is_public(name):
    """Whether a name is one that its package exports."""
    module, _, last = name.rpartition(".")
    if name == "bayespoint.__version__" or not module:
        return True
    return not any(part.startswith("_") for part in name.split(".")) and last in importlib.import_module(module).__all__


@pytest.mark.parametrize(
    "name", ["bayespoint._core.typing.Array", "bayespoint.engines.perceptrons.njit", "bayespoint.grams.views"]
)
def test_private_names_would_be_seen(name):
    module, _, last = name.rpartition(".")
    assert list(bayespoint_imports(f"from {module} import {last}")) == [name]
    assert not is_public(name)


def test_figures_come_in_their_order():
    names = [one.name for one in EVERYTHING if one.folder == "sollich2002" and "figure" in one.name]
    assert names == [f"sollich2002/figure{k}" for k in range(1, 11)]


def test_a_folder_stands_for_all_in_it():
    chosen = select(["herbrich1999"])
    assert {one.folder for one in chosen} == {"herbrich1999"}
    assert select(["herbrich1999", "herbrich1999/figure1"]) == chosen
    assert [one.name for one in select(["herbrich2001_table1"])] == ["herbrich2001/table1"]
    assert select([]) == EVERYTHING


def test_an_unknown_name_gets_a_sentence():
    with pytest.raises(UnknownExperimentError, match="reproduce --list"):
        select(["herbrich2001/figure99"])


def test_helpers_are_no_experiments():
    assert read(HERE / "sollich2002" / "toy.py") is None


SOURCE = '"""Title.\n\nText."""\nDATA = ("heart",)\nREASONS = {"a*": "why"}\nX = 1\ndef run(size):\n    return X\n'


def test_words_change_no_fingerprint_but_code_does(tmp_path):
    def fingerprint(source):
        path = tmp_path / "one.py"
        path.write_text(source)
        return read(path).fingerprint

    before = fingerprint(SOURCE)
    assert fingerprint(SOURCE.replace("Text", "Other").replace("why", "because") + "# a comment\n") == before
    assert fingerprint(SOURCE.replace("X = 1", "X = 2")) != before


def test_a_change_in_a_helper_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "HERE", tmp_path)
    (tmp_path / "paper").mkdir()
    helper, deeper, one = (tmp_path / "paper" / f"{name}.py" for name in ("helper", "deeper", "one"))
    one.write_text(SOURCE.replace("X = 1", "from paper import helper\nX = 1"))
    helper.write_text('"""Text."""\nfrom paper.deeper import Y')
    deeper.write_text('"""Text."""\nY = 1')
    before = read(one).fingerprint
    deeper.write_text('"""Other text."""\nY = 1')
    assert read(one).fingerprint == before
    deeper.write_text('"""Text."""\nY = 2')
    assert read(one).fingerprint != before


def test_reasons_go_by_pattern(tmp_path):
    path = tmp_path / "one.py"
    path.write_text(SOURCE)
    one = read(path)
    assert (one.reason("abc"), one.reason("b")) == ("why", "")
    assert (one.data, one.title, one.text) == (("heart",), "Title.", "Text.")


def test_folders_have_papers():
    assert {one.folder for one in EVERYTHING} == set(FOLDERS)
