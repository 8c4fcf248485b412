import json
import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import catalogue
import runner
from bayespoint.cli import main, reproduce
from catalogue import HERE, experiments
from findings import Findings, Number
from sizes import Size
from tables import at_hand

KEYS = {"what", "ours", "paper", "verdict", "why", "kind"}


DEAR = {  # even in their quick size: with the slow tests
    *("ours/small_tables", "ours/guarantees", "ours/active_learning", "ours/several_classes", "ours/real_data"),
    *("crammer2009/bounds", "crammer2009/figure2", "graepel2001/figure1", "herbrich1999/mirrored"),
    *("herbrich2001/figure9", "sollich2002/ten_sets", "sollich2002/evidence_maxima", "sollich2002/figure6"),
    *("ours/rejection", "ours/certificates", "herbrich2001/figure4", "sollich2002/figure5", "sollich2002/figure8"),
}


def test_dear_experiments_are_experiments():
    assert {one.name for one in experiments()} >= DEAR


@pytest.mark.parametrize(
    "experiment",
    [pytest.param(one, marks=[pytest.mark.slow] if one.name in DEAR else []) for one in experiments()],
    ids=lambda one: one.name,
)
def test_every_experiment_runs_in_its_quick_size(experiment, tmp_path):
    if not at_hand(*experiment.data):
        pytest.skip(f"no data: put {', '.join(experiment.data)} where datasets.py and tables.py look")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runner.run_here(experiment, Size(quick=True), tmp_path)
    record = json.loads((tmp_path / f"{experiment.stem}.json").read_text())
    assert record["name"] == experiment.name
    assert record["size"] == "quick"
    assert record["figures"]
    for row in record["figures"]:
        assert row.keys() >= KEYS
        assert row["ours"] not in ("", None)
    assert record.keys() >= {"conditions", "seed", "versions", "seconds", "date", "fingerprint"}
    assert (tmp_path / f"{experiment.stem}.png").stat().st_size > 2000


# -- the runner, on experiments of a few lines ------------------------------------------------------------------------

GOOD = '''"""Figure 1: a title.

Some text."""
from matplotlib.figure import Figure
from findings import Findings, Number
def run(size):
    with open({log!r}, "a") as file:
        file.write("ran ")
    return Findings([Number("a", size.pick(1.0, 2.0), 1.0)], Figure(), seed=0)
'''
BAD = GOOD.replace("    return", "    raise ValueError('broken')\n    return")
NO_DATA = GOOD.replace("    return", "    from datasets import load_arrays\n    load_arrays('nothing')\n    return")
NAN = GOOD.replace("size.pick(1.0, 2.0)", "float('nan')")
KILLED = GOOD.replace("    return", "    import os; os.kill(os.getpid(), 9)\n    return")


@pytest.fixture
def house(tmp_path):
    """A directory of experiments with the runner of the real one; `run` runs it, `log` tells how often."""

    class House:
        home, log = tmp_path / "experiments", tmp_path / "log"

        def add(self, name, source):
            path = self.home / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(source.format(log=str(self.log)))

        def run(self, *arguments):
            command = [sys.executable, str(self.home / "runner.py"), *arguments, "--results", str(tmp_path / "found")]
            return subprocess.run(command, capture_output=True, text=True)

        def record(self, name):
            return json.loads((tmp_path / "found" / f"{name}.json").read_text())

        def files(self):
            return sorted(path.name for path in (tmp_path / "found").glob("**/*") if path.is_file())

        def runs(self):
            return len(self.log.read_text().split()) if self.log.exists() else 0

    house = House()
    house.home.mkdir()
    for module in ("runner", "catalogue", "datasets", "findings", "sizes", "page"):
        (house.home / f"{module}.py").write_text((HERE / f"{module}.py").read_text())
    return house


def test_what_is_done_is_not_done_again(house):
    house.add("herbrich2001/one.py", GOOD)
    house.add("herbrich2001/two.py", GOOD)
    assert house.run().returncode == 0
    assert house.files() == [f"herbrich2001_{n}.{e}" for n in ("one", "two") for e in ("json", "png")]
    again = house.run()
    assert "2 of 2 have results already" in again.stdout
    assert house.runs() == 2
    house.add("herbrich2001/two.py", GOOD.replace("size.pick(1.0, 2.0)", "3.0"))  # other code: out of date
    house.run()
    assert house.runs() == 3
    assert house.record("herbrich2001_two")["figures"][0]["ours"] == 3.0
    house.run("--again")
    assert house.runs() == 5


def test_a_run_that_was_stopped_goes_on(house):
    house.add("herbrich2001/one.py", GOOD)
    house.add("herbrich2001/two.py", GOOD.replace("    return", "    import time; time.sleep(3600)\n    return"))
    command = [sys.executable, str(house.home / "runner.py"), "--jobs", "2", "--results", str(house.home / "../found")]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # some shells have it ignored
    )
    end = time.monotonic() + 600
    while "herbrich2001_one.json" not in house.files() or house.runs() < 2:
        assert time.monotonic() < end
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert "what is done is kept" in said
    assert "Traceback" not in said
    assert house.files() == ["herbrich2001_one.json", "herbrich2001_one.png"]
    house.add("herbrich2001/two.py", GOOD)
    assert house.run().returncode == 0
    assert house.runs() == 3  # the first was not run again


def test_quick_results_never_stand_in_for_full_ones(house):
    house.add("herbrich2001/one.py", GOOD)
    house.run("--quick")
    assert house.record("quick/herbrich2001_one")["figures"][0]["ours"] == 2.0
    house.run()
    assert house.record("herbrich2001_one")["figures"][0]["ours"] == 1.0
    assert house.record("herbrich2001_one")["size"] == "full"


def test_a_failure_stops_nothing_and_leaves_nothing_half_written(house):
    for name, source in {"bad": BAD, "good": GOOD, "killed": KILLED, "nan": NAN}.items():
        house.add(f"herbrich2001/{name}.py", source)
    done = house.run()
    assert done.returncode == 1
    failed = [name for name in ("bad", "good", "killed", "nan") if f"{name}: failed" in done.stdout]
    assert failed == ["bad", "killed", "nan"]
    assert house.record("herbrich2001_good")["figures"][0]["verdict"] == "agrees"
    assert house.files() == ["herbrich2001_good.json", "herbrich2001_good.png"]


BUSY = '''"""Figure 1: a title.

Some text."""
import time
from matplotlib.figure import Figure
from findings import Findings, Number
def work(k):
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    return k
def run(size):
    return Findings([Number("sum", sum(size.map(work, [(1,), (2,)])))], Figure(), seed=0)
'''


@pytest.mark.parametrize("jobs", [1, 2])
def test_processor_time_is_that_of_all_processes(house, jobs):
    house.add("herbrich2001/one.py", BUSY)
    house.run("herbrich2001/one", "--jobs", str(jobs))
    record = house.record("herbrich2001_one")
    assert record["processes"] == jobs
    assert record["figures"][0]["ours"] == 3
    assert record["core_seconds"] >= 0.6


def test_missing_data_are_said_and_skipped(house):
    house.add("herbrich2001/one.py", NO_DATA)
    done = house.run()
    assert done.returncode == 0
    assert "No data set 'nothing': put nothing.npz into a directory" in done.stderr
    assert "skipped, no data" in done.stdout


def test_the_list_marks_what_is_done(house):
    house.add("herbrich2001/one.py", GOOD)
    house.add("graepel2001/two.py", GOOD)
    house.run("graepel2001/two")
    lines = house.run("--list").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["herbrich2001/one", "Figure"], ["graepel2001/two", "x"]]


def test_senseless_arguments_get_a_sentence(house):
    assert "reproduce --list" in house.run("nothing").stderr
    assert "--jobs must be at least 1" in house.run("--jobs", "0").stderr


def test_numpy_goes_into_json(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    class Module:
        @staticmethod
        def run(size):
            found = Number("a", np.float64(1.5), np.float64(1.0), se=np.float32(0.5))
            return Findings([found], Figure(), 0, details={"b": np.arange(3)})

    monkeypatch.setitem(sys.modules, experiments()[0].name.replace("/", "."), Module)
    runner.run_here(experiments()[0], Size(), tmp_path)
    record = json.loads((tmp_path / f"{experiments()[0].stem}.json").read_text())
    assert record["details"] == {"b": [0, 1, 2]}


def test_tasks_run_in_order_in_any_number_of_processes():
    tasks = [(k, 2) for k in range(7)]
    assert Size(jobs=1).map(pow, tasks) == Size(jobs=2).map(pow, tasks) == [k**2 for k in range(7)]


# -- the command line -------------------------------------------------------------------------------------------------


def test_reproduce_lists_the_experiments(capfd):
    assert main(["reproduce", "--list"]) == 0
    assert "herbrich2001/table1" in capfd.readouterr().out


def test_reproduce_knows_no_other_names(capfd):
    assert main(["reproduce", "nothing"]) == 2
    assert "No experiment 'nothing'" in capfd.readouterr().err


def test_reproduce_needs_a_checkout(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "__file__", str(tmp_path / "src" / "bayespoint" / "cli" / "reproduce.py"))
    monkeypatch.delenv("BAYESPOINT_EXPERIMENTS", raising=False)
    assert main(["reproduce", "--list"]) == 2
    assert "checkout" in capsys.readouterr().err
    monkeypatch.setenv("BAYESPOINT_EXPERIMENTS", str(HERE))
    assert reproduce.experiments_directory() == HERE
    monkeypatch.setenv("BAYESPOINT_EXPERIMENTS", str(tmp_path))
    assert main(["reproduce", "--list"]) == 2
    assert "the experiments are not there" in capsys.readouterr().err


def test_reproduce_is_found_from_below(monkeypatch):
    monkeypatch.chdir(HERE / "results" if (HERE / "results").is_dir() else HERE)
    monkeypatch.delenv("BAYESPOINT_EXPERIMENTS", raising=False)
    assert reproduce.experiments_directory() == HERE
    assert os.path.samefile(catalogue.HERE, HERE)


def test_reproduce_is_found_beside_an_editable_install(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BAYESPOINT_EXPERIMENTS", raising=False)
    assert reproduce.experiments_directory() == HERE


def test_other_commands_take_no_stray_arguments(capsys):
    assert main(["demo", "--nonsense"]) == 2
    assert "--nonsense" in capsys.readouterr().err
