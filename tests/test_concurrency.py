"""Fits and predictions in threads and in other processes are those made alone, and nobody's settings move."""

import multiprocessing
import random
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from threadpoolctl import threadpool_info

import bayespoint
from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier, load, save
from bayespoint._core.parallel import in_parallel
from bayespoint._core.telling import heard_by, nobody, raiser, tell
from bayespoint.engines import Billiard
from bayespoint.exceptions import InferenceWarning

FIXED = 4.0 * RBF(1.0)
MODELS = {
    "point": BayesPointClassifier("rbf", random_state=0),
    "several": BayesPointClassifier(random_state=0),
    "sampled": BayesPointClassifier(FIXED, optimizer=None, engine=Billiard(draws=60, chains=2), random_state=0),
    "machine": BayesianSVC(random_state=0),
    "margin": GaussianMarginClassifier(random_state=0),
}
_rng = np.random.default_rng(3)
X = _rng.normal(size=(30, 2))
Y = np.where(X[:, 0] + 0.5 * _rng.normal(size=30) > 0, "yes", "no")
NEW = _rng.normal(size=(20, 2))

pytestmark = pytest.mark.filterwarnings("ignore:The chains have not mixed")


def answer(name):
    return clone(MODELS[name]).fit(X, Y).predict_proba(NEW)


def settings():
    """What belongs to the user, and to all threads."""
    return {
        "numpy's random state": [str(part) for part in np.random.get_state()],  # noqa: NPY002
        "python's random state": hash(random.getstate()),
        "warning filters": list(warnings.filters),
        "how warnings are shown": warnings.showwarning,
        "floating-point errors": np.geterr(),
        "printing": {key: value for key, value in np.get_printoptions().items() if key != "override_repr"},
        "threads": {(one["filepath"], one["num_threads"]) for one in threadpool_info()},
        "recursion": sys.getrecursionlimit(),
        "scikit-learn": sklearn.get_config(),
        "trace": sys.gettrace() is None,
    }


def together(tasks):
    """Results of tasks in eight threads that begin at once."""
    start = threading.Barrier(8)

    def run(task):
        start.wait()
        return task()

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(run, tasks))


@pytest.mark.processor
@pytest.mark.parametrize("name", MODELS)
def test_eight_threads_get_the_bits_of_one(name):
    alone, before = answer(name), settings()
    for found in together([lambda: answer(name)] * 8):
        np.testing.assert_array_equal(found, alone)
    assert settings() == before


@pytest.mark.processor
def test_one_fitted_classifier_serves_eight_threads():
    models = [clone(one).fit(X, Y) for one in MODELS.values()]
    alone, before = [one.predict_proba(NEW) for one in models], settings()
    for found in together([lambda: [one.predict_proba(NEW) for one in models]] * 8):
        for here, there in zip(alone, found, strict=True):
            np.testing.assert_array_equal(here, there)
    assert settings() == before


def test_nobody_s_settings_are_changed(tmp_path):
    np.random.seed(5)  # noqa: NPY002
    for name, model in MODELS.items():
        before = settings()
        fitted = clone(model).fit(X, Y)
        fitted.predict(NEW)
        fitted.sample_latent(NEW, 3, random_state=0)
        save(fitted, tmp_path / name)
        load(tmp_path / name).predict_proba(NEW)
        assert settings() == before, name


def test_silence_is_for_one_thread_alone():
    """One fit on its way through rough patches must not silence what another has to say, nor make an error of it."""
    inside, told = threading.Event(), threading.Event()

    def rough(ear):
        with heard_by(ear):
            inside.set()
            assert told.wait(60)

    for ear in (nobody, raiser):
        inside.clear(), told.clear()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(rough, ear)
            assert inside.wait(60)
            with pytest.warns(InferenceWarning, match="mind this"):
                tell("mind this")
            told.set()


def test_threads_of_ours_are_heard_by_whoever_started_them():
    heard = []
    with heard_by(heard.append):
        in_parallel((joblib.delayed(tell)(f"mind {i}") for i in range(3)), 2)
    assert heard == ["mind 0", "mind 1", "mind 2"]
    with heard_by(nobody):
        in_parallel((joblib.delayed(tell)("mind") for _ in range(3)), 2)
    with heard_by(raiser), pytest.raises(InferenceWarning, match="mind"):
        in_parallel((joblib.delayed(tell)("mind") for _ in range(3)), 2)


def test_nobody_changes_the_filters_of_the_process():
    """`catch_warnings` is not for threads; the command line, which owns its process, may."""
    package = Path(bayespoint.__file__).parent
    users = {path.name for path in package.rglob("*.py") if "catch_warnings" in path.read_text(encoding="utf-8")}
    assert users == {"app.py"}


def by_fork(method, name):
    with multiprocessing.get_context(method).Pool(2) as pool:
        return pool.map(answer, [name] * 2)


@pytest.mark.processor
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("name", ["point", "sampled", "machine"])
def test_a_forked_process_gets_the_same_bits(name):
    alone = answer(name)  # so that the parent has threads and compiled loops of its own
    for found in by_fork("fork", name):
        np.testing.assert_array_equal(found, alone)


@pytest.mark.slow
@pytest.mark.processor
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_spawned_process_gets_the_same_bits(method, name):
    alone = answer(name)
    for found in by_fork(method, name):
        np.testing.assert_array_equal(found, alone)


@pytest.mark.slow
@pytest.mark.processor
@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_joblib_gets_the_same_bits(backend):
    alone, before = {name: answer(name) for name in MODELS}, settings()
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(answer)(name) for name in MODELS)
    for name, there in zip(MODELS, found, strict=True):
        np.testing.assert_array_equal(there, alone[name])
    assert settings() == before
