import importlib.util
import re
from pathlib import Path

import pytest

from test_architecture import LEVEL

PATH = Path(__file__).parents[1] / "benchmarks" / "run.py"


def loaded(path):
    spec = importlib.util.spec_from_file_location(f"loaded_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def benchmarks(tmp_path, monkeypatch):
    """The runner, with a directory of its own for scripts and for what they print."""
    module = loaded(PATH)
    monkeypatch.setattr(module, "HERE", tmp_path)
    monkeypatch.setattr(module, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(module, "ALL", {"good": ["good.py", "once"], "bad": ["bad.py"]})
    (tmp_path / "good.py").write_text("import sys; print('ratio', *sys.argv[1:])")
    (tmp_path / "bad.py").write_text("print('half'); raise SystemExit(3)")
    return module


def test_every_benchmark_is_run():
    module = loaded(PATH)
    scripts = {path.stem for path in PATH.parent.glob("*.py")} - {"run", "_timing"}
    assert {Path(command[0]).stem for command in module.ALL.values()} == scripts


def test_what_is_printed_is_kept(benchmarks, capsys):
    assert benchmarks.main(["good"]) == 0
    kept = (benchmarks.KEPT / "good.txt").read_text()
    assert "cores" in kept.splitlines()[1]
    assert kept.startswith(f"bayespoint {benchmarks.__version__}, script ")
    assert re.search(r"\n\nratio once\n\n\(\d+ s of a core in all\)\n$", kept)
    assert "ratio once" in capsys.readouterr().out


def test_a_failure_keeps_nothing_and_stops_nothing(benchmarks, capsys):
    assert benchmarks.main(["bad", "good"]) == 1
    assert [path.name for path in benchmarks.KEPT.iterdir()] == ["good.txt"]
    assert "failed: bad" in capsys.readouterr().err


def test_only_what_is_missing_runs_if_asked(benchmarks, capsys):
    (benchmarks.HERE / "helper.py").write_text("word = 'ratio'")
    (benchmarks.HERE / "good.py").write_text("from helper import word\nprint(word)")
    seen = []
    for text in (None, None, "word = 'share'", "word = 'share'"):  # a first run, one to no purpose, changed, again
        if text:
            (benchmarks.HERE / "helper.py").write_text(text)
        benchmarks.main(["good", "--missing"])
        seen.append(capsys.readouterr().out.split("\n")[:2])
    assert seen == [["== good", "ratio"], [""], ["== good", "share"], [""]]
    benchmarks.main(["good"])
    assert "share" in capsys.readouterr().out  # all the same, if not told otherwise


def test_an_output_of_another_version_is_missing(benchmarks, monkeypatch):
    benchmarks.main(["good"])
    assert benchmarks.is_kept("good")
    monkeypatch.setattr(benchmarks, "__version__", "9.9")
    assert not benchmarks.is_kept("good")


def test_an_unknown_name_gets_a_sentence(benchmarks, capsys):
    assert benchmarks.main(["none"]) == 2
    assert "No benchmark 'none'; there are good, bad." in capsys.readouterr().err


@pytest.fixture(scope="module")
def walks():
    return loaded(PATH.parent / "walk.py").walks(30)


@pytest.mark.xdist_group("walk")
def test_the_walk_sees_what_is_called(walks):
    assert list(walks) == ["fit", "predict_proba", "SVC by its evidence", *FURTHER]
    for walk in walks.values():
        assert len(walk.functions) == len(set(walk.functions)) > len(walk.modules) > 5
        assert 0 < walk.properties < len(walk.functions)
        assert 3 < walk.depth < len(walk.functions)
    assert "engines.ep.engine" in walks["fit"].modules
    assert "engines.ep.engine" not in walks["predict_proba"].modules
    assert any(module.startswith("distributed") for module in walks["dask"].modules)


@pytest.mark.xdist_group("walk")
def test_the_walk_of_a_fit_is_short_and_leads_down(walks):
    assert len(walks["fit"].functions) <= 123
    assert len(walks["predict_proba"].functions) <= 36
    assert walks["fit"].depth <= 15
    for name, walk in walks.items():
        assert walk.depth <= 17, name
        levels = [LEVEL[module.split(".")[0]] for module, _ in walk.deepest if not module.startswith("_core")]
        assert levels == sorted(levels, reverse=True), name
        assert len(walk.ways_back) <= (2 if name == "dask" else 0), name


def test_what_a_fit_is_asked_to_do_adds_to_its_walk():
    found = loaded(PATH.parent / "walk.py").walks_by_feature(30)
    any_fit, by_evidence, hyper_prior, calibration, several = (set(walk.functions) for walk in found.values())
    assert len(any_fit) <= 100
    assert ("tuning.climb", "maximise_evidence") in by_evidence - any_fit
    assert {module for module, _ in hyper_prior - by_evidence} == {"tuning.priors"}
    assert {module for module, _ in calibration - hyper_prior} == {"tuning.calibration"}
    assert ("tuning.stacking", "stacking_weights") in several - calibration


FURTHER = ["first partial_fit", "next partial_fit", "dask", "certificate"]


@pytest.mark.xdist_group("walk")
@pytest.mark.parametrize(("name", "steps"), [("fit", "FIT"), ("predict_proba", "PREDICTION")])
def test_the_picture_of_the_walk_shows_what_is_called_in_order(walks, name, steps):
    picture = loaded(PATH.parents[1] / "docs" / "draw_walk.py")
    drawn = [(module, function) for _, module, function, _ in getattr(picture, steps)]
    assert drawn == [step for step in walks[name].functions if step in drawn]
    page = (PATH.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert f"```text\n{picture.as_text(getattr(picture, steps))}\n```" in page


@pytest.mark.xdist_group("walk")
def test_every_kind_of_fit_goes_the_one_way(walks):
    """The steps of estimators/_fit.py, and one frozen result at the end."""
    for name in ("fit", "SVC by its evidence", "first partial_fit", "dask", "certificate"):
        assert ("estimators._fit", "prepare") in walks[name].functions
        assert ("estimators._fitted", "Fitted.of") in walks[name].functions
