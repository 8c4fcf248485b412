"""Derivatives of the naive, conditional and joint evidence against differences of exact values."""

from functools import partial

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from test_svm import conditional_truth, joint_truth, naive_truth

from bayespoint import Hinge, Problem
from bayespoint.evidence.svm import svm_evidence_gradient
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import LowRank
from bayespoint.kernels import contract_gradient
from truths import by_recursion
from witnesses import central_difference

X = np.array([[0.0], [0.7], [1.1]])
Y = np.array([1.0, -1.0, 1.0])
KERNEL = ConstantKernel(1.5) * RBF([0.4]) + ConstantKernel(0.3)
TRUTHS = {"naive": naive_truth, "conditional": lambda problem: naive_truth(problem) - conditional_truth(problem)}


def problem_at(theta, rows=3, weights=None):
    """Log C, then the logarithms of amplitude, length scale and squared bias."""
    gram = KERNEL.clone_with_theta(np.asarray(theta[1:]))(X[:rows])
    return Problem(gram, Y[:rows], Hinge(float(np.exp(theta[0]))), weights, check=False)


def start(C):
    return np.r_[np.log(C), KERNEL.theta]


def estimates(gradient, rows=3):
    _, changes = KERNEL(X[:rows], eval_gradient=True)
    return [gradient.by_c(), *(gradient.along(changes[..., k]) for k in range(3))]


def assert_within_errors(found, truth):
    for one, other in zip(found, truth, strict=True):
        assert 0 < one.se < 0.3
        assert abs(one.value - other) < 4.5 * one.se


@pytest.mark.parametrize("C", [0.1, 0.7, 2.0, 10.0])
@pytest.mark.parametrize("kind", ["naive", "conditional"])
def test_draws_follow_the_exact_gradient(kind, C, seed):
    truth = central_difference(lambda theta: TRUTHS[kind](problem_at(theta)), start(C))
    gradient = svm_evidence_gradient(problem_at(start(C)), seed, kind, "sampled", draws=20_000)
    found = estimates(gradient)
    assert_within_errors(found, truth)
    np.testing.assert_allclose(
        contract_gradient(KERNEL, X, gradient.by_gram()), [one.value for one in found[1:]], rtol=1e-8, atol=1e-10
    )


def test_the_joint_gradient(seed):
    def truth(theta):
        problem = problem_at(theta, 2)
        return naive_truth(problem) - joint_truth(problem)

    gradient = svm_evidence_gradient(problem_at(start(2.0), 2), seed, "joint", "sampled", draws=40_000)
    assert_within_errors(estimates(gradient, 2), central_difference(truth, start(2.0)))


def test_weights(seed):
    problem = partial(problem_at, weights=[1.0, 2.5, 0.4])
    truth = central_difference(lambda theta: naive_truth(problem(theta)), start(2.0))
    gradient = svm_evidence_gradient(problem(start(2.0)), seed, "naive", "sampled", draws=20_000)
    assert_within_errors(estimates(gradient), truth)


@pytest.mark.parametrize("method", ["ep", "laplace"])
def test_approximations_follow_their_own_values(method):
    from bayespoint.engines import EP, Laplace

    engine = EP(tolerance=1e-10) if method == "ep" else Laplace()
    truth = central_difference(lambda theta: engine.infer(problem_at(theta)).log_evidence, start(2.0))
    found = estimates(svm_evidence_gradient(problem_at(start(2.0)), kind="naive", method=method))
    assert all(one.se is None for one in found)
    np.testing.assert_allclose([one.value for one in found], truth, atol=1e-5)


def test_a_smooth_kernel_that_is_singular_up_to_rounding(seed):
    """Thirty rows on a line under a long length scale. Witness: differences of one set of draws from the prior."""
    rows = np.linspace(-1, 1, 30)[:, None]
    y = np.where(np.sin(4 * rows[:, 0]) > 0, 1.0, -1.0)

    def problem(log_scale):
        return Problem(RBF(float(np.exp(log_scale[0])))(rows), y, Hinge(2.0), check=False)

    at = np.array([np.log(1.5)])
    _, change = RBF(1.5)(rows, eval_gradient=True)
    found = svm_evidence_gradient(problem(at), seed, "naive", "sampled", draws=20_000).along(change[..., 0])
    w = np.random.default_rng(1).standard_normal((400_000, 12))

    def by_draws(log_scale):  # the same coordinates at either length scale
        values, vectors = np.linalg.eigh(problem(log_scale).dense)
        top = np.argsort(values)[::-1][:12]
        signs = np.sign(vectors[0, top] + 1e-12)
        theta = w @ (vectors[:, top] * signs * np.sqrt(np.maximum(values[top], 0))).T
        loss = 2.0 * np.maximum(0.0, 1 - y * theta).sum(1)
        return np.log(np.mean(np.exp(loss.min() - loss))) - loss.min()

    assert abs(found.value - central_difference(by_draws, at, 1e-2)[0]) < 5 * found.se + 0.1


def test_markov_problems_of_fifty_rows(seed):
    """The Ornstein-Uhlenbeck kernel, whose evidence is exact by recursion, in its amplitude and in C."""
    from truths import markov_problem

    base = markov_problem(50, Hinge(2.0))

    def truth(theta):
        return by_recursion(Problem(np.exp(theta[1]) * base.dense, base.y, Hinge(2.0 * float(np.exp(theta[0])))))

    expected = central_difference(truth, np.zeros(2))
    gradient = svm_evidence_gradient(base, seed, "naive", "sampled", draws=20_000)
    assert_within_errors([gradient.by_c(), gradient.along(base.dense)], expected)


def test_a_wrong_gradient_is_told(seed):
    truth = central_difference(lambda theta: naive_truth(problem_at(theta)), start(2.0))
    found = estimates(svm_evidence_gradient(problem_at(start(2.5)), seed, "naive", "sampled", draws=20_000))
    with pytest.raises(AssertionError):
        assert_within_errors(found, truth)


@pytest.mark.parametrize(("settings", "message"), [({"kind": "x"}, "kind must"), ({"method": "x"}, "method must")])
def test_settings_without_sense(settings, message):
    with pytest.raises(InvalidProblemError, match=message):
        svm_evidence_gradient(problem_at(start(2.0)), **settings)


def test_factors_are_refused():
    with pytest.raises(InvalidProblemError, match="need a dense one"):
        svm_evidence_gradient(Problem(LowRank(X), Y, Hinge(2.0)))
