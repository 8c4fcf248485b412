from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, log_expit
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from bayespoint import Logistic, Problem
from bayespoint.engines import EP
from bayespoint.exceptions import InvalidProblemError
from bayespoint.problem import Weights
from bayespoint.tuning import Model, infer_candidate
from witnesses import central_difference

SLOPES = [0.01, 0.5, 2.0, 10.0]
MARGINS = [-30.0, -8.0, -2.0, -0.3, 0.0, 1.0, 8.0, 30.0]  # cavity mean in standard deviations
STEEPEST = 30.0  # C times a cavity's standard deviation up to which moments are good to 1e-8
NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
DROPS = np.r_[0.25, 0.5, np.arange(1, 17), 20.0, 25.0, 30.0, 36.0, 43.0, 50.0, 60.0, 70.0]


# -- dense quadrature ------------------------------------------------------------------------------------------------


def contours(log_density, low, high):
    """The mode of a log-concave density, and where its logarithm has dropped by each of `DROPS`, on either side."""
    a, b = low, high
    for _ in range(120):
        c, d = a + (b - a) / 3, b - (b - a) / 3
        a, b = (c, b) if log_density(c) < log_density(d) else (a, d)
    mode = 0.5 * (a + b)
    floor = log_density(mode) - np.r_[DROPS, DROPS]
    inside, outside = np.full(len(floor), mode), np.repeat([low, high], len(DROPS))
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        is_inside = log_density(middle) > floor
        inside, outside = np.where(is_inside, middle, inside), np.where(is_inside, outside, middle)
    return [mode, *inside]


class Tilted:
    """N(mean, var) times a sum of log-concave factors of slope at most `slope`: normaliser, mean, variance, averages.

    Gauss-Legendre between contours of each factor's product with the Gaussian, and between `cuts`.
    """

    def __init__(self, factors, slope, cuts, mean, var):
        reach = slope * var + 40 * np.sqrt(var)

        def log_gauss(f):
            return -0.5 * np.square(f - mean) / var - 0.5 * np.log(2 * np.pi * var)

        edges = [
            contours(lambda f, factor=factor: log_gauss(f) + factor(f), mean - reach, mean + reach)
            for factor in factors
        ]
        inner, outer = np.concatenate(edges).min(), np.concatenate(edges).max()
        edges = np.unique(np.concatenate([*edges, np.clip(cuts, inner, outer)]))
        half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
        self.f = (middle[:, None] + half[:, None] * NODES).ravel()
        logs = log_gauss(self.f) + np.logaddexp.reduce([factor(self.f) for factor in factors], axis=0)
        self.density = np.exp(logs - logs.max()) * (half[:, None] * WEIGHTS).ravel()
        self.log_z = logs.max() + np.log(self.density.sum())
        self.density /= self.density.sum()
        self.mean = mean + self.average(lambda f: f - mean)
        self.var = self.average(lambda f: np.square(f - self.mean))

    def average(self, function):
        return float(self.density @ function(self.f))


def tilted(C, y, mean, var, power=1.0):
    cuts = np.arange(-40.0, 41.0) / C
    return Tilted([lambda f: power * log_expit(C * y * f)], power * C, cuts, mean, var)


@pytest.mark.parametrize(("C", "mean", "var", "power"), [(2.0, -0.5, 2.0, 1.0), (1.0, 3.0, 9.0, 0.3)])
def test_dense_quadrature_is_adaptive_quadrature(C, mean, var, power):
    def density(f):
        return np.exp(-0.5 * (f - mean) ** 2 / var) / np.sqrt(2 * np.pi * var) / (1 + np.exp(C * f)) ** power

    ends = mean - 14 * np.sqrt(var), mean + 14 * np.sqrt(var)
    mass, first, second = (
        quad(lambda f, k=k: f**k * density(f), *ends, epsabs=1e-13, epsrel=1e-12, limit=200)[0] for k in range(3)
    )
    found = tilted(C, -1.0, mean, var, power)
    assert found.log_z == pytest.approx(np.log(mass), abs=1e-11)
    assert found.mean == pytest.approx(first / mass, abs=1e-10)
    assert found.var == pytest.approx(second / mass - (first / mass) ** 2, abs=1e-10)


# -- tilted moments --------------------------------------------------------------------------------------------------


def arrays(*numbers):
    return tuple(np.array([x], dtype=float) for x in numbers)


def assert_site(likelihood, truth, y, mean, var, power, rtol=1e-8):
    """Log-normaliser and moments that a site stands for, each in its own units."""
    log_z, tau, nu = (float(x[0]) for x in likelihood.site(*arrays(y, mean, var, power)))
    tilted_var = 1 / (1 / var + tau)
    case = f"{likelihood}, y={y}, mean={mean:.3g}, var={var:.3g}, power={power}"
    assert log_z == pytest.approx(truth.log_z, rel=rtol, abs=rtol), case
    assert tilted_var == pytest.approx(truth.var, rel=rtol), case
    off = tilted_var * (mean / var + nu) - truth.mean
    assert abs(off) < rtol * (np.sqrt(truth.var) + abs(truth.mean)), case


def assert_slope(likelihood, expected, y, mean, var, power, rtol=1e-8):
    found = likelihood.log_normaliser_gradient(*arrays(y, mean, var, power))["C"][0]
    assert found == pytest.approx(expected, rel=rtol, abs=rtol)


@pytest.mark.parametrize("power", [1.0, 0.3])
@pytest.mark.parametrize("C", SLOPES)
def test_site_and_slope_are_those_of_quadrature(C, power):
    for var, (k, margin) in product([1e-8, 1e-3, 1.0, 9.0, 1e4, 1e6], enumerate(MARGINS)):
        if C * np.sqrt(var) > STEEPEST:
            continue
        y, mean = (-1.0) ** k, (-1.0) ** k * margin * np.sqrt(var)
        truth = tilted(C, y, mean, var, power)
        assert_site(Logistic(C), truth, y, mean, var, power)
        slope = truth.average(lambda f, y=y: power * C * y * f * expit(-C * y * f))
        assert_slope(Logistic(C), slope, y, mean, var, power)


@pytest.mark.parametrize(
    ("C", "margin", "var", "power"),
    [(1.0, -30.0, 1e4, 1.0), (5.0, -30.0, 1e4, 1.0), (5.0, 0.0, 1e4, 0.3), (5.0, -2.0, 1e4, 0.3)],
)
def test_site_of_a_sigmoid_far_steeper_than_the_cavity(C, margin, var, power):
    mean = margin * np.sqrt(var)
    assert_site(Logistic(C), tilted(C, 1.0, mean, var, power), 1.0, mean, var, power, rtol=1e-4)


@pytest.mark.parametrize("change", [{"C": 2.001}, {"y": -1.0}, {"power": 0.999}, {"mean": -0.501}])
def test_quadrature_tells_a_wrong_site(change):
    right = {"C": 2.0, "y": 1.0, "mean": -0.5, "var": 2.0, "power": 1.0}
    with pytest.raises(AssertionError):
        assert_site(Logistic(2.0), tilted(**(right | change)), 1.0, -0.5, 2.0, 1.0)


def test_quadrature_tells_a_wrong_slope():
    slope = tilted(2.0, 1.0, -0.5, 2.0).average(lambda f: 2.001 * f * expit(-2.0 * f))
    with pytest.raises(AssertionError):
        assert_slope(Logistic(2.0), slope, 1.0, -0.5, 2.0, 1.0)


@pytest.mark.parametrize("C", [1e-3, 0.5, 2.0, 10.0, 1e3])
def test_far_tails_stay_finite_and_proper(C):
    mean = np.r_[-np.geomspace(1e6, 1, 40), 0.0, np.geomspace(1, 1e6, 40)]
    ones = np.ones_like(mean)
    likelihood = Logistic(C)
    log_z, tau, nu = likelihood.site(ones, mean, ones, ones)
    assert np.isfinite([log_z, tau, nu]).all()
    assert np.all(tau >= 0)
    assert np.all(log_z <= 1e-12)
    assert np.isfinite(likelihood.log_normaliser_gradient(ones, mean, ones, ones)["C"]).all()
    share = likelihood.disagreement(ones, mean, ones)
    assert np.all((share >= 0) & (share <= 1))
    log_p = likelihood.log_probability(mean, ones)
    assert np.isfinite(log_p).all()
    assert np.all(log_p <= 0)


def test_flipping_label_and_cavity_mirrors_the_site(rng):
    mean, var, power = rng.normal(size=9), rng.gamma(1.0, size=9) + 0.1, np.tile([1.0, 0.5, 0.3], 3)
    log_z, tau, nu = Logistic(2.0).site(np.ones(9), mean, var, power)
    mirrored = Logistic(2.0).site(-np.ones(9), -mean, var, power)
    np.testing.assert_allclose(mirrored, [log_z, tau, -nu], rtol=1e-10, atol=1e-12)


def test_only_the_slope_in_standard_deviations_matters(rng):
    """C^2 k is all there is: latents in other units are the same model."""
    y, mean, var, ones = rng.choice([-1.0, 1.0], 9), rng.normal(size=9), rng.gamma(1.0, size=9) + 0.1, np.ones(9)
    log_z, tau, nu = Logistic(3.0).site(y, mean, var, ones)
    np.testing.assert_allclose(Logistic(1.0).site(y, 3 * mean, 9 * var, ones), [log_z, tau / 9, nu / 3], rtol=1e-10)


# -- read-outs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", SLOPES)
def test_log_likelihood_is_that_of_the_sigmoid(C):
    f = np.linspace(-4, 4, 17)
    np.testing.assert_allclose(Logistic(C).log_likelihood(1.0, f), -np.log1p(np.exp(-C * f)), rtol=1e-12)
    np.testing.assert_allclose(Logistic(C).log_likelihood(-np.ones(17), f), -np.log1p(np.exp(C * f)), rtol=1e-12)
    np.testing.assert_allclose(Logistic(C).log_odds(f), C * f)
    assert Logistic(C).log_likelihood(1.0, np.array([-1e6]))[0] == pytest.approx(-1e6 * C)


@pytest.mark.parametrize("C", SLOPES)
def test_log_probability_is_that_of_quadrature(C):
    for mean, var in product([-5.0, -0.7, 0.0, 0.4, 20.0], [1e-8, 0.2, 3.0, 100.0]):
        truth = tilted(C, 1.0, mean, var).log_z
        found = Logistic(C).log_probability(*arrays(mean, var))[0]
        # the latent is cut at eight deviations, where a steep sigmoid may have its mass
        assert np.exp(found) == pytest.approx(np.exp(truth), rel=1e-8, abs=1e-13)
        opposite = Logistic(C).log_probability(*arrays(-mean, var))[0]
        assert np.exp(found) + np.exp(opposite) == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("C", SLOPES)
def test_a_known_latent_has_its_own_probability(C):
    f = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(Logistic(C).log_probability(f, np.zeros(13)), log_expit(C * f), rtol=1e-10)
    np.testing.assert_allclose(Logistic(C).score(f, np.zeros(13)), C * f, atol=1e-10)


@pytest.mark.parametrize("C", SLOPES)
def test_conditional_entropy_is_that_of_quadrature(C):
    def entropy(f):
        return -expit(C * f) * log_expit(C * f) - expit(-C * f) * log_expit(-C * f)

    for mean, var in product([-3.0, -0.7, 0.0, 2.0], [1e-8, 0.2, 3.0, 100.0]):
        prior = Tilted([np.zeros_like], 0.0, np.arange(-40.0, 41.0) / C, mean, var)
        found = Logistic(C).conditional_entropy(*arrays(mean, var))[0]
        assert found == pytest.approx(prior.average(entropy), rel=1e-8, abs=1e-12)
    assert Logistic(C).conditional_entropy(*arrays(0.0, 0.0))[0] == pytest.approx(np.log(2))


@pytest.mark.parametrize("C", SLOPES)
def test_disagreement_is_that_of_quadrature(C):
    for y, mean, var in product([1.0, -1.0], [-6.0, -0.7, 0.0, 0.7, 3.0], [1e-8, 0.2, 3.0]):
        truth = tilted(C, y, mean, var).average(lambda f, y=y: np.where(y * f < 0, 1.0, 0.0))
        found = Logistic(C).disagreement(*arrays(y, mean, var))[0]
        assert found == pytest.approx(truth, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("C", [0.0, -1.0, np.nan, np.inf])
def test_a_bad_slope_is_refused(C):
    with pytest.raises(InvalidProblemError, match=r"^C must be a finite number above 0, got .*\.$"):
        Logistic(C)


# -- expectation propagation -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [1.0, 0.4])
@pytest.mark.parametrize("C", SLOPES)
def test_a_single_row_is_exact(C, weight):
    for y, var in product([1.0, -1.0], [1e-3, 1.0, 9.0]):
        truth = tilted(C, y, 0.0, var, weight)
        posterior = EP(tolerance=1e-12).infer(Problem([[var]], [y], Logistic(C), [weight]))
        assert posterior.log_evidence == pytest.approx(truth.log_z, abs=1e-8)
        assert posterior.mean[0] == pytest.approx(truth.mean, abs=1e-8 * (1 + np.sqrt(var)))
        assert posterior.variance[0] == pytest.approx(truth.var, rel=1e-8)


def on_a_grid(problem, points=201):
    """Log-evidence, means and variances of two or three latents by the trapezoidal rule in whitened space."""
    n = problem.size
    x, step = np.linspace(-7, 7, points if n == 2 else 101, retstep=True)
    z = np.stack(np.meshgrid(*[x] * n, indexing="ij"), axis=-1).reshape(-1, n)
    f = z @ np.linalg.cholesky(problem.dense).T
    logs = log_expit(problem.likelihood.C * problem.y * f).sum(axis=1)
    w = np.exp(logs - 0.5 * np.square(z).sum(axis=1)) * (step / np.sqrt(2 * np.pi)) ** n
    mean = w @ f / w.sum()
    return np.log(w.sum()), mean, w @ np.square(f - mean) / w.sum()


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("C", [0.5, 2.0])
def test_small_problems_are_those_of_a_grid(n, C, rng):
    problem = Problem(2 * RBF(1.0)(rng.normal(size=(n, 1))) + 0.1, np.where(np.arange(n) % 2, -1.0, 1.0), Logistic(C))
    log_evidence, mean, variance = on_a_grid(problem)
    posterior = EP(tolerance=1e-10).infer(problem)
    assert posterior.log_evidence == pytest.approx(log_evidence, abs=0.01)  # what EP is off on problems this small
    np.testing.assert_allclose(posterior.mean, mean, atol=0.02 * np.sqrt(2.1))
    np.testing.assert_allclose(posterior.variance, variance, rtol=0.04)


def test_a_grid_tells_a_wrong_slope():
    gram = 2 * RBF(1.0)(np.array([[0.0], [0.3]])) + 0.1
    log_evidence, *_ = on_a_grid(Problem(gram, [1, -1], Logistic(2.0)))
    assert abs(EP().infer(Problem(gram, [1, -1], Logistic(2.2))).log_evidence - log_evidence) > 0.01


@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_is_that_of_differences(weighted, rng):
    X = rng.normal(size=(12, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=12) > 0, 1.0, -1.0)
    weights = Weights.of(rng.choice([0.5, 1.0, 2.0], 12)) if weighted else None
    model = Model(ConstantKernel(1.5) * RBF(1.2), Logistic(1.7), free=("C",))
    engine = EP(tolerance=1e-11, max_sweeps=500)

    def log_evidence(theta):
        return infer_candidate(model.at(theta), X, [y], weights, engine).log_evidence

    found = infer_candidate(model, X, [y], weights, engine).evidence_gradient()
    assert found.shape == (3,)
    np.testing.assert_allclose(found, central_difference(log_evidence, model.theta, 1e-3), rtol=1e-6, atol=1e-7)
    assert found[2] == pytest.approx(2 * found[0], rel=1e-6)  # the amplitude is C^2


@pytest.mark.parametrize(("mean", "var", "C"), [(0.3, 1.0, 2.0), (-2.0, 0.5, 1.0), (1.0, 4.0, 10.0)])
@pytest.mark.parametrize("y", [1.0, -1.0])
def test_disagreement_and_entropy_are_those_of_quadrature(y, mean, var, C):
    sd = np.sqrt(var)

    def density(f):
        return np.exp(-0.5 * ((f - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))

    def entropy(f):
        p = expit(C * f)
        return -p * log_expit(C * f) - (1 - p) * log_expit(-C * f)

    ends = [mean - 9 * sd, 0.0, mean + 9 * sd]
    below, above = (quad(lambda f: density(f) * expit(C * y * f), a, b, epsabs=1e-12)[0] for a, b in pairwise(ends))
    likelihood, rows = Logistic(C), (np.array([mean]), np.array([var]))
    wrong = likelihood.disagreement(np.array([y]), *rows)
    assert wrong[0] == pytest.approx((below if y > 0 else above) / (below + above), abs=1e-8)
    expected = sum(quad(lambda f: density(f) * entropy(f), a, b, epsabs=1e-12)[0] for a, b in pairwise(ends))
    assert likelihood.conditional_entropy(*rows)[0] == pytest.approx(expected, abs=1e-8)
