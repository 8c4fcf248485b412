import warnings

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayespoint import Problem, Step, readouts
from bayespoint.engines import EP
from bayespoint.exceptions import InferenceWarning
from bayespoint.grams import DensePoints


@st.composite
def problems(draw):
    """Random points, kernels of any rank and size, contrary labels, weights; never a hard boundary."""
    n = draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, draw(st.integers(1, 4))))
    scale = 10.0 ** draw(st.floats(-3, 3))
    gram = X @ X.T if draw(st.booleans()) else np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(2))
    noise, softness = draw(st.sampled_from([(0.0, 0.1), (0.0, 1.0), (0.05, 1.0), (0.3, 0.1), (0.2, 0.0)]))
    weights = rng.choice([0.25, 1.0, 2.0, 3.5], n) if draw(st.booleans()) else None
    return Problem(scale * gram + 1e-6 * scale * np.eye(n), rng.choice([-1.0, 1.0], n), Step(noise, softness), weights)


def infer(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        return EP().infer(problem)


@given(problems())
def test_every_posterior_is_proper(problem):
    posterior = infer(problem)
    assert np.isfinite(posterior.log_evidence)
    assert np.all(posterior.variance > 0)
    assert np.all(posterior.leave_one_out.variance > 0)
    assert np.isfinite(posterior.mean).all()
    assert np.isfinite(posterior.evidence_gradient.by_gram()).all()


@given(problems())
def test_every_probability_is_one(problem):
    posterior = infer(problem)
    for p in (
        readouts.class_probability(posterior, DensePoints(problem.dense, np.diagonal(problem.dense))),
        readouts.leave_one_out_probability(posterior),
    ):
        assert np.all((p > 0) & (p < 1))
    flips = readouts.flip_probability(posterior)
    assert np.all((flips >= 0) & (flips <= 1))
    step, latent = problem.likelihood, posterior.leave_one_out
    pair = [np.exp(step.log_probability(sign * latent.mean, latent.variance)) for sign in (-1, 1)]
    np.testing.assert_allclose(sum(pair), 1.0, rtol=1e-12)


@given(problems())
def test_mirrored_labels_have_mirrored_posteriors(problem):
    a = infer(problem)
    b = infer(Problem(problem.dense, -problem.y, problem.likelihood, problem.weights))
    np.testing.assert_allclose(b.log_evidence, a.log_evidence, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(b.mean, -a.mean, rtol=1e-6, atol=1e-9 * np.sqrt(problem.dense.max()))
