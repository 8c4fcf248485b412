"""Partitions together are as good as one machine with all rows."""

import numpy as np
import pytest

from bayespoint import Hinge, Problem, Step, readouts
from bayespoint.distributed import Partition, PartitionedEP, posterior_of
from bayespoint.engines import EP
from bayespoint.exceptions import EmptyVersionSpaceError, InferenceWarning, InvalidProblemError
from bayespoint.grams import FeaturePoints, LowRank, NaturalGaussian
from bayespoint.likelihoods import Logistic

TIGHT = EP(tolerance=1e-10)
LIKELIHOODS = [Step(softness=0.5), Step(noise=0.1), Step(noise=0.05, softness=0.3), Step(), Hinge(2.0), Logistic(1.0)]


def data(rng, n=40, rank=4, *, share=0.5, flipped=0.0):
    """Rows with a bias, `share` of them positive, some labels flipped."""
    M = np.c_[rng.standard_normal((n, rank - 1)), np.ones(n)]
    score = M[:, :-1] @ rng.standard_normal(rank - 1)
    y = np.where(score > np.quantile(score, 1 - share), 1.0, -1.0)
    return M, np.where(rng.random(n) < flipped, -y, y)


def split(M, targets, count, weights=None):
    targets = np.atleast_2d(targets)
    return [
        Partition(M[rows], targets[:, rows], None if weights is None else weights[rows])
        for rows in np.array_split(np.arange(len(M)), count)
    ]


def assert_same(posterior, whole, tolerance=2e-6):
    new = FeaturePoints(np.random.default_rng(0).standard_normal((30, posterior.gaussian.coordinates.rank)))
    for one, other in zip(posterior.at(new).latent, whole.at(new).latent, strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance)
    assert posterior.log_evidence == pytest.approx(whole.log_evidence, abs=tolerance)


def test_other_rows_are_not_the_same(rng):
    M, y = data(rng)
    whole = TIGHT.infer(Problem(LowRank(M), y, Step(softness=1.0)))
    (posterior,) = PartitionedEP().infer(split(M[:-1], y[:-1], 3), Step(softness=1.0))
    with pytest.raises(AssertionError):
        assert_same(posterior, whole)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_as_one_machine(rng, likelihood, count):
    M, y = data(rng, n=12 if isinstance(likelihood, Logistic) else 40, flipped=0.0 if likelihood.is_hard else 0.1)
    (posterior,) = PartitionedEP(tolerance=1e-8).infer(split(M, y, count), likelihood)
    assert_same(posterior, TIGHT.infer(Problem(LowRank(M), y, likelihood)))
    assert posterior.info["rows"] == len(y)
    assert posterior.info["error"] <= 1e-8


@pytest.mark.parametrize("likelihood", [Step(softness=0.1), Step(noise=0.1), Step(), Hinge(5.0)], ids=str)
def test_rows_sorted_by_label(rng, likelihood):
    """Partitions that have seen one class only, and few rows of the other class at all."""
    M, y = data(rng, n=90, share=0.1)
    order = np.argsort(y)
    (posterior,) = PartitionedEP().infer(split(M[order], y[order], 9), likelihood)
    whole = TIGHT.infer(Problem(LowRank(M), y, likelihood))
    assert posterior.info["error"] <= 1e-6
    assert_same(posterior, whole, max(1e-5, 3 * whole.info["error"]))  # one machine may settle for less


@pytest.mark.processor
@pytest.mark.parametrize("sweeps", [0, 3])
@pytest.mark.parametrize("count", [2, 20])
def test_where_sweeps_over_all_rows_oscillate(sweeps, count):
    """Steep hinges and a strong bias: on one machine sites have to be updated one at a time."""
    rng = np.random.default_rng(0)
    M = np.c_[rng.normal(size=(200, 4)), np.ones(200)]
    y = np.where(M @ np.r_[rng.normal(size=4), 2 * np.sqrt(5)] > 0, 1.0, -1.0)
    y = np.where(rng.random(200) < 0.1, -y, y)
    whole = EP().infer(Problem(LowRank(M), y, Hinge(2.0)))
    assert whole.info["updates"] == "sequential"
    (posterior,) = PartitionedEP(sweeps=sweeps).infer(split(M, y, count), Hinge(2.0))
    assert posterior.info["error"] <= 1e-6
    assert_same(posterior, whole, 1e-4)


def test_many_rows_of_hinges(rng):
    """Thousands of kinks that a narrow posterior sees or does not see: sites that all move at once never settle."""
    M, y = data(rng, n=6000, rank=20, flipped=0.1)
    whole = EP().infer(Problem(LowRank(M), y, Hinge(1.0)))
    for count in (1, 4):
        (posterior,) = PartitionedEP().infer(split(M, y, count), Hinge(1.0))
        assert posterior.info["error"] <= 1e-6
        assert posterior.info["rounds"] <= 15
        assert_same(posterior, whole, max(1e-5, 3 * whole.info["error"]))


@pytest.mark.processor
def test_without_sweeps_of_its_own_a_round_is_a_sweep(rng):
    M, y = data(rng, n=100, flipped=0.1)
    whole = EP().infer(Problem(LowRank(M), y, Step(softness=1.0)))
    rounds = {
        PartitionedEP(sweeps=0).infer(split(M, y, count), Step(softness=1.0))[0].info["rounds"] for count in (1, 3, 20)
    }
    assert len(rounds) == 1
    assert abs(rounds.pop() - 1 - whole.info["sweeps"]) <= 2


@pytest.mark.processor
def test_sweeps_of_their_own_save_rounds(rng):
    M, y = data(rng, n=1000, rank=6, flipped=0.1)
    rounds = [
        PartitionedEP(sweeps=sweeps).infer(split(M, y, 4), Step(softness=1.0))[0].info["rounds"] for sweeps in (0, 3)
    ]
    assert rounds[1] <= 8 < rounds[0]


@pytest.mark.parametrize("memory", [0, 1, 5])
def test_any_memory_will_do(rng, memory):
    M, y = data(rng, flipped=0.1)
    (posterior,) = PartitionedEP(memory=memory).infer(split(M, y, 5), Step(softness=1.0))
    assert_same(posterior, TIGHT.infer(Problem(LowRank(M), y, Step(softness=1.0))))


@pytest.mark.processor
def test_several_vectors_of_labels_in_the_same_rounds(rng):
    M, _ = data(rng, n=60)
    targets = np.where(M @ rng.standard_normal((4, 3)) > [0.0, 1.0, -2.0], 1.0, -1.0).T
    together = PartitionedEP().infer(split(M, targets, 4), Step(noise=0.1))
    assert len({posterior.info["rounds"] for posterior in together}) > 1  # the first to agree waits for the others
    for y, posterior in zip(targets, together, strict=True):
        (alone,) = PartitionedEP().infer(split(M, y, 4), Step(noise=0.1))
        np.testing.assert_array_equal(posterior.mean_weights, alone.mean_weights)
        assert posterior.log_evidence == alone.log_evidence
        assert posterior.info == alone.info
        assert_same(posterior, TIGHT.infer(Problem(LowRank(M), y, Step(noise=0.1))), 1e-5)


def test_weights(rng):
    M, y = data(rng, flipped=0.1)
    weights = rng.choice([0.5, 1.0, 3.0, 20.0], size=40)
    (posterior,) = PartitionedEP().infer(split(M, y, 4, weights), Step(softness=0.5))
    assert_same(posterior, TIGHT.infer(Problem(LowRank(M), y, Step(softness=0.5), weights)))


@pytest.mark.parametrize("likelihood", [Step(), Step(noise=0.1), Hinge(2.0)], ids=str)
def test_residuals(rng, likelihood):
    M, y = data(rng, flipped=0.1)
    residual = rng.uniform(0.1, 1.0, size=40)
    parts = [Partition(M[i : i + 10], [y[i : i + 10]], None, residual[i : i + 10]) for i in range(0, 40, 10)]
    (posterior,) = PartitionedEP().infer(parts, likelihood)
    whole = TIGHT.infer(Problem(LowRank(M, residual=residual), y, likelihood))
    np.testing.assert_allclose(posterior.mean_weights, whole.mean_weights, atol=2e-6)
    assert posterior.log_evidence == pytest.approx(whole.log_evidence, abs=1e-6)


def test_empty_partitions_and_rows_of_zeros(rng):
    M, y = data(rng, n=10)
    M[3] = 0.0
    parts = [*split(M, y, 14), Partition(np.empty((0, 4)), np.empty((1, 0)))]
    assert min(part.size for part in parts) == 0
    (posterior,) = PartitionedEP().infer(parts, Step(softness=0.5))
    assert_same(posterior, TIGHT.infer(Problem(LowRank(M), y, Step(softness=0.5))))


def test_no_rows_at_all():
    (posterior,) = PartitionedEP().infer([Partition(np.empty((0, 2)), np.empty((1, 0)))], Step())
    assert posterior.log_evidence == pytest.approx(0.0)
    np.testing.assert_allclose(posterior.gaussian.coordinates.covariance, np.eye(2))


def test_rows_that_come_later_start_from_a_prior(rng):
    M, y = data(rng, n=80, flipped=0.1)
    first = EP().infer(Problem(LowRank(M[:40]), y[:40], Step(softness=0.5)))
    (posterior,) = PartitionedEP().infer(
        split(M[40:], y[40:], 4), Step(softness=0.5), priors=[first.gaussian.coordinates]
    )
    assert_same(
        posterior, TIGHT.infer(Problem(LowRank(M[40:], first.gaussian.coordinates), y[40:], Step(softness=0.5)))
    )


@pytest.mark.processor
def test_threads_change_nothing(rng):
    M, y = data(rng)
    one, two = (PartitionedEP(n_jobs=n_jobs).infer(split(M, y, 5), Step(noise=0.05))[0] for n_jobs in (None, 2))
    np.testing.assert_array_equal(one.mean_weights, two.mean_weights)


# -- an empty version space --------------------------------------------------------------------------------------------


def test_labels_that_no_function_separates(rng):
    """Each partition is separable, all of them together are not."""
    M, y = data(rng, n=60)
    M, y = np.vstack([M, M[:1]]), np.r_[y, -y[0]]
    parts = split(M, y, 20)
    for part in parts:
        EP().infer(Problem(LowRank(part.factor), part.targets[0], Step()))
    with pytest.raises(EmptyVersionSpaceError, match="no function of these features"):
        PartitionedEP().infer(parts, Step())


def test_random_labels(rng):
    M, _ = data(rng, n=200)
    with pytest.raises(EmptyVersionSpaceError):
        PartitionedEP().infer(split(M, np.where(rng.random(200) < 0.5, 1.0, -1.0), 5), Step())


def test_a_row_of_zeros_on_a_hard_boundary():
    with pytest.raises(EmptyVersionSpaceError, match="zero with itself"):
        PartitionedEP().infer([Partition(np.zeros((1, 2)), [[1]])], Step())


def test_a_thin_version_space_is_not_empty(rng):
    M = np.c_[np.linspace(-1, 1, 101), np.ones(101)]
    y = np.where(M[:, 0] > 0.301, 1.0, -1.0)
    (posterior,) = PartitionedEP().infer(split(M, y, 10), Step())
    assert_same(posterior, TIGHT.infer(Problem(LowRank(M), y, Step())), 1e-4)


# -- results and settings ----------------------------------------------------------------------------------------------


def test_read_outs_of_rows_that_are_not_at_hand(rng):
    M, y = data(rng, flipped=0.1)
    likelihood = Step(softness=0.5)
    whole = TIGHT.infer(Problem(LowRank(M), y, likelihood))
    posterior = posterior_of(whole.gaussian.coordinates, likelihood, whole.log_evidence, {"rows": 40})
    new = FeaturePoints(rng.standard_normal((6, 4)))
    for readout in (readouts.class_probability, readouts.entropy):
        np.testing.assert_allclose(readout(posterior, new), readout(whole, new), rtol=1e-9)
    np.testing.assert_allclose(
        posterior.gaussian.coordinates.precision, whole.gaussian.coordinates.precision, rtol=1e-12
    )
    assert posterior.log_evidence == whole.log_evidence
    assert posterior.info == {"rows": 40}
    assert posterior.mean.shape == (0,)


def test_too_few_rounds_are_told(rng):
    M, y = data(rng)
    with pytest.warns(InferenceWarning, match="after 2 rounds"):
        PartitionedEP(max_rounds=2).infer(split(M, y, 4), Step(softness=0.01))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: PartitionedEP(sweeps=-1), "sweeps must be at least 0"),
        (lambda: PartitionedEP().infer([], Step()), "at least one partition"),
        (lambda: Partition(np.ones((2, 2)), [[1, 0]]), "labels -1 or \\+1"),
        (lambda: Partition(np.ones((2, 2)), [1, -1]), "vectors of 2 labels"),
        (lambda: Partition(np.ones((2, 2)), [[1, -1]], [1.0, 0.0]), "finite positive"),
        (lambda: Partition([[np.nan]], [[1]]), "finite matrix"),
        (
            lambda: PartitionedEP().infer(
                [Partition(np.ones((1, 2)), [[1]]), Partition(np.ones((1, 3)), [[1]])], Step(0.1)
            ),
            "same coordinates",
        ),
        (
            lambda: PartitionedEP().infer(
                [Partition(np.ones((1, 2)), [[1]])], Step(0.1), priors=[NaturalGaussian.standard(3)]
            ),
            "1 Gaussians over 2 coordinates",
        ),
    ],
)
def test_bad_input_is_one_clear_sentence(make, match):
    with pytest.raises(InvalidProblemError, match=match):
        make()
