"""Clusters of dask: two workers with processes of their own."""

import os
from contextlib import contextmanager
from pathlib import Path

import fatal
import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_predict

from bayespoint import BayesPointClassifier, Hinge, Problem, Step
from bayespoint._core.parallel import in_parallel
from bayespoint._core.telling import tell
from bayespoint.distributed import Partition, PartitionedEP, dask_partitions
from bayespoint.engines import EP, Billiard
from bayespoint.evidence import log_evidence
from bayespoint.exceptions import InferenceWarning, InvalidProblemError
from bayespoint.grams import FeaturePoints, LowRank

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
cloudpickle = pytest.importorskip("cloudpickle")

pytestmark = [
    pytest.mark.xdist_group("dask"),  # one cluster for all
    pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    cloudpickle.register_pickle_by_value(fatal)
    settings = {
        "distributed.scheduler.allowed-failures": 10,
        "distributed.comm.timeouts.connect": "60s",
        "temporary-directory": str(tmp_path_factory.mktemp("dask")),
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
    cloudpickle.unregister_pickle_by_value(fatal)


@pytest.fixture
def on_dask(client):
    client.wait_for_workers(2, timeout=120)
    with joblib.parallel_config(backend="dask"):
        yield client


@contextmanager
def a_worker_dies(client, marker):
    """See that one did."""
    before = set(worker_pids(client))
    yield
    assert marker.exists()
    client.wait_for_workers(2, timeout=120)
    assert set(worker_pids(client)) != before


def worker_pids(client):
    return client.run(os.getpid).values()


def test_chains_are_the_same_draws(on_dask, rng):
    X = rng.standard_normal((60, 3))
    problem = Problem(X @ X.T + 1.0, np.where(X[:, 0] > 0, 1, -1), Step(noise=0.1, softness=0.5))
    engine = Billiard(draws=60, chains=4, n_jobs=-1)
    there = engine.infer(problem, rng=3)
    with joblib.parallel_config(backend="sequential"):
        here = engine.infer(problem, rng=3)
    np.testing.assert_array_equal(there.coordinates, here.coordinates)
    np.testing.assert_array_equal(there.info["events_per_flight"], here.info["events_per_flight"])


def test_evidence_by_stepping_stones_is_the_same(on_dask):
    problem = Problem(np.eye(3) + 1.0, [1, -1, 1], Step(noise=0.1))
    there = log_evidence(problem, rng=0, method="billiard", se=0.3, n_jobs=-1)
    with joblib.parallel_config(backend="sequential"):
        here = log_evidence(problem, rng=0, method="billiard", se=0.3)
    assert there.value == pytest.approx(here.value, abs=1e-8)


def test_one_class_against_the_rest_survives_a_worker(on_dask, tmp_path):
    X, y = load_iris(return_X_y=True)
    marker = tmp_path / "died"
    with a_worker_dies(on_dask, marker):
        there = BayesPointClassifier("rbf", engine=fatal.FatalEngine(str(marker)), optimizer=None, n_jobs=-1).fit(X, y)
    here = BayesPointClassifier("rbf", optimizer=None).fit(X, y)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-8)
    assert there.log_evidence_ == pytest.approx(here.log_evidence_, abs=1e-8)


def test_cross_validation_and_a_grid(on_dask):
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    model = BayesPointClassifier("rbf", optimizer=None)
    with joblib.parallel_config(backend="sequential"):
        here = cross_val_predict(model, X, y, cv=3, method="predict_proba")
        best = GridSearchCV(model, {"softness": [0.1, 1.0]}, cv=3, scoring="neg_log_loss").fit(X, y)
    there = cross_val_predict(model, X, y, cv=3, method="predict_proba", n_jobs=-1)
    np.testing.assert_allclose(there, here, atol=1e-8)
    search = GridSearchCV(model, {"softness": [0.1, 1.0]}, cv=3, scoring="neg_log_loss", n_jobs=-1).fit(X, y)
    assert search.best_params_ == best.best_params_
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], best.cv_results_["mean_test_score"], atol=1e-8)


# -- partitions ------------------------------------------------------------------------------------------------------


@pytest.fixture
def rows(rng):
    X = rng.standard_normal((120, 4))
    y = np.where(X @ [1.0, -1.0, 0.5, 0.0] + 0.5 * rng.standard_normal(120) > 0, 1, -1)
    return X, y


def with_bias(block):
    return np.c_[np.asarray(block), np.ones(len(block))]


def signs(labels):
    labels = np.asarray(labels, dtype=float)
    return np.stack([labels, -labels])


def same_as_one_machine(posteriors, X, y, likelihood, weights=None):
    M = with_bias(X)
    for posterior, labels in zip(posteriors, signs(y), strict=True):
        whole = EP(tolerance=1e-9).infer(Problem(LowRank(M), labels, likelihood, weights))
        for one, other in zip(*(p.at(FeaturePoints(M)).latent for p in (posterior, whole)), strict=True):
            np.testing.assert_allclose(one, other, atol=2e-6)
        assert posterior.log_evidence == pytest.approx(whole.log_evidence, abs=1e-6)


@pytest.mark.parametrize("scheduler", ["distributed", "threads", "sync"])
def test_partitions_agree_with_one_machine(client, rows, scheduler):
    X, y = rows
    with dask.config.set(scheduler=None if scheduler == "distributed" else scheduler):
        parts = dask_partitions(da.from_array(X, chunks=(25, 4)), da.from_array(y, chunks=50), with_bias, signs)
        posteriors = PartitionedEP().infer(parts, Step(softness=0.5))
    same_as_one_machine(posteriors, X, y, Step(softness=0.5))
    assert posteriors[0].info["rows"] == 120


def test_a_worker_dies_between_rounds(client, rows, tmp_path):
    X, y = rows
    marker = tmp_path / "died"
    before = fatal.sweeps
    parts = [Partition(with_bias(X[i : i + 20]), signs(y[i : i + 20])) for i in range(0, 120, 20)]
    alone = PartitionedEP().infer(parts, fatal.FatalStep(softness=0.5))
    half = (fatal.sweeps - before) // 4  # half of what each of two workers has to do
    client.run(_forget_sweeps)
    with a_worker_dies(client, marker):
        parts = dask_partitions(da.from_array(X, chunks=(20, 2)), y, with_bias, signs)
        posteriors = PartitionedEP().infer(parts, fatal.FatalStep(softness=0.5, marker=str(marker), after=half))
    same_as_one_machine(posteriors, X, y, Step(softness=0.5))
    for one, other in zip(posteriors, alone, strict=True):
        assert one.info["rounds"] == other.info["rounds"] > 3
        np.testing.assert_allclose(one.mean_weights, other.mean_weights, rtol=1e-9)


def _forget_sweeps():
    fatal.sweeps = 0


def test_rows_stay_where_they_are(client, rng):
    """Rounds move Gaussians over the coordinates, not rows nor their sites."""
    X = da.from_array(rng.standard_normal((20_000, 3)), chunks=(5_000, 3)).persist()
    parts = dask.persist(*dask_partitions(X, X[:, 0] > 0, with_bias, _sign))
    distributed.wait(parts)
    moved = sum(client.run(_outgoing).values())
    (posterior,) = PartitionedEP().infer(parts, Step(softness=0.5))
    assert posterior.info["rounds"] > 3
    assert sum(client.run(_outgoing).values()) - moved < 5_000 * 8
    client.replicate(X)  # the count can see rows that move
    assert sum(client.run(_outgoing).values()) - moved > 0.4 * X.nbytes


def _sign(labels):
    return np.where(labels, 1.0, -1.0)[None]


def _outgoing(dask_worker):
    return sum(transfer["total"] for transfer in dask_worker.transfer_outgoing_log)


def test_unknown_chunks_empty_blocks_and_weights(client, rows):
    X, y = rows
    weight = np.tile([0.0, 1.0, 2.5], 40)
    keep = np.r_[np.zeros(30, bool), np.ones(90, bool)]  # leaves the first block empty
    blocks = da.from_array(X, chunks=(30, 4))[da.from_array(keep, chunks=30)]
    labels, weights = (da.from_array(a, chunks=30)[da.from_array(keep, chunks=30)] for a in (y, weight))
    assert np.isnan(blocks.chunks[0]).all()
    parts = dask_partitions(blocks, labels, with_bias, signs, sample_weight=weights, weigh=_heavy)
    posteriors = PartitionedEP().infer(parts, Hinge(1.0))
    kept = keep & (weight > 0)
    same_as_one_machine(posteriors, X[kept], y[kept], Hinge(1.0), weight[kept] * _heavy(y[kept]))
    at_hand = PartitionedEP().infer(dask_partitions(blocks, y[keep], with_bias, signs), Step(softness=0.5))
    same_as_one_machine(at_hand, X[keep], y[keep], Step(softness=0.5))


def _heavy(labels):
    return np.where(np.asarray(labels) > 0, 1.0, 1.5)


def test_data_frames(client, rows):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y = rows
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")).assign(label=y), npartitions=3)
    posteriors = PartitionedEP().infer(
        dask_partitions(frame[list("abcd")], frame["label"], with_bias, signs), Step(softness=0.5)
    )
    same_as_one_machine(posteriors, X, y, Step(softness=0.5))


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (lambda y: y[:-1], "X has 120 rows, y has 119"),
        (lambda y: da.from_array(y[:-1], chunks=30), "X has 120 rows, y has 119"),
        (lambda y: _unknown(da.from_array(y, chunks=60)), "X is in 4 blocks and y in 2"),
        (
            lambda y: _unknown(da.from_array(y, chunks=((29, 31, 30, 30),))),
            "A block of X has 30 rows, that of y has (29|31)",
        ),
        (lambda y: da.from_array(np.zeros(120), chunks=30), "labels -1 or \\+1"),
    ],
)
def test_blocks_that_do_not_match_are_one_clear_sentence(rows, labels, match):
    X, y = rows
    with dask.config.set(scheduler="sync"), pytest.raises(InvalidProblemError, match=match):
        PartitionedEP().infer(dask_partitions(da.from_array(X, chunks=(30, 4)), labels(y), with_bias, signs), Step(0.1))


def _unknown(array):
    return array[da.from_array(np.ones(len(array), bool), chunks=array.chunks)]


def test_what_a_worker_warns_of_is_heard(on_dask):
    with pytest.warns(InferenceWarning, match="from afar"):
        assert in_parallel([joblib.delayed(_tell)()], -1) == [7]


def _tell():
    tell("from afar")
    return 7


def test_rows_in_both_places_are_refused(rows):
    X, y = rows
    parts = dask_partitions(da.from_array(X, chunks=(60, 4)), y, with_bias, signs)
    with pytest.raises(InvalidProblemError, match="all be in this process or all be of dask"):
        PartitionedEP().infer([*parts, Partition(with_bias(X), signs(y))], Step(softness=1.0))


def test_the_kill_switch_needs_another_process(tmp_path):
    fatal.die_once(tmp_path / "here", os.getpid())
    assert not Path(tmp_path / "here").exists()
