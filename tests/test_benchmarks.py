import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "benchmarks" / "run.py"


@pytest.fixture
def benchmarks(tmp_path, monkeypatch):
    """The runner, with a directory of its own for scripts and for what they print."""
    spec = importlib.util.spec_from_file_location("run_benchmarks", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "HERE", tmp_path)
    monkeypatch.setattr(module, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(module, "ALL", {"good": ["good.py", "once"], "bad": ["bad.py"]})
    (tmp_path / "good.py").write_text("import sys; print('ratio', *sys.argv[1:])")
    (tmp_path / "bad.py").write_text("print('half'); raise SystemExit(3)")
    return module


def test_every_benchmark_is_run():
    spec = importlib.util.spec_from_file_location("run_benchmarks", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    scripts = {path.stem for path in PATH.parent.glob("*.py")} - {"run", "_timing"}
    assert {Path(command[0]).stem for command in module.ALL.values()} == scripts


def test_what_is_printed_is_kept(benchmarks, capsys):
    assert benchmarks.main(["good"]) == 0
    kept = (benchmarks.KEPT / "good.txt").read_text()
    assert "cores" in kept.splitlines()[0]
    assert kept.endswith("\n\nratio once\n")
    assert "ratio once" in capsys.readouterr().out


def test_a_failure_keeps_nothing_and_stops_nothing(benchmarks, capsys):
    assert benchmarks.main(["bad", "good"]) == 1
    assert [path.name for path in benchmarks.KEPT.iterdir()] == ["good.txt"]
    assert "failed: bad" in capsys.readouterr().err


def test_an_unknown_name_gets_a_sentence(benchmarks, capsys):
    assert benchmarks.main(["none"]) == 2
    assert "No benchmark 'none'; there are good, bad." in capsys.readouterr().err
