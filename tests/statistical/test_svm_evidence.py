"""Normalisers of the support vector machine over repeats, and a table of all methods on Sollich's toy problem.

The rule for spreads is that of `test_evidence`: 20 repeats a case, pooled over cases, within 0.7..1.4.
"""

from functools import cache
from time import perf_counter

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Hinge, Problem
from bayespoint.evidence.svm import log_normaliser, svm_log_evidence

pytestmark = pytest.mark.slow

REPEATS = 20
CASES = [(20, 0.5), (20, 2.0), (50, 0.5), (50, 2.0)]  # rows, C


@cache
def toy(size, C, seed=0):
    """Rows on the unit interval, RBF kernel, labels by (11) of a function of the prior (Sollich, section 6)."""
    rng = np.random.default_rng([seed, size])
    x = rng.uniform(size=(size, 1))
    gram = 1.25 * RBF(0.05)(x)
    f = np.linalg.cholesky(gram + 1e-10 * np.eye(size)) @ rng.standard_normal(size)
    odds = C * (f + np.clip(f, -1, 1))
    return Problem(gram, np.where(rng.random(size) < 1 / (1 + np.exp(-odds)), 1.0, -1.0), Hinge(C))


def repeats(size, C, kind, seed, **settings):
    """Values and reported errors."""
    estimates = [log_normaliser(toy(size, C), [seed, size, k], kind, **settings) for k in range(REPEATS)]
    return np.array([(e.value, e.se) for e in estimates]).T


def assert_spread(cases, kind, seed, scale=1.0, **settings):
    """Spread over reported error (times `scale`), pooled over cases, within 0.7..1.4."""
    ratios = []
    for size, C in cases:
        values, errors = repeats(size, C, kind, seed, **settings)
        ratios.append(values.std(ddof=1) / np.sqrt(np.mean(np.square(scale * errors))))
        print(f"{kind} n={size} C={C}: {values.mean():.3f}, spread {values.std(ddof=1):.3f}, ratio {ratios[-1]:.2f}")
    pooled = np.sqrt(np.mean(np.square(ratios)))
    assert 0.7 < pooled < 1.4, f"spread over error: {pooled:.2f}, one by one {np.round(ratios, 2)}"


@pytest.mark.parametrize("kind", ["conditional", "joint"])
def test_the_error_of_normalisers_is_their_spread(kind, seed):
    assert_spread(CASES, kind, seed, se=0.1)


def test_an_error_half_as_large_is_told(seed):
    with pytest.raises(AssertionError, match="spread over error"):
        assert_spread(CASES[:3], "conditional", seed, scale=0.5, se=0.1)


@pytest.mark.parametrize("kind", ["conditional", "joint"])
def test_chaining_agrees_with_the_bridge(kind, seed):
    for size, C in CASES:
        bridge = log_normaliser(toy(size, C), [seed, 1], kind, se=0.1)
        chain = log_normaliser(toy(size, C), [seed, 2], kind, "chaining", sweeps=10_000)
        off = (chain.value - bridge.value) / np.hypot(chain.se, bridge.se)
        assert abs(off) < 4.5, f"{chain} and {bridge} are {off:.1f} errors apart"


@pytest.mark.parametrize("C", [0.5, 2.0])
def test_methods_on_the_toy_problem(C, seed):
    """A table for the reader (pytest -s): bias and spread over repeats, error as reported, seconds."""
    problem = toy(50, C)
    truth = svm_log_evidence(problem, [seed, 99], "naive", "sampled", se=0.01, max_draws=1_000_000)
    print(f"\nnaive evidence of the toy problem, n = 50, C = {C}: {truth}")
    print(f"{'method':10} {'bias':>8} {'spread':>8} {'reported':>8} {'seconds':>8}")
    bias = {}
    for method, count in (("laplace", 1), ("ep", 1), ("sampled", 8), ("chaining", 8)):
        start = perf_counter()
        estimates = [svm_log_evidence(problem, [seed, k], "naive", method) for k in range(count)]
        seconds = (perf_counter() - start) / count
        values = np.array([e.value for e in estimates])
        errors = np.array([e.se or 0.0 for e in estimates])
        bias[method] = values.mean() - truth.value
        spread = values.std(ddof=1) if count > 1 else 0.0
        reported = np.sqrt(np.mean(errors**2))
        print(f"{method:10} {bias[method]:8.3f} {spread:8.3f} {reported:8.3f} {seconds:8.3f}")
        if method == "sampled":
            assert abs(bias[method]) < 4.5 * np.hypot(reported / np.sqrt(count), truth.se)
    assert abs(bias["ep"]) < 0.5
    assert bias["laplace"] > 3  # nats: expect no more of it
