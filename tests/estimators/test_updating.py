"""A row that is added is as good as a row that was there."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from bayespoint import BayesianSVC, BayesPointClassifier, Hinge, Problem, Step, readouts
from bayespoint.engines import EP, Billiard
from bayespoint.engines.ep import add_row
from bayespoint.engines.ep.added_row import _Guide
from bayespoint.engines.ep.sites import SiteRows, Sites, evaluate
from bayespoint.estimators import updated
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import DensePoints, FeaturePoints, LowRank

LIKELIHOODS = [Step(softness=1.0), Step(), Step(noise=0.1), Step(noise=0.05, softness=0.3), Hinge(2.0)]


def waves(rng, n):
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 1.0, -1.0)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_ten_rows_one_by_one_are_a_fit(likelihood, rng):
    X, y = waves(rng, 70)
    if not likelihood.is_hard:
        y[::9] *= -1
    gram = 4.0 * RBF(0.8)(X) + 1.0
    posterior = EP(tolerance=1e-9).infer(Problem(gram[:60, :60], y[:60], likelihood))
    for i in range(60, 70):
        posterior = add_row(posterior, DensePoints(gram[[i], :i], gram[[i], i]), y[i])
    whole = EP(tolerance=1e-9).infer(Problem(gram, y, likelihood))
    np.testing.assert_allclose(posterior.mean, whole.mean, atol=1e-6)
    np.testing.assert_allclose(posterior.variance, whole.variance, atol=1e-6)
    assert posterior.log_evidence == pytest.approx(whole.log_evidence, abs=1e-8)
    new, _ = waves(rng, 20)
    cross = 4.0 * RBF(0.8)(new, X) + 1.0
    points = DensePoints(cross, np.full(20, 5.0))
    np.testing.assert_allclose(posterior.at(points).latent, whole.at(points).latent, atol=1e-6)
    assert posterior.info["updates"] in ("one row", "parallel")


def test_a_surprise_starts_over(rng):
    """A label that turns the posterior upside down is learned all the same."""
    X, y = waves(rng, 30)
    gram = 50.0 * RBF(5.0)(X)
    before = EP().infer(Problem(gram, y, Step(softness=0.1)))
    longer = np.block([[gram, gram[:, :1]], [gram[:1], gram[:1, :1]]])
    after = add_row(before, DensePoints(gram[:1], gram[:1, 0]), -y[0])
    whole = EP().infer(Problem(longer, np.r_[y, -y[0]], Step(softness=0.1)))
    np.testing.assert_allclose(after.mean, whole.mean, atol=1e-5)


def test_a_row_that_tells_nothing(rng):
    """Its kernel values are next to nothing: no site moves, its own neither."""
    X, y = waves(rng, 20)
    before = EP().infer(Problem(RBF(0.8)(X), y, Step(softness=1.0)))
    after = add_row(before, DensePoints(np.zeros((1, 20)), [1e-6]), 1.0)
    np.testing.assert_allclose(after.mean[:20], before.mean, atol=1e-6)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_a_row_of_a_factor_is_a_fit(likelihood, rng):
    factor = rng.standard_normal((12, 3))
    y = np.where(factor[:, 0] > 0, 1.0, -1.0)
    before = EP(tolerance=1e-9).infer(Problem(LowRank(factor[:11]), y[:11], likelihood))
    after = add_row(before, FeaturePoints(factor[11:]), y[11], tolerance=1e-9)
    whole = EP(tolerance=1e-9).infer(Problem(LowRank(factor), y, likelihood))
    np.testing.assert_allclose(after.mean, whole.mean, atol=1e-6)
    np.testing.assert_allclose(after.mean_weights, whole.mean_weights, atol=1e-6)
    assert after.log_evidence == pytest.approx(whole.log_evidence, abs=1e-7)


@pytest.mark.parametrize("max_rank", [None, 40])
@pytest.mark.parametrize("make", [BayesPointClassifier, BayesianSVC])
def test_an_updated_classifier_is_a_fitted_one(make, max_rank, rng):
    X, y = waves(rng, 83)
    settings = {"kernel": RBF(0.8), "max_rank": max_rank, "optimizer": None}
    some = make(**settings).fit(X[:80], y[:80])
    before = some.predict_proba(X)
    more = updated(some, X[80:], y[80:])
    np.testing.assert_array_equal(some.predict_proba(X), before)
    if max_rank is None:
        whole = make(**settings).fit(X, y)
        np.testing.assert_allclose(more.predict_proba(X), whole.predict_proba(X), atol=1e-5)
        np.testing.assert_allclose(more.loo_proba_, whole.loo_proba_, atol=1e-5)
        assert more.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-5)
    else:
        np.testing.assert_allclose(more.predict_proba(X), make(**settings).fit(X, y).predict_proba(X), atol=0.1)
    assert more.posterior_.problem.size == 83


def test_several_classes(rng):
    X = rng.standard_normal((100, 2))
    y = np.array(["a", "b", "c"])[np.argmax(X @ rng.standard_normal((2, 3)), axis=1)]
    some = BayesPointClassifier(RBF(1.0), optimizer=None).fit(X[:95], y[:95])
    more, whole = updated(some, X[95:], y[95:]), BayesPointClassifier(RBF(1.0), optimizer=None).fit(X, y)
    np.testing.assert_allclose(more.predict_proba(X), whole.predict_proba(X), atol=1e-5)


def test_the_power_stays_where_rows_of_weight_zero_leave_no_way_to_fit_it_again(rng):
    X = rng.standard_normal((150, 2))
    y = np.argmax(np.c_[X, -X.sum(axis=1)], axis=1)
    weights = np.ones(150)
    weights[0] = 0
    model = BayesPointClassifier("rbf", optimizer=None).fit(X, y, sample_weight=weights)
    model._become(replace(model.fitted_, power=1.5))
    more = updated(model, X[:1], y[:1])
    assert more.calibration_ == model.calibration_
    np.testing.assert_allclose(more.predict_proba(X[5:9]), model.predict_proba(X[5:9]), atol=0.01)


@pytest.mark.parametrize("engine", ["ep", "elliptical-slice"])
def test_weights_of_rows_stay(engine, rng):
    X, y = waves(rng, 50)
    weights = rng.uniform(0.5, 3.0, size=50)
    some = BayesPointClassifier(RBF(0.8), optimizer=None, engine=engine, random_state=0)
    some.fit(X[:49], y[:49], sample_weight=weights[:49])
    more = updated(some, X[49:], y[49:], random_state=0)
    np.testing.assert_allclose(more.posterior_.problem.weights.total, np.r_[weights[:49], 1.0])


@pytest.mark.parametrize("softness", [0.0, 0.3])
def test_draws_are_weighted(softness, rng):
    X, y = waves(rng, 41)
    settings = {"kernel": 4.0 * RBF(0.8), "optimizer": None, "softness": softness, "engine": Billiard(draws=5000)}
    some = BayesPointClassifier(**settings, random_state=0).fit(X[:40], y[:40])
    more = updated(some, X[40:], y[40:], random_state=1)
    whole = BayesPointClassifier(**settings, random_state=2).fit(X, y)
    new, _ = waves(rng, 30)
    points = DensePoints(4.0 * RBF(0.8)(new, X) + 1.0, np.full(30, 5.0))
    ours, theirs = (readouts.vote(model.posterior_, points) for model in (more, whole))
    error = readouts.monte_carlo_error(readouts.vote, whole.posterior_, points)
    assert np.all(np.abs(ours - theirs) < 6 * np.sqrt(error**2 + 0.5 / more.posterior_.info["effective"] * 0.25) + 1e-3)
    np.testing.assert_allclose(more.posterior_.latents[..., -1] * y[40] > 0 if softness == 0 else True, True)
    gram = more.posterior_.white.factor @ more.posterior_.white.factor.T
    np.testing.assert_allclose(gram, 4.0 * RBF(0.8)(X) + 1.0, atol=1e-8)


def test_what_cannot_be_updated_is_one_clear_sentence(rng):
    X, y = waves(rng, 60)
    streamed = BayesPointClassifier("linear").partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(InvalidProblemError, match="fitted on an array"):
        updated(streamed, X, y)
    with pytest.raises(InvalidProblemError, match="expectation propagation or exact draws"):
        updated(BayesPointClassifier(RBF(1.0), engine="perceptron", optimizer=None).fit(X, y), X[:1], y[:1])
    with pytest.raises(InvalidProblemError, match="Classes have weights"):
        updated(BayesPointClassifier(None, optimizer=None, class_weight="balanced").fit(X, y), X[:1], y[:1])
    with pytest.raises(ValueError, match="not among the declared classes"):
        updated(BayesPointClassifier(None, optimizer=None).fit(X, y), X[:1], [7])


def test_draws_with_landmarks_keep_their_residuals(rng):
    """One row more by weighting the draws is near a fit with it, in the same coordinates."""
    X, y = waves(rng, 40)
    model = BayesPointClassifier(
        4.0 * RBF(0.8), optimizer=None, engine=Billiard(draws=2000, chains=2), max_rank=12, random_state=0
    )
    some = model.fit(X[:39], y[:39])
    more = updated(some, X[39:], y[39:], random_state=0).posterior_
    basis = some.fitted_.view.over(X)
    gram = basis.gram(4.0 * RBF(0.8) + 1.0)
    np.testing.assert_allclose(more.problem.residual, gram.residual, atol=1e-9)
    whole = Billiard(draws=2000, chains=2).infer(Problem(gram, y, some.likelihood_), rng=1)
    np.testing.assert_allclose(more.mean, whole.mean, atol=0.2)
    np.testing.assert_allclose(more.white.softness, whole.white.softness, atol=1e-9)


@pytest.mark.parametrize("max_rank", [None, 10])
@pytest.mark.parametrize("make", [BayesPointClassifier, BayesianSVC])
def test_the_engine_s_own_settings_count(make, max_rank, rng):
    X, y = waves(rng, 30)
    model = make(kernel=4.0 * RBF(0.8), optimizer=None, engine=EP(tolerance=1e-10), max_rank=max_rank)
    found = updated(model.fit(X[:29], y[:29]), X[29:], y[29:])
    assert found.posterior_.info["error"] <= 1e-10


@pytest.fixture
def guided(rng):
    """A posterior, what guides a row that is added to it, and rows whose sites are still those of before."""
    X, y = waves(rng, 12)
    gram, likelihood = 4.0 * RBF(0.8)(X) + 1.0, Step(0.05, 0.5)
    posterior = EP(tolerance=1e-12).infer(Problem(gram[:11, :11], y[:11], likelihood))
    problem = Problem(gram, y, likelihood)
    rows = SiteRows.of(problem.gram, problem.y, likelihood, None)
    return _Guide.of(posterior, DensePoints(gram[[11], :11], gram[[11], 11])), rows


def test_moments_after_large_moves_of_sites_are_exact(guided):
    guide, rows = guided
    tau, nu = guide.tau.copy(), guide.nu.copy()
    tau[[2, 11]] += [3.0, 0.7]
    nu[[2, 5, 11]] += [-1.0, 0.4, 0.9]
    exact = rows.gram.conditioned(tau, nu)
    mean, variance = guide.moments(tau, nu, guide.mean)
    np.testing.assert_allclose(mean, exact.mean, atol=1e-9)
    np.testing.assert_allclose(variance, exact.variance, atol=1e-9)


def test_a_guide_moves_with_its_sites(guided):
    guide, rows = guided
    sites = Sites(guide.tau + np.r_[np.zeros(11), 0.7], guide.nu)
    whole = np.linalg.inv(np.linalg.inv(rows.gram.dense) + np.diag(sites.tau))
    moved = guide.moved_to(rows, sites)
    np.testing.assert_allclose(moved.covariance, whole, atol=1e-6)
    np.testing.assert_allclose(moved.squares, np.square(whole), atol=1e-6)
    assert guide.moved_to(rows, Sites(guide.tau, guide.nu)) is guide


@pytest.mark.processor
def test_a_row_costs_few_looks_at_the_whole(rng):
    X, y = waves(rng, 61)
    gram = 4.0 * RBF(0.8)(X) + 1.0
    posterior = EP(tolerance=1e-9).infer(Problem(gram[:60, :60], y[:60], Step(softness=1.0)))
    grown = add_row(posterior, DensePoints(gram[[60], :60], gram[[60], 60]), y[60])
    assert grown.info["updates"] == "one row"
    assert grown.info["sweeps"] <= 3


def test_sites_that_leave_no_distribution_are_no_state(guided):
    """One cavity without a variance is enough."""
    _, rows = guided
    good = Sites(np.full(12, 0.1), np.zeros(12))
    assert evaluate(rows, good) is not None
    assert evaluate(rows, Sites(good.tau - np.r_[50.0, np.zeros(11)], good.nu)) is None
    state = evaluate(rows, good)
    variance = np.where(np.arange(12) == 3, 11.0, state.var)  # more than its own site allows
    assert evaluate(rows, good, moments=(state.mean, variance)) is None
