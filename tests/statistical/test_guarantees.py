"""Do certificates hold as often as they say? Over many data sets from a known distribution, errors known exactly.

Inputs are Gaussian in the plane, labels those of a teacher, a tenth of them turned round unless a version space is
needed. The chance of an error over the noise is known, over the inputs it is a mean over a fine quasi-random sample.
"""

from math import log, pi

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom, binomtest, qmc
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.svm import SVC

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier, Problem, Step
from bayespoint.bounds import (
    bayes_bound,
    binomial_bound,
    cap_bound,
    certify_draws,
    gibbs_error,
    invert_kl,
    linear_svm_bound,
    margin_bound,
    seeger_bound,
    subset_bound,
)
from bayespoint.engines import Billiard
from bayespoint.evidence import log_evidence
from bayespoint.exceptions import InvalidProblemError
from bayespoint.readouts import vote
from bayespoint.uses.selection import BoundSearch, certify

DELTA, SETS, FLIPS = 0.05, 500, 0.1
NEW = ndtri(qmc.Sobol(2, seed=0).random(2048))  # stands for the distribution of inputs
TEACHERS = {"linear": lambda X: np.sign(X @ [1.0, 0.5]), "curved": lambda X: np.sign(X[:, 1] - X[:, 0] ** 2 + 0.8)}


def sample(teacher, n, rng, flips=FLIPS):
    X = rng.normal(size=(n, 2))
    y = TEACHERS[teacher](X)
    y[rng.random(n) < flips] *= -1
    return X, y


def true_error(wrong, flips=FLIPS):
    """From the chance at each of the new inputs to disagree with the teacher."""
    return flips + (1 - 2 * flips) * float(np.mean(wrong))


def errors_of(classifier, teacher, flips=FLIPS):
    """True errors of the Bayes point and, on average, of a draw from its Gaussian."""
    mean, variance = classifier.latent(NEW)
    margin = TEACHERS[teacher](NEW) * mean
    return true_error(margin <= 0, flips), true_error(ndtr(-margin / np.sqrt(variance)), flips)


def pairs_of(certificate, teacher, flips=FLIPS):
    """Bound and truth for the Bayes point, bound and truth for a draw."""
    bayes_point, gibbs = errors_of(certificate.classifier, teacher, flips)
    return certificate.bayes_point.value, bayes_point, certificate.gibbs.value, gibbs


def over_many_sets(one, seed, sets=SETS):
    """Rows of bounds and truths, one row a data set."""
    return np.array([one(np.random.default_rng([*np.ravel(seed), k])) for k in range(sets)])


def failure_rates(pairs):
    return (pairs[:, 1::2] > pairs[:, ::2]).mean(axis=0)


def assert_guaranteed(pairs, delta=DELTA):
    rates = failure_rates(pairs)
    assert np.all(rates <= delta), f"bounds fail in {100 * rates.max():.0f} % of the data sets"


def assert_says_something(pairs, column=0):
    assert np.mean(pairs[:, 2 * column] < 1) > 0.5


# -- certificates of classifiers ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("teacher", TEACHERS)
def test_a_fixed_prior(teacher, seed):
    def one(rng):
        model = BayesPointClassifier(9.0 * RBF(2.0), optimizer=None, noise=0.05).fit(*sample(teacher, 100, rng))
        return pairs_of(model.certificate(), teacher)

    pairs = over_many_sets(one, seed)
    assert_guaranteed(pairs)
    assert_says_something(pairs, 1)


@pytest.mark.slow
def test_a_prior_learned_on_some_rows_with_a_fixed_kernel(seed):
    def one(rng):
        model = BayesPointClassifier(9.0 * RBF(2.0), optimizer=None, noise=0.05, random_state=int(rng.integers(1000)))
        return pairs_of(model.fit(*sample("curved", 100, rng)).certificate(prior_fraction=0.5), "curved")

    pairs = over_many_sets(one, seed)
    assert_guaranteed(pairs)
    assert_says_something(pairs, 1)


@pytest.mark.slow
def test_a_prior_learned_on_some_rows_with_a_tuned_kernel(seed):
    kernel = ConstantKernel(9.0, "fixed") * RBF(2.0, (0.1, 10.0))

    def one(rng):
        X, y = sample("curved", 124, rng)
        return pairs_of(
            certify(
                BayesPointClassifier(kernel, bias=0), X, y, method="pac-bayes", random_state=int(rng.integers(1000))
            ),
            "curved",
        )

    pairs = over_many_sets(one, seed)
    assert_guaranteed(pairs)
    assert_says_something(pairs, 1)


@pytest.mark.slow
def test_the_best_of_a_grid(seed):
    grid = {"kernel": [9.0 * RBF(scale) for scale in (0.5, 1.0, 2.0, 4.0)]}

    def one(rng):
        search = BoundSearch(BayesPointClassifier(None, optimizer=None, noise=0.05), grid).fit(
            *sample("curved", 80, rng)
        )
        return pairs_of(search.certificate_, "curved")

    pairs = over_many_sets(one, seed)
    assert_guaranteed(pairs)
    assert_says_something(pairs, 1)


@pytest.mark.slow
def test_draws_in_a_version_space(seed):
    engine = Billiard(draws=100, chains=2, warmup=20)

    def one(rng):
        X, y = sample("linear", 60, rng, flips=0.0)
        problem = Problem(X @ X.T, y, Step())
        posterior = engine.infer(problem, rng)
        try:
            certificate = certify_draws([posterior], [log_evidence(problem, rng, se=0.3)])
        except InvalidProblemError:  # see test_a_thin_sector_has_a_volume
            return 1.0, 0.0, 1.0, 0.0
        share = vote(posterior, NEW @ X.T, np.square(NEW).sum(axis=1))  # of draws for the label +1
        target = TEACHERS["linear"](NEW)
        right = np.where(target > 0, share, 1 - share)
        return certificate.bayes_point.value, np.mean(right < 0.5), certificate.gibbs.value, np.mean(1 - right)

    pairs = over_many_sets(one, seed)
    assert_guaranteed(pairs)
    assert_says_something(pairs)
    assert np.mean(pairs[:, 0] == 1) < 0.02


def test_a_thin_sector_has_a_volume():
    """Once wrong: all draws of the pilot make one mistake, and walls are raised without end."""
    X, y = sample("linear", 60, np.random.default_rng([0, 344]), flips=0.0)
    low, high = sector(X, y)
    estimate = log_evidence(Problem(X @ X.T, y, Step()), rng=0, se=0.3)
    assert abs(estimate.value - log((high - low) / (2 * pi))) < 4 * estimate.se


# -- wrong on purpose ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def overfitted():
    """Posteriors of a kernel that is far too narrow: the training error, nats, and the true error of a draw."""

    def one(rng):
        model = BayesPointClassifier(100.0 * RBF(0.3), optimizer=None).fit(*sample("curved", 60, rng))
        terms = model.certificate().gibbs.terms
        return terms["training error"], terms["divergence"] * 60, errors_of(model, "curved")[1]

    return over_many_sets(one, 1, 60)


@pytest.mark.xdist_group("overfitted")
def test_a_bound_that_leaves_out_the_divergence_does_not_hold(overfitted):
    without = [(seeger_bound(error, 0.0, 60, DELTA).value, truth) for error, _, truth in overfitted]
    assert failure_rates(np.array(without))[0] > 0.5
    with pytest.raises(AssertionError, match="bounds fail"):
        assert_guaranteed(np.array(without))
    assert_guaranteed(np.array([(seeger_bound(error, nats, 60, DELTA).value, t) for error, nats, t in overfitted]))


@pytest.mark.xdist_group("overfitted")
def test_a_bound_that_leaves_out_all_that_is_paid_does_not_hold(overfitted):
    nothing = np.array([(invert_kl(error, 0.0), truth) for error, _, truth in overfitted])
    with pytest.raises(AssertionError, match="bounds fail in 100 %"):
        assert_guaranteed(nothing)


# -- a test set ---------------------------------------------------------------------------------------------------


def test_a_test_set_fails_as_often_as_it_says(seed):
    """The one bound that is exact: it fails in just that share of the data sets that the binomial tail allows."""
    n = 500
    table = np.array([binomial_bound(errors, n, DELTA).value for errors in range(n + 1)])

    def one(rng):
        X, y = sample("linear", 40, rng)
        w = (X * y[:, None]).sum(axis=0)  # any classifier will do
        p = FLIPS + (1 - 2 * FLIPS) * angle(w, [1.0, 0.5]) / pi
        new, labels = sample("linear", n, rng)
        return table[np.sum(np.sign(new @ w) != labels)], p, binom.cdf(np.sum(table < p) - 1, n, p)

    found = over_many_sets(one, seed, 4000)
    failures = int((found[:, 1] > found[:, 0]).sum())
    assert binomtest(failures, 4000, DELTA, alternative="greater").pvalue > 1e-3
    expected, spread = found[:, 2].sum(), np.sqrt((found[:, 2] * (1 - found[:, 2])).sum())
    assert abs(failures - expected) < 4 * spread
    assert expected > 0.04 * 4000  # close to what was promised


# -- version space in the plane: TR 99-11 -------------------------------------------------------------------------


def angle(v, w):
    return np.arccos(np.clip(v @ np.asarray(w) / (np.linalg.norm(v) * np.linalg.norm(w)), -1.0, 1.0))


def sector(X, y):
    """Both ends of version space in the plane, as angles to the teacher, of opposite sign."""
    teacher = np.arctan2(0.5, 1.0)
    off = np.arctan2(*(X * y[:, None]).T[::-1]) - teacher
    off = (off + pi) % (2 * pi) - pi
    return off.max() - pi / 2, off.min() + pi / 2


@pytest.mark.parametrize("n", [60, 300])
def test_the_volume_of_version_space(n, seed):
    """Corollary 1 and Theorem 2: the vote is the middle of the sector, a draw is anywhere in it."""

    def one(rng):
        low, high = sector(*sample("linear", n, rng, flips=0.0))
        log_volume = log((high - low) / (2 * pi))
        mean_error = (low**2 + high**2) / (2 * (high - low)) / pi  # mean of |angle| / pi over the sector
        vote_bound, draw_bound = bayes_bound(log_volume, n, DELTA), subset_bound(log_volume, n, DELTA)
        return vote_bound.value, abs(low + high) / 2 / pi, draw_bound.value, mean_error

    pairs = over_many_sets(one, seed)
    assert np.all(pairs[:, 1] >= 0)
    assert_guaranteed(pairs)
    assert_says_something(pairs)


def widest(X, y):
    """Hyperplane through the origin of largest margin for rows of unit length; mirrored data leave out a bias."""
    w = SVC(kernel="linear", C=1e8, tol=1e-6).fit(np.vstack([X, -X]), np.r_[y, -y]).coef_[0]
    w = w if np.mean(np.sign(X @ w) == y) > 0.5 else -w
    return w / np.linalg.norm(w)


@pytest.mark.parametrize(("dimension", "n"), [(2, 200), (3, 300)])
def test_the_margin_of_a_hyperplane(dimension, n, seed):
    """Theorem 1, Corollary 2, and Theorem 3 with the exact cap."""

    def one(rng):
        X, teacher = rng.normal(size=(n, dimension)), rng.normal(size=dimension)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        y = np.sign(X @ teacher)
        w = widest(X, y)
        margin, error = float((y * (X @ w)).min()), angle(w, teacher) / pi
        assert margin > 0
        values = [
            margin_bound(margin, n, DELTA).value,
            linear_svm_bound(margin, dimension, n, DELTA).value,
            cap_bound(margin, dimension, n, DELTA).value,
        ]
        return np.ravel([(value, error) for value in values])

    pairs = over_many_sets(one, seed, sets=150)
    assert_guaranteed(pairs)
    assert_says_something(pairs, 2)
    assert np.all(pairs[:, 4] <= pairs[:, 2])  # the exact cap is sharper


# -- Gaussian margin machines ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{"eta": 0.95}, {"tune": {"eta": [0.7, 0.95, 0.99], "C": [0.1, 1.0]}}, {"kernel": RBF(1.5), "eta": 0.98}],
    ids=["fixed", "tuned", "rbf"],
)
def test_gaussian_margin_machines(settings, seed):
    def one(rng):
        model = GaussianMarginClassifier(**settings).fit(*sample("linear", 100, rng))
        return pairs_of(model.certificate(), "linear")

    pairs = over_many_sets(one, seed)
    assert_guaranteed(pairs)
    assert_says_something(pairs, 1)


@pytest.mark.slow
def test_the_corollaries_of_the_paper(seed):
    def one(rng):
        model = GaussianMarginClassifier(eta=0.98).fit(*sample("linear", 200, rng, flips=0.0))
        return model.bounds()["corollary 5"].value, errors_of(model, "linear", flips=0.0)[1]

    assert_guaranteed(over_many_sets(one, seed))


# -- landmarks: what they leave out is a part of every draw ----------------------------------------------------------

SQUARE = 6 * qmc.Sobol(2, seed=1).random(1024) - 3
LOW_RANK = {
    "margin": lambda **options: GaussianMarginClassifier(4.0 * RBF(1.0), eta=0.95, **options),
    "bayes point": lambda **options: BayesPointClassifier(4.0 * RBF(1.0), optimizer=None, **options),
    "support vectors": lambda **options: BayesianSVC(kernel=4.0 * RBF(1.0), **options),
}


def certified_on_landmarks(kind, rank, rng):
    """Bound and truth for the mean, for a draw, and once more for a draw whose residual is forgotten in training."""
    X = rng.uniform(-3, 3, (300, 2))
    model = LOW_RANK[kind](max_rank=rank, random_state=int(rng.integers(1000))).fit(X, X[:, 0] > 0)
    certificate = model.certificate(prior_fraction=0.3)
    mean, variance = certificate.classifier.latent(SQUARE)
    margin = np.sign(SQUARE[:, 0]) * mean
    draw = np.mean(ndtr(-margin / np.sqrt(variance)))
    others = np.delete(np.arange(300), np.random.default_rng(model.random_state).permutation(300)[:90])
    forgotten = gibbs_error(certificate.classifier.posterior_, others, with_residual=False)
    nats = certificate.gibbs.terms["divergence"] * 210
    wrong = seeger_bound(forgotten, nats, 210, DELTA).value
    return certificate.bayes_point.value, np.mean(margin <= 0), certificate.gibbs.value, draw, wrong, draw


@pytest.mark.slow
@pytest.mark.parametrize("rank", [2, 5, 20])
@pytest.mark.parametrize("kind", LOW_RANK)
def test_certificates_on_landmarks(kind, rank, seed):
    """Once wrong: the training error was that of the coordinates; violated in up to 191 of 200 data sets."""
    pairs = over_many_sets(lambda rng: certified_on_landmarks(kind, rank, rng), [seed, rank], sets=200)
    assert_guaranteed(pairs[:, :4])
    assert_says_something(pairs, 1)


def test_a_bound_that_forgets_what_landmarks_leave_out_does_not_hold(seed):
    """The same in short, with the control: the bound as it was fails nearly always."""
    pairs = over_many_sets(lambda rng: certified_on_landmarks("margin", 5, rng), [seed, 5], sets=10)
    assert_guaranteed(pairs[:, :4])
    assert_says_something(pairs, 0)
    with pytest.raises(AssertionError, match="bounds fail"):
        assert_guaranteed(pairs[:, 4:])


def test_training_errors_of_gaussian_margin_machines_are_no_bound(seed):
    """The control: without the divergence the figure is below the true error far more often than delta allows."""

    def one(rng):
        model = GaussianMarginClassifier(eta=0.95, C=10.0).fit(*sample("linear", 30, rng))
        return model.certificate().gibbs.terms["training error"], errors_of(model, "linear")[1]

    with pytest.raises(AssertionError, match="bounds fail"):
        assert_guaranteed(over_many_sets(one, seed, sets=30))
