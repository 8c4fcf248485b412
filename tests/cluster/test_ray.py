"""Ray through joblib: two actors with processes of their own."""

import os

import fatal
import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_predict

from bayespoint import BayesPointClassifier, Problem, Step
from bayespoint.engines import EP, Billiard
from bayespoint.grams import LowRank

pytestmark = [
    pytest.mark.xdist_group("ray"),  # one cluster for all
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray"),
    pytest.mark.filterwarnings("ignore::FutureWarning:ray"),
    pytest.mark.filterwarnings("ignore:.*(unclosed|subprocess .* is still running):ResourceWarning"),
]

UNDYING = {"max_restarts": -1, "max_task_retries": -1}


@pytest.fixture(scope="module")
def cluster():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray = pytest.importorskip("ray")
        from joblib.pool import PicklingPool
        from ray.util.joblib import register_ray

        bases = PicklingPool.__bases__
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        ray.cloudpickle.register_pickle_by_value(fatal)
        register_ray()
        yield ray
        ray.cloudpickle.unregister_pickle_by_value(fatal)
        ray.shutdown()
        PicklingPool.__bases__ = bases  # ray's backend puts its own pool there


@pytest.fixture
def on_ray(cluster):
    with joblib.parallel_config(backend="ray", n_jobs=2):
        yield cluster


def test_chains_are_the_same_draws(on_ray, rng):
    X = rng.standard_normal((150, 3))  # a Gram matrix long enough for shared memory, which is read-only
    problem = Problem(X @ X.T + 1.0, np.where(X[:, 0] > 0, 1, -1), Step(noise=0.1, softness=0.5))
    engine = Billiard(draws=60, chains=4)
    there = engine.infer(problem, rng=3)
    with joblib.parallel_config(backend="sequential"):
        here = engine.infer(problem, rng=3)
    np.testing.assert_array_equal(there.coordinates, here.coordinates)


@pytest.mark.slow
def test_cross_validation_and_a_grid(on_ray):
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    model = BayesPointClassifier("rbf", optimizer=None)
    with joblib.parallel_config(backend="sequential"):
        here = cross_val_predict(model, X, y, cv=3, method="predict_proba")
        best = GridSearchCV(model, {"softness": [0.1, 1.0]}, cv=3, scoring="neg_log_loss").fit(X, y)
    np.testing.assert_allclose(cross_val_predict(model, X, y, cv=3, method="predict_proba"), here, atol=1e-8)
    search = GridSearchCV(model, {"softness": [0.1, 1.0]}, cv=3, scoring="neg_log_loss").fit(X, y)
    assert search.best_params_ == best.best_params_


def test_one_class_against_the_rest_survives_an_actor(cluster, tmp_path):
    X, y = load_iris(return_X_y=True)
    marker = tmp_path / "died"
    with joblib.parallel_config(backend="ray", n_jobs=2, ray_remote_args=UNDYING):
        there = BayesPointClassifier("rbf", engine=fatal.FatalEngine(str(marker)), optimizer=None).fit(X, y)
    assert marker.exists()
    here = BayesPointClassifier("rbf", optimizer=None).fit(X, y)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-8)
    assert there.log_evidence_ == pytest.approx(here.log_evidence_, abs=1e-8)


@pytest.mark.slow
def test_without_leave_to_restart_a_lost_actor_is_an_error(on_ray, tmp_path):
    engine = fatal.FatalEngine(str(tmp_path / "died"), EP(), os.getpid())
    problem = Problem(LowRank(np.eye(2)), [1, -1], Step(softness=1.0))
    with pytest.raises(on_ray.exceptions.RayActorError):
        joblib.Parallel()(joblib.delayed(engine.infer)(problem) for _ in range(4))
