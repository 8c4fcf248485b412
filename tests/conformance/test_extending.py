"""The engine and the likelihood of the pages on adding them, and the row and column of the table they would fill."""

import importlib
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from test_engines import LIKELIHOODS, QUICK, assert_same_moments, check_readouts, check_shared_methods

from bayespoint import BayesPointClassifier
from bayespoint.engines import EP, Billiard, EllipticalSlice
from bayespoint.evidence import log_evidence
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import Exact
from bayespoint.tuning import Model, infer_candidate, maximise_evidence
from grams import GRAMS, KERNEL, SIZE, WEIGHTS, X, Y, new_points, problem_of

FOLDER = Path(__file__).parents[2] / "examples" / "extending"
CELLS = [(gram, weights) for gram in GRAMS for weights in WEIGHTS]


@pytest.fixture
def toys(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("toy_engine").PriorRejection, importlib.import_module("toy_likelihood").Cauchit


@pytest.fixture
def engine(toys):
    return toys[0]()


@pytest.fixture
def likelihood(toys):
    return toys[1](0.5)


def assert_near(gaussian, draws):
    """Moments of a Gaussian posterior beside those of draws, and its evidence beside the share of draws that passed."""
    for power, expected in ((1, gaussian.mean), (2, gaussian.mean**2 + gaussian.variance)):
        values = draws.latents**power
        error = values.std(axis=(0, 1)) / np.sqrt(values.shape[1])  # draws are independent
        assert np.all(np.abs(values.mean(axis=(0, 1)) - expected) < 5 * error)
    passed = draws.info["acceptance"]
    error = np.sqrt((1 - passed) / (passed * draws.info["tries"]))
    assert abs(np.log(passed) - gaussian.log_evidence) < 5 * error


# -- the row of the engine


@pytest.mark.parametrize("gram", GRAMS)
@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_every_readout_reads_what_the_toy_engine_gives(engine, kind, gram):
    posterior = replace(engine, draws=50).infer(problem_of(gram, LIKELIHOODS[kind]), rng=0)
    check_shared_methods(posterior, gram, new_points(gram))
    check_readouts(posterior, gram, new_points(gram))


@pytest.mark.parametrize(("kind", "weights"), [("hard", "none"), ("noise", "whole"), ("noise", "fractional")])
def test_the_toy_engine_agrees_with_the_billiard(engine, kind, weights, seed):
    problem, points = problem_of("dense", LIKELIHOODS[kind], weights), new_points("dense")
    exact = Billiard(draws=2000).infer(problem, rng=seed)
    assert_same_moments(engine.infer(problem, rng=seed + 1).at(points), exact.at(points))


def test_the_toy_engine_refuses_what_takes_too_long(engine):
    with pytest.raises(InvalidProblemError, match=r"^Only \d+ of 10,000 draws of the prior agree [^\n]*\.$"):
        replace(engine, max_tries=10_000).infer(problem_of("dense", LIKELIHOODS["hard"]), rng=0)


def test_a_classifier_takes_the_toy_engine(engine):
    model = BayesPointClassifier(KERNEL, noise=0.1, bias=0.0, optimizer=None, engine=engine, random_state=0)
    other = model.fit(X[:SIZE], Y).predict_proba(X)
    plain = BayesPointClassifier(KERNEL, noise=0.1, bias=0.0, optimizer=None).fit(X[:SIZE], Y).predict_proba(X)
    np.testing.assert_allclose(other, plain, atol=0.04)


# -- the column of the likelihood


@pytest.mark.parametrize(("gram", "weights"), CELLS)
@pytest.mark.parametrize("name", QUICK)
def test_engines_take_the_toy_likelihood_or_say_why_not(name, likelihood, gram, weights):
    problem = problem_of(gram, likelihood, weights)
    if name in ("EP", "EllipticalSlice"):
        posterior = QUICK[name].infer(problem, rng=0)
        check_shared_methods(posterior, gram, new_points(gram))
        check_readouts(posterior, gram, new_points(gram))
    else:
        with pytest.raises(InvalidProblemError, match=r"^[A-Z][^\n]*\.$"):
            QUICK[name].infer(problem, rng=0)


@pytest.mark.parametrize(("gram", "weights"), [("dense", "none"), ("factor", "whole"), ("residual", "none")])
def test_expectation_propagation_agrees_with_the_toy_engine(engine, likelihood, gram, weights, seed):
    problem = problem_of(gram, likelihood, weights)
    assert_near(EP().infer(problem), engine.infer(problem, rng=seed))


def test_another_scale_would_be_noticed(engine, likelihood, seed):
    """The control of the test above."""
    draws = engine.infer(problem_of("dense", likelihood), rng=seed)
    with pytest.raises(AssertionError):
        assert_near(EP().infer(problem_of("dense", replace(likelihood, scale=1.0))), draws)


def test_slices_and_evidence_take_the_toy_likelihood(engine, likelihood, seed):
    problem, points = problem_of("dense", likelihood), new_points("dense")
    draws = engine.infer(problem, rng=seed)
    assert_same_moments(EllipticalSlice(draws=1000).infer(problem, rng=seed).at(points), draws.at(points))
    found, passed = log_evidence(problem, rng=seed), draws.info["acceptance"]
    error = np.sqrt((1 - passed) / (passed * draws.info["tries"]))
    assert abs(found.value - np.log(passed)) < 5 * np.hypot(found.se, error)


@pytest.mark.parametrize("power", [1.0, 0.3])
@pytest.mark.parametrize(("y", "mean", "var"), [(1.0, 0.3, 1.0), (-1.0, 2.0, 4.0), (1.0, -6.0, 0.5)])
def test_hooks_beside_quadrature(likelihood, y, mean, var, power):
    given = np.array([y]), np.array([mean]), np.array([var]), np.array([power])
    sd = np.sqrt(var)

    def average(function):
        def mass(f):
            p = np.exp(likelihood.log_likelihood(y, f))
            return norm.pdf(f, mean, sd) * p**power * function(f)

        return sum(quad(mass, *ends, epsabs=1e-13)[0] for ends in ((mean - 9 * sd, 0), (0, mean + 9 * sd)))

    log_z, tau, nu = likelihood.site(*given)
    z = average(lambda f: 1.0)
    first = average(lambda f: f) / z
    second = average(lambda f: (f - first) ** 2) / z
    assert log_z[0] == pytest.approx(np.log(z), abs=1e-8)
    assert 1 / (tau[0] + 1 / var) == pytest.approx(second, rel=1e-6)
    assert (nu[0] + mean / var) * second == pytest.approx(first, rel=1e-6)
    if power == 1.0:
        wrong = average(lambda f: float(y * f < 0)) / z
        assert likelihood.disagreement(*given[:3])[0] == pytest.approx(wrong, abs=1e-7)
        p = np.exp(likelihood.log_probability(y * given[1], given[2]))
        assert p[0] == pytest.approx(z, abs=1e-8)
    step = 1e-4
    ends = [replace(likelihood, scale=likelihood.scale * np.exp(d)).site(*given)[0][0] for d in (-step, step)]
    slope = likelihood.log_normaliser_gradient(*given)["scale"][0]
    assert slope == pytest.approx((ends[1] - ends[0]) / (2 * step), abs=1e-6)


def test_the_scale_can_be_chosen_by_the_evidence(likelihood):
    def at(scale):
        return EP(tolerance=1e-9).infer(problem_of("dense", replace(likelihood, scale=scale)))

    slope = (at(0.5 * np.exp(1e-4)).log_evidence - at(0.5 * np.exp(-1e-4)).log_evidence) / 2e-4
    assert at(0.5).evidence_gradient.likelihood["scale"] == pytest.approx(slope, rel=1e-5)
    model = Model(ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed"), likelihood, ("scale",))
    found = maximise_evidence(model, Exact(X[:SIZE]), [Y])
    assert found.log_evidence > infer_candidate(model, Exact(X[:SIZE]), [Y], None, EP()).log_evidence + 0.1
    assert found.model.likelihood.scale < 0.1  # the labels follow the kernel without exception


@pytest.mark.usefixtures("toys")
def test_the_two_are_used_together(capsys):
    runpy.run_path(str(FOLDER / "use_both.py"))
    gaussian, draws = (np.array(line.strip("[]").split(), float) for line in capsys.readouterr().out.splitlines())
    np.testing.assert_allclose(gaussian, draws, atol=0.03)
