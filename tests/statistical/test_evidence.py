"""Evidence on real Gram matrices: methods agree, and the standard error is the spread over repeats.

The rule for spreads: 20 repeats know the ratio of spread to error to 16 %, so single cases are pooled. Over k cases of
20 repeats the pooled squared ratio is chi-squared with 19 k degrees of freedom. If the reported errors are right it
leaves 0.7..1.4 with probability 4e-2 for k = 1, 4e-4 for k = 3 and 5e-5 for k = 4.
"""

from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Problem, Step
from bayespoint.evidence import log_evidence
from datasets import at_hand, load_arrays, splits

pytestmark = pytest.mark.slow

needs_data = pytest.mark.skipif(
    not at_hand("usps", "diabetis"), reason="no data: put usps.npz and diabetis.npz where datasets.py looks"
)
ERRORS = 4.5
REPEATS = 20


@cache
def real_problem(name, size):
    """USPS 3 against 8 with sigma 8; diabetis, split 0, with sigma 5, whose version space is elongated."""
    if name == "usps":
        arrays = load_arrays("usps")
        rows = np.flatnonzero(np.isin(arrays["y_train"], (3, 8)))[:size]
        X, y, sigma = arrays["X_train"][rows], np.where(arrays["y_train"][rows] == 3, 1, -1), 8.0
    else:
        split = splits("diabetis", 1)[0]
        X, y, sigma = split.X_train[:size], split.y_train[:size], 5.0
    return Problem(RBF(sigma)(X.astype(float)), y, Step())


def teacher(size, dimension=10):
    rng = np.random.default_rng([size, dimension])
    X = rng.normal(size=(size, dimension))
    return Problem(X @ X.T, np.sign(X @ rng.normal(size=dimension)), Step())


# -- agreement -------------------------------------------------------------------------------------------------------


def assert_agree(one, other):
    off = (one.value - other.value) / np.hypot(one.se, other.se)
    assert abs(off) < ERRORS, f"{one} and {other} are {off:.1f} errors apart"


@needs_data
@pytest.mark.parametrize("size", [50, 100, 200])
def test_methods_agree_on_usps(size, seed):
    problem = real_problem("usps", size)
    tilted, bridge, billiard = (log_evidence(problem, seed, m, se=0.1) for m in ("tilted", "bridge", "billiard"))
    assert_agree(tilted, bridge)
    assert_agree(tilted, billiard)
    assert_agree(bridge, billiard)


@needs_data
@pytest.mark.parametrize(
    ("size", "methods"),
    [
        (50, ("bridge", "tilted")),
        (50, ("bridge", "billiard")),
        (100, ("bridge", "billiard")),
        (200, ("bridge", "billiard")),
    ],
    ids=str,
)
def test_methods_agree_on_diabetis(size, methods, seed):
    se = 0.2 if size < 200 else 0.5  # elongated: many events a flight
    assert_agree(*(log_evidence(real_problem("diabetis", size), seed, method, se=se) for method in methods))


@needs_data
@pytest.mark.parametrize("size", [50, 100, 200])
def test_auto_finds_its_way_on_diabetis(size, seed):
    problem = real_problem("diabetis", size)
    assert_agree(log_evidence(problem, seed, se=0.2), log_evidence(problem, seed + 100, "bridge", se=0.2))


@needs_data
def test_auto_keeps_a_bridge_if_the_billiard_fails(seed):
    problem = real_problem("diabetis", 200)
    assert_agree(
        log_evidence(problem, seed, se=0.1, max_draws=30_000), log_evidence(problem, seed + 100, "bridge", se=0.2)
    )


@needs_data
def test_methods_disagree_about_other_labels(seed):
    """Wrong on purpose: one label turned round moves the evidence by far more than its error."""
    right = real_problem("usps", 100)
    y = right.y.copy()
    y[7] *= -1
    one = log_evidence(right, seed, "bridge")
    other = log_evidence(Problem(right.gram, y, Step()), seed, "billiard")
    with pytest.raises(AssertionError, match="errors apart"):
        assert_agree(one, other)


# -- spread ----------------------------------------------------------------------------------------------------------


def spread(problem, method, seed, scale=1.0, **settings):
    """Sum of squares about the mean of repeats, each in units of the error reported (times `scale`)."""
    estimates = [log_evidence(problem, [seed, k], method, **settings) for k in range(REPEATS)]
    values, errors = np.array([(e.value, e.se) for e in estimates]).T
    return np.square(values - values.mean()).sum() / np.mean(np.square(scale * errors))


def assert_spread(problems, method, seed, **settings):
    """Spread over reported error, pooled over problems, within 0.7..1.4."""
    squares = [spread(problem, method, seed, **settings) for problem in problems]
    ratios = np.sqrt(np.array(squares) / (REPEATS - 1))
    pooled = np.sqrt(np.mean(np.square(ratios)))
    assert 0.7 < pooled < 1.4, f"spread over error: {pooled:.2f}, one by one {ratios.round(2)}"


def test_the_rule_for_spreads_is_no_coin_flip():
    freedom = 3 * (REPEATS - 1)
    assert chi2.cdf(freedom * 0.7**2, freedom) + chi2.sf(freedom * 1.4**2, freedom) < 1e-3


@needs_data
@pytest.mark.parametrize("method", ["tilted", "bridge"])
def test_the_error_is_the_spread_on_usps(method, seed):
    assert_spread([real_problem("usps", size) for size in (50, 100, 200, 400)], method, seed, se=0.1)


@needs_data
def test_an_error_half_as_large_is_told(seed):
    with pytest.raises(AssertionError, match="spread over error"):
        assert_spread([real_problem("usps", size) for size in (50, 100, 200)], "bridge", seed, se=0.1, scale=0.5)


@needs_data
def test_the_error_of_walls_is_the_spread_on_usps(seed):
    """One problem at three accuracies: the error must scale, too."""
    squares = [spread(real_problem("usps", 50), "billiard", seed + k, se=se) for k, se in enumerate((0.3, 0.2, 0.1))]
    pooled = np.sqrt(np.sum(squares) / (3 * (REPEATS - 1)))
    assert 0.7 < pooled < 1.4


def test_the_error_of_walls_is_the_spread_on_a_teacher_of_ten_dimensions(seed):
    assert_spread([teacher(size) for size in (30, 60, 100)], "billiard", seed, se=0.2)
