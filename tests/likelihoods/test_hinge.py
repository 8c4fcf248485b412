from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from bayespoint import Hinge, Problem
from bayespoint.engines import EP
from bayespoint.exceptions import InvalidProblemError
from bayespoint.tuning import Model, infer_candidate
from witnesses import central_difference

HINGES = [Hinge(0.5), Hinge(2.0), Hinge(10.0)]
MARGINS = [-30.0, -8.0, -2.5, -0.3, 0.0, 0.3, 1.0, 2.5, 8.0, 30.0]  # cavity mean in standard deviations
NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)
CAVITIES = list(product(MARGINS, [(1.0, 1.0), (-1.0, 0.3), (1.0, 9.0)]))


def log_likelihood(hinge, margin, power=1.0):
    """log of kappa exp(-C max(0, 1 - t)), to a power."""
    return -power * (np.log1p(np.exp(-2 * hinge.C)) + hinge.C * np.clip(1 - margin, 0.0, None))


def integrals(functions, hinge, y, mean, var, power=1.0):
    """Logarithm of the mass of N(mean, var) x likelihood^power, and the mean of each function under it."""
    sd = np.sqrt(var)

    def log_density(f):
        return -0.5 * ((f - mean) / sd) ** 2 - 0.5 * np.log(2 * np.pi * var) + log_likelihood(hinge, y * f, power)

    slope = hinge.C * power
    modes = mean, mean + y * slope * var, y  # of either side, and the kink
    grid = np.unique(np.r_[0.0, *(mode + sd * np.arange(-12, 13) for mode in modes)])
    if slope * sd > 1:
        grid = np.unique(np.r_[grid, y + np.arange(-12, 13) / slope])
    top = log_density(np.linspace(grid[0], grid[-1], 2001)).max()
    low, high = grid[:-1], grid[1:]
    middle, half = (low + high) / 2, (high - low) / 2
    f = middle[:, None] + half[:, None] * NODES  # the integrands are smooth on each piece
    mass_of_nodes = half[:, None] * WEIGHTS * np.exp(log_density(f) - top)

    def integral(g):
        return float(np.sum(g(f) * mass_of_nodes))

    mass = integral(np.ones_like)
    return top + np.log(mass), *(integral(g) / mass for g in functions)


def arrays(*numbers):
    return tuple(np.array([x], dtype=float) for x in numbers)


def assert_site_matches_quadrature(hinge, y, mean, var, power):
    with np.errstate(under="ignore"):
        log_z, first = integrals([lambda f: f], hinge, y, mean, var, power)
        _, second, energy = integrals(
            [lambda f: (f - first) ** 2, lambda f: np.maximum(0.0, 1 - y * f)], hinge, y, mean, var, power
        )
    found, tau, nu = (float(x[0]) for x in hinge.site(*arrays(y, mean, var, power)))
    assert tau >= 0
    tilted_var = 1 / (1 / var + tau)
    assert found == pytest.approx(log_z, rel=1e-9, abs=1e-9)
    assert tilted_var == pytest.approx(second, rel=1e-6)
    assert tilted_var * (mean / var + nu) == pytest.approx(first, abs=1e-8 * (1 + abs(mean)) + 1e-7 * np.sqrt(second))
    slope = hinge.log_normaliser_gradient(*arrays(y, mean, var, power))["C"][0]
    expected = power * hinge.C * (2 / (1 + np.exp(2 * hinge.C)) - energy)
    assert slope == pytest.approx(expected, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("power", [1.0, 0.5, 0.3])
@pytest.mark.parametrize("hinge", HINGES, ids=str)
def test_site_and_slope_are_those_of_quadrature(hinge, power):
    for margin, (y, var) in CAVITIES if power == 1 else CAVITIES[::4]:
        assert_site_matches_quadrature(hinge, y, margin * np.sqrt(var), var, power)


@pytest.mark.parametrize("hook", ["site", "log_normaliser_gradient"])
def test_quadrature_tells_a_wrong_site(monkeypatch, hook):
    right = getattr(Hinge, hook)
    monkeypatch.setattr(Hinge, hook, lambda self, *args: right(Hinge(2.01), *args))
    with pytest.raises(AssertionError):
        assert_site_matches_quadrature(Hinge(2.0), 1.0, -0.5, 2.0, 1.0)


@pytest.mark.parametrize("hinge", [*HINGES, Hinge(1e-3), Hinge(1e3)], ids=str)
def test_far_tails_stay_finite_and_proper(hinge):
    mean = np.r_[-np.geomspace(1e6, 1, 40), 0.0, np.geomspace(1, 1e6, 40)]
    ones = np.ones_like(mean)
    log_z, tau, nu = hinge.site(ones, mean, ones, ones)
    assert np.isfinite([log_z, tau, nu]).all()
    assert np.all(tau >= 0)
    assert np.isfinite(hinge.log_normaliser_gradient(ones, mean, ones, ones)["C"]).all()
    share = hinge.disagreement(ones, mean, ones)
    assert np.all((share >= 0) & (share <= 1))
    log_p = hinge.log_probability(mean, ones)
    assert np.isfinite(log_p).all()
    assert np.all(log_p <= 0)


@pytest.mark.parametrize("hinge", HINGES, ids=str)
def test_flipping_label_and_cavity_mirrors_the_site(hinge, rng):
    mean, var, power = rng.normal(size=9), rng.gamma(1.0, size=9) + 0.1, np.tile([1.0, 0.5, 0.3], 3)
    log_z, tau, nu = hinge.site(np.ones(9), mean, var, power)
    np.testing.assert_allclose(hinge.site(-np.ones(9), -mean, var, power), [log_z, tau, -nu], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("hinge", HINGES, ids=str)
def test_log_likelihood_is_normalised_as_in_the_paper(hinge):
    f = np.linspace(-4, 4, 17)
    np.testing.assert_allclose(hinge.log_likelihood(1.0, f), log_likelihood(hinge, f))
    np.testing.assert_allclose(hinge.log_likelihood(-np.ones(17), f), log_likelihood(hinge, -f))
    both = np.exp(hinge.log_likelihood(1.0, f)) + np.exp(hinge.log_likelihood(-1.0, f))
    assert both.max() == pytest.approx(1.0)  # kappa is the largest factor that keeps v below one
    odds = hinge.log_likelihood(1.0, f) - hinge.log_likelihood(-1.0, f)
    np.testing.assert_allclose(hinge.log_odds(f), odds, atol=1e-12)


def label_probability(hinge, f):
    """Sollich (11): Q(1) / (Q(1) + Q(-1))."""
    return 1 / (1 + np.exp(np.minimum(log_likelihood(hinge, -f) - log_likelihood(hinge, f), 700.0)))


def average(function, hinge, mean, var):
    """Mean of a function of the latent under N(mean, var)."""
    sd = np.sqrt(var)
    edges = np.r_[mean + sd * np.arange(-14, 15), np.arange(-12, 13) / hinge.C, -1.0, 1.0]
    edges = np.unique(np.clip(edges, mean - 14 * sd, mean + 14 * sd))
    return sum(
        quad(lambda f: function(f) * np.exp(-0.5 * ((f - mean) / sd) ** 2) / sd, a, b, epsabs=1e-15, epsrel=1e-12)[0]
        for a, b in pairwise(edges)
    ) / np.sqrt(2 * np.pi)


@pytest.mark.parametrize("hinge", [*HINGES, Hinge(100.0)], ids=str)
def test_log_probability_is_that_of_quadrature(hinge):
    for mean, var in product([-5.0, -0.7, 0.0, 0.4, 2.0], [1e-4, 0.2, 3.0, 30.0]):
        if mean < -6.0 * np.sqrt(var):
            continue
        p = average(lambda f: label_probability(hinge, f), hinge, mean, var)
        assert np.exp(hinge.log_probability(*arrays(mean, var))[0]) == pytest.approx(p, rel=1e-6, abs=1e-9)
    both = [np.exp(hinge.log_probability(*arrays(sign * 0.7, 2.0))[0]) for sign in (-1, 1)]
    assert sum(both) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("hinge", HINGES, ids=str)
@pytest.mark.parametrize("deviations", [-30.0, -12.0, -8.0])
def test_log_probability_far_on_the_wrong_side(hinge, deviations):
    """The latent is cut at eight deviations: what lies beyond is lost, but that is nothing."""
    for sd in (0.3, 1.0, 3.0):
        mean = deviations * sd
        f = np.linspace(mean - 5 * sd, max(mean + (hinge.C * sd + 12) * 2 * sd, 5.0), 2_000_001)
        log_integrand = -0.5 * ((f - mean) / sd) ** 2 - np.logaddexp(0.0, -hinge.log_odds(f))
        top = log_integrand.max()
        log_p = top + np.log(np.exp(log_integrand - top).sum() * (f[1] - f[0]) / sd / np.sqrt(2 * np.pi))
        found = hinge.log_probability(*arrays(mean, sd**2))[0]
        assert np.exp(found) == pytest.approx(np.exp(log_p), rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("hinge", HINGES, ids=str)
def test_a_known_latent_has_the_probability_of_the_paper(hinge):
    f = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(np.exp(hinge.log_probability(f, np.zeros(13))), label_probability(hinge, f), rtol=1e-6)
    score = hinge.score(f, np.zeros(13))
    np.testing.assert_allclose(score, np.where(np.abs(f) <= 1, 2 * f, f + np.sign(f)) * hinge.C, atol=1e-5)


@pytest.mark.parametrize("hinge", [*HINGES, Hinge(100.0)], ids=str)
def test_conditional_entropy_is_that_of_quadrature(hinge):
    def entropy(f):
        p = np.clip(label_probability(hinge, f), 1e-300, 1 - 1e-16)
        return -p * np.log(p) - (1 - p) * np.log1p(-p)

    for mean, var in product([-3.0, -0.7, 0.0, 2.0], [1e-4, 0.2, 3.0, 30.0]):
        found = hinge.conditional_entropy(*arrays(mean, var))[0]
        assert found == pytest.approx(average(entropy, hinge, mean, var), rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("hinge", HINGES, ids=str)
def test_disagreement_is_that_of_quadrature(hinge):
    for y, mean, var in product([1.0, -1.0], [-6.0, -0.7, 0.0, 0.7, 3.0], [0.2, 3.0]):
        _, wrong = integrals([lambda f, y=y: y * f < 0], hinge, y, mean, var)
        assert hinge.disagreement(*arrays(y, mean, var))[0] == pytest.approx(wrong, rel=1e-6, abs=1e-10)


@pytest.mark.parametrize("C", [0.0, -1.0, np.nan, np.inf])
def test_a_bad_slope_is_refused(C):
    with pytest.raises(InvalidProblemError, match=r"^C must be a finite number above 0, got .*\.$"):
        Hinge(C)


# -- expectation propagation -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("hinge", HINGES, ids=str)
@pytest.mark.parametrize("weight", [1.0, 0.4])
def test_a_single_row_is_exact(hinge, weight):
    for y, var in product([1.0, -1.0], [0.1, 1.0, 30.0]):
        log_z, first = integrals([lambda f: f], hinge, y, 0.0, var, weight)
        _, second = integrals([lambda f, m=first: (f - m) ** 2], hinge, y, 0.0, var, weight)
        posterior = EP(tolerance=1e-12).infer(Problem([[var]], [y], hinge, [weight]))
        assert posterior.log_evidence == pytest.approx(log_z, abs=1e-8)
        assert posterior.mean[0] == pytest.approx(first, abs=1e-7)
        assert posterior.variance[0] == pytest.approx(second, rel=1e-6)


def posterior_on_a_grid(problem, points=241):
    """Log-evidence, means and variances of two or three latents by the trapezoidal rule in whitened space."""
    n = problem.size
    x, step = np.linspace(-6.5, 6.5, points if n == 2 else 141, retstep=True)
    z = np.stack(np.meshgrid(*[x] * n, indexing="ij"), axis=-1).reshape(-1, n)
    f = z @ np.linalg.cholesky(problem.dense).T
    log_w = -0.5 * (z**2).sum(1) - 0.5 * n * np.log(2 * np.pi)
    w = np.exp(log_w + log_likelihood(problem.likelihood, problem.y * f).sum(1)) * step**n
    mean = w @ f / w.sum()
    return np.log(w.sum()), mean, w @ (f - mean) ** 2 / w.sum()


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("hinge", HINGES[:2], ids=str)
def test_small_problems_are_those_of_a_grid(n, hinge, rng):
    X = rng.normal(size=(n, 1))
    problem = Problem(2 * RBF(1.0)(X) + 0.1, np.where(np.arange(n) % 2, -1.0, 1.0), hinge)
    log_evidence, mean, variance = posterior_on_a_grid(problem)
    posterior = EP(tolerance=1e-10).infer(problem)
    assert posterior.log_evidence == pytest.approx(log_evidence, abs=0.05)  # what EP is off on problems this small
    np.testing.assert_allclose(posterior.mean, mean, atol=0.06 * np.sqrt(2.1))
    np.testing.assert_allclose(posterior.variance, variance, rtol=0.12)


def test_a_grid_tells_a_wrong_slope(rng):
    X = rng.normal(size=(2, 1))
    gram, y = 2 * RBF(1.0)(X) + 0.1, [1, -1]
    log_evidence = posterior_on_a_grid(Problem(gram, np.array(y), Hinge(2.0)))[0]
    assert abs(EP().infer(Problem(gram, y, Hinge(2.6))).log_evidence - log_evidence) > 0.05


@pytest.mark.parametrize("weights", [None, "some"])
def test_the_gradient_is_that_of_differences(weights, rng):
    X = rng.normal(size=(12, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=12) > 0, 1.0, -1.0)
    weights = rng.choice([0.5, 1.0, 2.0], 12) if weights else None
    model = Model(ConstantKernel(1.5) * RBF(1.2), Hinge(1.7), free=("C",))
    engine = EP(tolerance=1e-11, max_sweeps=500)

    def log_evidence(theta):
        return infer_candidate(model.at(theta), X, [y], weights_of(weights), engine).log_evidence

    found = infer_candidate(model, X, [y], weights_of(weights), engine).evidence_gradient()
    assert found.shape == (3,)
    np.testing.assert_allclose(found, central_difference(log_evidence, model.theta, 1e-3), rtol=1e-5, atol=1e-6)


def weights_of(weights):
    from bayespoint.problem import Weights

    return None if weights is None else Weights.of(weights)


def test_both_labels_of_a_lone_point_are_equally_likely():
    for hinge in HINGES:
        plus, minus = (EP().infer(Problem([[1.3]], [y], hinge)).log_evidence for y in (1, -1))
        assert plus == pytest.approx(minus, abs=1e-12)
