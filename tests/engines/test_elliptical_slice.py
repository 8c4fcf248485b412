from itertools import product

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Hinge, Problem, Step
from bayespoint.diagnostics import ess
from bayespoint.engines import EP, Billiard, EllipticalSlice
from bayespoint.engines.elliptical_slice import Ellipse
from bayespoint.evidence import log_evidence
from bayespoint.exceptions import EmptyVersionSpaceError, InvalidProblemError
from truths import pair_probability
from witnesses import mcse

LIKELIHOODS = [Step(), Step(0.1), Step(0.0, 0.5), Step(0.1, 0.5), Hinge(2.0)]


def problem_of(likelihood, rng, size=12, weights=None):
    X = rng.normal(size=(size, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    if not likelihood.is_hard:
        y[:2] *= -1
    return Problem(2 * RBF(1.0)(X) + 0.2, y, likelihood, weights)


@pytest.mark.processor
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_a_seed_fixes_the_draws(likelihood, rng):
    problem = problem_of(likelihood, rng)
    engine = EllipticalSlice(draws=80)
    one, two, other = (engine.infer(problem, rng=s).coordinates for s in (3, 3, 4))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)
    assert not np.array_equal(one[0], one[1])


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_means_are_those_of_the_billiard(likelihood, rng, seed):
    problem = problem_of(likelihood, rng)
    slices = EllipticalSlice(draws=800, chains=16, warmup=200).infer(problem, rng=seed)
    exact = Billiard(draws=5000).infer(problem, rng=seed)
    for power in (1, 2):
        one, other = slices.latents**power, exact.latents**power
        z = (one.mean(axis=(0, 1)) - other.mean(axis=(0, 1))) / np.hypot(mcse(one), mcse(other))
        assert np.all(np.abs(z) < 4)


@pytest.mark.parametrize("weights", [None, "some"])
def test_hinges_take_few_proposals_and_mix_at_once(weights, rng):
    pytest.importorskip("arviz_stats")
    weights = rng.choice([0.5, 1.0, 3.0], 60) if weights else None
    posterior = EllipticalSlice(draws=500).infer(problem_of(Hinge(2.0), rng, 60, weights), rng=0)
    # the first proposal of a slice is accepted where the likelihood is nearly that of the sites
    assert posterior.info["proposals_per_step"] < 4 * 3  # of four chains
    assert np.median(ess(posterior.latents)) > (0.05 if weights is not None else 0.15) * 2000


@pytest.mark.parametrize("likelihood", [Hinge(2.0), Step(0.1), Step(0.1, 0.5)], ids=str)
def test_whole_weights_are_copies(likelihood, rng, seed):
    weights = np.array([2.0, 1.0, 3.0, 1.0, 1.0])
    weighted = problem_of(likelihood, rng, 5, weights)
    rows = np.repeat(np.arange(5), weights.astype(int))
    copies = Problem(weighted.dense[np.ix_(rows, rows)], weighted.y[rows], likelihood)
    engine = EllipticalSlice(draws=800, chains=16)
    one, other = engine.infer(weighted, rng=seed), engine.infer(copies, rng=seed + 100)
    first = np.searchsorted(rows, np.arange(5))
    left, right = one.latents, other.latents[..., first]
    z = (left.mean(axis=(0, 1)) - right.mean(axis=(0, 1))) / np.hypot(mcse(left), mcse(right))
    assert np.all(np.abs(z) < 4.5)


def test_hard_walls_are_never_crossed(rng):
    posterior = EllipticalSlice(draws=300).infer(problem_of(Step(), rng, 20), rng=0)
    assert np.all(posterior.latents * posterior.problem.y > 0)


def test_a_centre_outside_hard_walls_is_no_start(rng):
    """The mean of EP can fall on the wrong side; another start is found then."""

    class Astray(EP):
        def infer(self, problem, rng=None, **options):
            flipped = problem.y.copy()
            flipped[0] *= -1
            mean = super().infer(Problem(problem.dense, flipped, Step(0.0, 0.5)))
            return mean

    problem = problem_of(Step(), rng, 6)
    posterior = EllipticalSlice(draws=400, chains=16, warmup=300, ep=Astray()).infer(problem, rng=0)
    assert np.all(posterior.latents * problem.y > 0)
    exact = Billiard(draws=4000).infer(problem, rng=0)
    z = (posterior.mean - exact.mean) / np.hypot(mcse(posterior.latents), mcse(exact.latents))
    assert np.all(np.abs(z) < 4.5)  # any Gaussian will do


def test_an_empty_version_space_is_refused():
    with pytest.raises(EmptyVersionSpaceError, match=r"^Version space is empty: .*\.$"):
        EllipticalSlice(draws=10).infer(Problem(np.ones((2, 2)), [1, -1], Step()))


def test_draws_know_what_was_done(rng):
    engine = EllipticalSlice(draws=70, chains=2, warmup=5)
    posterior = engine.infer(problem_of(Hinge(1.0), rng), rng=0)
    assert posterior.latents.shape == (2, 70, 12)
    assert posterior.info["settings"] is engine
    assert posterior.info["ep"]["sweeps"] > 0
    assert posterior.info["proposals_per_step"] >= 2


@pytest.mark.parametrize("settings", [{"draws": 0}, {"chains": 0}, {"warmup": -1}], ids=str)
def test_bad_settings_are_refused_in_a_sentence(settings):
    with pytest.raises(InvalidProblemError, match=rf"^[^.]*{next(iter(settings))}[^\n]*\.$"):
        EllipticalSlice(**settings)


def test_a_slice_that_rounding_hides_leaves_a_chain_where_it_is(rng):
    problem = problem_of(Hinge(2.0), rng)
    gaussian = EP().infer(problem)
    base = Ellipse(problem, problem.whitened(), gaussian.tau, gaussian.nu)
    latents, across = base.latents(np.zeros((2, base.white.rank))), rng.normal(size=(2, 12))
    target = base.log_ratio(latents) + np.array([0.0, 1e6])  # as if it had been larger where the second chain stands
    cos, sin, new, kept, _ = base.step(latents, across, target, lambda some: rng.random(len(some)))
    assert (cos[1], sin[1], kept[1]) == (1.0, 0.0, target[1])
    np.testing.assert_array_equal(new[1], latents[1])
    assert sin[0] != 0


def share_of_signs(latents, signs):
    """How often latents have these signs, with the error that the spread over chains tells."""
    by_chain = np.all(latents * signs > 0, axis=-1).mean(axis=1)
    return by_chain.mean(), by_chain.std(ddof=1) / np.sqrt(len(by_chain))


def tails_problem():
    """Two latents that nearly always agree, and weighted labels that do not: a tenth of the posterior lies far off."""
    r, q, weights = 0.95, 0.1, np.array([3.0, 2.0])
    problem = Problem(np.array([[1.0, r], [r, 1.0]]), [1, -1], Step(q), weights)
    patterns = list(product([1.0, -1.0], repeat=2))
    mass = [
        pair_probability(a * b * r) * np.prod(np.where(np.array([a, -b]) > 0, 1 - q, q) ** weights) for a, b in patterns
    ]
    return problem, dict(zip(patterns, np.array(mass) / np.sum(mass), strict=True))


def assert_tails(seed):
    problem, expected = tails_problem()
    latents = EllipticalSlice(draws=400, chains=40).infer(problem, rng=seed).latents
    for signs in ((1.0, 1.0), (-1.0, -1.0)):
        share, error = share_of_signs(latents, signs)
        assert abs(share - expected[signs]) < 4.5 * error, f"{signs}: {share:.4f}, not {expected[signs]:.4f}"


def test_tails_that_noise_leaves_are_reached(seed):
    """Around expectation propagation alone .03 of the draws had both labels of the first row, where .098 should."""
    assert_tails(seed)


def test_ellipses_of_expectation_propagation_alone_miss_the_tails(seed, monkeypatch):
    """The control."""
    monkeypatch.setattr(Ellipse, "of_prior", classmethod(lambda cls, problem, white: around(problem, white)))

    def around(problem, white):
        gaussian = EP().infer(problem)
        return Ellipse(problem, white, gaussian.tau, gaussian.nu)

    with pytest.raises(AssertionError, match="not 0"):
        assert_tails(seed)


def test_the_bridge_reaches_the_tails_too(seed):
    problem, _ = tails_problem()
    weights = problem.exponents
    truth = np.log(
        sum(
            pair_probability(a * b * 0.95) * np.prod(np.where(np.array([a, -b]) > 0, 0.9, 0.1) ** weights)
            for a, b in product([1.0, -1.0], repeat=2)
        )
    )
    estimates = [log_evidence(problem, [seed, k], "bridge", se=0.05) for k in range(4)]
    off = np.mean([estimate.value for estimate in estimates]) - truth
    assert abs(off) < 4.5 * np.linalg.norm([estimate.se for estimate in estimates]) / 4
