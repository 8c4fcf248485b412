"""Memory, disk, caches and packages that fail: one clear sentence, no crash, and what was saved stays readable."""

import importlib.util
import os
import resource
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
import pandas
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayespoint
import bayespoint.distributed
import bayespoint.onnx
from bayespoint import BayesPointClassifier, Problem, Step, diagnostics, load, save
from bayespoint._core.compiling import compiled
from bayespoint.engines import Billiard
from bayespoint.exceptions import InvalidProblemError
from bayespoint.plots import ReliabilityDisplay
from bayespoint.uses import parquet_batches
from bayespoint.uses.pools import pool_of
from bayespoint.uses.tables import Frame, inputs_for, read_table

_rng = np.random.default_rng(0)
X = _rng.normal(size=(30, 2))
Y = X[:, 0] > 0
PACKAGE = Path(bayespoint.__file__).parent


@pytest.fixture(scope="module")
def model():
    return BayesPointClassifier(None, optimizer=None).fit(X, Y)


def python(program, *args, **environment):
    """A program in a process of its own."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(PACKAGE.parent)} | environment
    command = [sys.executable, "-W", "ignore", "-c", program, *map(str, args)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)


# Disk


def test_a_full_disk_leaves_the_old_file(model, tmp_path):
    path = tmp_path / "kept"
    save(model, path)
    before = path.read_bytes()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limit[1]))
    try:
        with pytest.raises(OSError, match=r"File too large|No space"):
            save(BayesPointClassifier(None, optimizer=None).fit(X, ~Y), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["kept"]


def test_files_have_the_rights_of_the_mask_and_saving_leaves_it_alone(model, tmp_path):
    before = os.umask(0o027)
    try:
        start = threading.Barrier(8)

        def keep(k):
            start.wait()
            for _ in range(5):
                save(model, tmp_path / str(k))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(keep, range(8)))
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o640}
    finally:
        assert os.umask(before) == 0o027


KILLED = """
import sys, bayespoint
model = bayespoint.load(sys.argv[1])
print("ready", flush=True)
while True:
    bayespoint.save(model, sys.argv[2])
"""


def killed_while_saving(model, folder, times, rng):
    """Names that are left beside the file after each kill, which is read again each time."""
    source, path = folder / "source", folder / "kept"
    save(model, source)
    save(model, path)
    expected, left = model.predict_proba(X), []
    for _ in range(times):
        environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
        command = [sys.executable, "-W", "ignore", "-c", KILLED, str(source), str(path)]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "ready\n"
            threading.Event().wait(rng.uniform(0.0, 0.05))
            process.kill()
        np.testing.assert_array_equal(load(path).predict_proba(X), expected)
        left.append({one.name for one in folder.iterdir()} - {"source", "kept"})
    return left


def test_killed_while_saving(model, tmp_path, rng):
    left = killed_while_saving(model, tmp_path, 2, rng)
    assert all(name.startswith(".kept.") and name.endswith(".part") for names in left for name in names)


@pytest.mark.slow
def test_killed_while_saving_many_times(model, tmp_path, rng):
    killed_while_saving(model, tmp_path, 40, rng)


# The cache of compiled loops

LOOP = """
from bayespoint._core.compiling import compiled

@compiled()
def add(a, b):
    return a + b
"""


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Calls the loop as a new process would, and says what came out and how often the cache helped."""
    path = tmp_path / "loop.py"
    path.write_text(LOOP)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))

    def fresh():
        spec = importlib.util.spec_from_file_location("loop", path)
        loop = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loop)
        return loop.add(2.0, 3.0), sum(loop.add.stats.cache_hits.values())

    return fresh


@pytest.mark.parametrize("damaged", [".nbi", ".nbc"])
@pytest.mark.parametrize("left", [0, 20, 200])
def test_a_damaged_cache_is_made_anew(call, tmp_path, damaged, left):
    assert call() == (5.0, 0)
    assert call() == (5.0, 1)
    for path in tmp_path.rglob(f"*{damaged}"):
        path.write_bytes(path.read_bytes()[:left])
    assert call() == (5.0, 0)
    assert call() == (5.0, 1)


def test_a_cache_that_cannot_be_written(call, tmp_path, monkeypatch):
    (tmp_path / "__pycache__").write_text("a file where a folder should be")
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "/proc/nobody")
    with pytest.raises(RuntimeError, match="no locator"):  # the control: this is a place where numba gives up
        exec(compile("import numba\nnumba.njit(cache=True)(lambda a: a)", str(tmp_path / "loop.py"), "exec"))
    assert call() == (5.0, 0)


def test_a_cache_that_fails_while_it_is_written():
    @compiled()
    def add(a, b):
        return a + b

    def full(*args):
        raise OSError(28, "No space left on device")

    add._cache._cache_file._save_data = full
    assert add(1.0, 2.0) == 3.0


def test_every_loop_goes_through_it():
    users = {path.name for path in PACKAGE.rglob("*.py") if "njit" in path.read_text(encoding="utf-8")}
    assert users == {"compiling.py"}


# Packages of an extra

WORKERS = r"Rows with the workers of dask need dask: install bayespoint\[distributed\]\."
EXTRAS = {  # what is missing, the call that needs it, and what is said
    "matplotlib": (
        lambda folder: ReliabilityDisplay.from_predictions(Y, X[:, 0] > 0.5),
        r"Displays need matplotlib: install bayespoint\[plot\]\.",
    ),
    "arviz_base": (
        lambda folder: drawn().to_arviz(),
        r"to_arviz needs arviz-base: install bayespoint\[report\]\.",
    ),
    "arviz_stats": (
        lambda folder: diagnostics.diagnose(drawn()),
        r"Diagnostics need arviz-stats: install bayespoint\[report\]\.",
    ),
    "skl2onnx": (
        lambda folder: bayespoint.onnx.to_onnx(BayesPointClassifier("rbf", optimizer=None).fit(X, Y), X),
        r"ONNX graphs need skl2onnx: install bayespoint\[onnx\]\.",
    ),
    "dask": (lambda folder: bayespoint.distributed.gather_sample(X, Y, 3), WORKERS),
    "pyarrow": (
        lambda folder: next(parquet_batches(folder / "rows.parquet", target="y")),
        r"Parquet files need pyarrow: install bayespoint\[parquet\]\.",
    ),
    "pyarrow, a table": (lambda folder: read_table(parquet(folder)), r"pip install 'bayespoint\[parquet\]'"),
    "pandas": (lambda folder: inputs_for(*BY_NAME), r"pip install 'bayespoint\[table\]'"),
    "PIL": (lambda folder: pictures(folder), r"pip install 'bayespoint\[label\]'\."),
}


def drawn():
    return Billiard(draws=10, chains=2).infer(Problem(np.eye(2), [1, -1], Step(0.1)), rng=0)


def parquet(folder):
    (folder / "rows.parquet").write_bytes(b"PAR1")
    return folder / "rows.parquet"


def by_name():
    """A pipeline that was fitted on a table with names, and new rows for it."""
    frame = Frame({"a": X[:, 0], "b": X[:, 1]})
    chosen = make_pipeline(StandardScaler(), BayesPointClassifier("rbf", optimizer=None))
    return chosen.fit(pandas.DataFrame(dict(frame.data)), Y), frame, frame.typed().types


BY_NAME = by_name()


def pictures(folder):
    (folder / "one.png").write_bytes(b"")
    frame = Frame({"picture": np.array(["one.png"], dtype=object)})
    return pool_of(frame, target=None, text=None, image="picture", home=folder)


@pytest.mark.parametrize("what", EXTRAS)
def test_a_package_that_is_missing_is_told_with_its_extra(what, tmp_path, monkeypatch):
    call, sentence = EXTRAS[what]
    name = what.partition(",")[0]
    for module in [name, *(module for module in sys.modules if module.startswith(f"{name}."))]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises((ImportError, InvalidProblemError), match=sentence) as told:
        call(tmp_path)
    assert "\n" not in str(told.value)


# Memory

STARVED = """
import resource, sys
import numpy as np
from bayespoint import BayesPointClassifier, BayesianSVC, GaussianMarginClassifier
from bayespoint.engines import Billiard
rng = np.random.default_rng(0)
X = rng.normal(size=(int(sys.argv[2]), 5)); y = X[:, 0] > 0
small = slice(0, 60)
model = eval(sys.argv[1])
model.fit(X[small], y[small]).predict(X[small])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = used + int(float(sys.argv[3]) * 2**20)
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
try:
    model.fit(X, y).predict(X)
    print("done")
except (MemoryError, ValueError) as error:
    print(type(error).__name__, "|", error)
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
print(model.fit(X[small], y[small]).predict_proba(X[:2]).shape)
"""


def starve(model, rows, megabytes):
    done = python(STARVED, model, rows, megabytes)
    assert done.returncode == 0, f"{megabytes} MB: {done.returncode} {done.stderr[-2000:]}"
    said, after = done.stdout.splitlines()
    assert after == "(2, 2)"
    return said


def test_too_little_memory_is_told():
    said = starve("BayesPointClassifier('rbf', optimizer=None)", 1200, 8)
    assert said.startswith("_ArrayMemoryError | Unable to allocate ") or said.startswith("MemoryError | ")
    assert len(said) > 20


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [2, 8, 16, 24, 32, 48, 64, 96])
@pytest.mark.parametrize(
    "model",
    [
        "BayesPointClassifier('rbf', optimizer=None)",
        "BayesPointClassifier(max_rank=50, random_state=0)",
        "BayesPointClassifier('rbf', optimizer=None, engine=Billiard(draws=50), random_state=0)",
        "BayesianSVC(random_state=0)",
        "GaussianMarginClassifier(kernel='rbf', random_state=0)",
    ],
)
def test_too_little_memory_is_no_crash(model, megabytes):
    said = starve(model, 1500, megabytes)
    assert said == "done" or len(said) > 20
