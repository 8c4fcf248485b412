import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, entropy
from sklearn.calibration import calibration_curve
from sklearn.metrics import log_loss

from bayespoint.exceptions import InvalidProblemError
from bayespoint.uses import (
    area_under_rejection_curve,
    expected_calibration_error,
    information_gain,
    rejection_curve,
    reliability_curve,
)

LABELS = {"numbers": [0, 1], "signs": [-1, 1], "words": ["no", "yes"], "objects": np.array(["no", "yes"], dtype=object)}


@pytest.fixture
def binary(rng):
    p = rng.random(200).round(2)  # with ties
    return (rng.random(200) < p).astype(int), p


@pytest.fixture
def several(rng):
    p = rng.dirichlet(np.ones(4), size=300)
    return np.array([rng.choice(4, p=row) for row in p]), p


outcomes = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=40)


# -- reliability --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
@pytest.mark.parametrize("n_bins", [1, 5, 15, 400])
def test_bins_are_those_of_scikit_learn(strategy, n_bins, binary):
    y, p = binary
    curve = reliability_curve(y, p, n_bins=n_bins, strategy=strategy)
    observed, predicted = calibration_curve(y, p, n_bins=n_bins, strategy=strategy)
    np.testing.assert_allclose(curve.observed, observed)
    np.testing.assert_allclose(curve.predicted, predicted)
    assert curve.count.sum() == 200
    assert np.all(curve.count > 0)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_limits_are_those_of_the_exact_binomial_test(level, binary):
    curve = reliability_curve(*binary, n_bins=40, level=level)
    hits = (curve.observed * curve.count).round().astype(int)
    assert {0, 1} <= set(curve.observed)  # the ends are met
    for k, n, low, high in zip(hits, curve.count, curve.low, curve.high, strict=True):
        expected = binomtest(int(k), int(n)).proportion_ci(level, method="exact")
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_several_classes_are_judged_by_the_most_probable_one(several):
    y, p = several
    curve = reliability_curve(y, p, n_bins=6, strategy="uniform")
    top, right = p.max(axis=1), p.argmax(axis=1) == y
    inside = [(top > a / 6) & (top <= (a + 1) / 6) for a in range(6)]
    inside = [rows for rows in inside if rows.any()]
    np.testing.assert_allclose(curve.predicted, [top[rows].mean() for rows in inside])
    np.testing.assert_allclose(curve.observed, [right[rows].mean() for rows in inside])
    np.testing.assert_array_equal(curve.count, [rows.sum() for rows in inside])


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_calibration_error_is_a_mean_over_bins(strategy, binary, several):
    for y, p in (binary, several):
        curve = reliability_curve(y, p, n_bins=7, strategy=strategy)
        gaps = np.repeat(np.abs(curve.observed - curve.predicted), curve.count)  # one entry a row
        found = [
            expected_calibration_error(y, p, n_bins=7, strategy=strategy, norm=norm) for norm in ("l1", "l2", "max")
        ]
        assert found == pytest.approx([gaps.mean(), np.sqrt(np.mean(gaps**2)), gaps.max()])
        assert found == sorted(found)


def test_overconfidence_is_seen(rng):
    p = rng.random(20000)
    y = rng.random(20000) < p
    sharp = p**3 / (p**3 + (1 - p) ** 3)
    assert expected_calibration_error(y, p) < 0.02 < 0.1 < expected_calibration_error(y, sharp)
    fair, bold = (reliability_curve(y, q, level=0.999) for q in (p, sharp))
    assert np.all((fair.low <= fair.predicted) & (fair.predicted <= fair.high))
    assert not np.all((bold.low <= bold.predicted) & (bold.predicted <= bold.high))


# -- rejection ----------------------------------------------------------------------------------------------------


@given(outcomes)
def test_the_rejection_curve_by_brute_force(rows):
    wrong, confidence = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    truth, guess = np.zeros(len(rows)), wrong.astype(float)
    curve = rejection_curve(truth, guess, confidence)
    assert list(curve.threshold) == sorted(set(confidence))
    for rate, error, threshold in zip(*curve, strict=True):
        kept = [w for w, c in rows if c >= threshold]
        assert rate == pytest.approx(1 - len(kept) / len(rows))
        assert error == pytest.approx(sum(kept) / len(kept))
    assert curve.rate[0] == 0
    assert curve.error[0] == wrong.mean()


@given(outcomes)
def test_the_area_by_brute_force(rows):
    """At each of many rates: reject whole groups while they fit, but never the last one."""
    wrong, confidence = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    n = len(rows)
    total = 0.0
    for k in range(n):  # between rates k / n and (k + 1) / n nothing changes
        fits = [t for t in set(confidence) if np.sum(confidence < t) <= k]
        total += wrong[confidence >= max(fits)].mean() / n
    area, perfect, random = (
        area_under_rejection_curve(np.zeros(n), wrong.astype(int), confidence, of=of)
        for of in ("confidence", "perfect", "random")
    )
    assert area == pytest.approx(total)
    assert random == pytest.approx(wrong.mean())
    ranked = area_under_rejection_curve(
        np.zeros(n), wrong.astype(int), np.where(wrong, -1.0, 1.0) * np.arange(1, n + 1)
    )
    assert perfect == pytest.approx(ranked)
    assert perfect <= min(area, random) + 1e-12


def test_without_ties_the_area_is_the_mean_over_all_counts(rng):
    wrong, confidence = rng.random(50) < 0.3, rng.normal(size=50)
    ranked = wrong[np.argsort(-confidence)]
    expected = np.mean([ranked[:k].mean() for k in range(1, 51)])
    assert area_under_rejection_curve(wrong, np.zeros(50, bool), confidence) == pytest.approx(expected)


def test_a_random_confidence_has_the_random_area_on_average(rng):
    wrong = np.arange(60) < 12
    areas = [area_under_rejection_curve(wrong, np.zeros(60, bool), rng.permutation(60)) for _ in range(2000)]
    expected = area_under_rejection_curve(wrong, np.zeros(60, bool), np.arange(60), of="random")
    assert abs(np.mean(areas) - expected) < 4 * np.std(areas) / np.sqrt(2000)
    assert abs(np.mean(areas) - expected * 1.1) > 4 * np.std(areas) / np.sqrt(2000)  # the check can fail


# -- information --------------------------------------------------------------------------------------------------


def test_information_is_entropy_minus_log_loss(binary, several, rng):
    for y, p in (binary, several):
        p = np.clip(p, 0.01, 0.99) if p.ndim == 1 else p
        weight = rng.random(len(y))
        for w in (None, weight):
            frequency = np.bincount(y, weights=w)
            expected = entropy(frequency, base=2) - log_loss(y, p, sample_weight=w) / np.log(2)
            assert information_gain(y, p, sample_weight=w) == pytest.approx(expected)


def test_whole_weights_are_copies(several, rng):
    y, p = several
    copies = rng.integers(0, 3, len(y))
    repeated = information_gain(np.repeat(y, copies), np.repeat(p, copies, axis=0))
    assert information_gain(y, p, sample_weight=copies) == pytest.approx(repeated)


def test_known_values_of_information():
    y = ["a", "b", "c", "c"]
    assert information_gain(y, np.eye(3)[[0, 1, 2, 2]]) == 1.5
    assert information_gain(y, np.tile([0.25, 0.25, 0.5], (4, 1))) == 0
    assert information_gain(y, np.eye(3)[[0, 1, 2, 0]]) == -np.inf
    assert information_gain(y, np.eye(3)[[0, 1, 2, 0]], sample_weight=[1, 1, 1, 0]) == pytest.approx(np.log2(3))


# -- what is accepted ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [expected_calibration_error, information_gain])
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
def test_labels_are_of_any_type_and_columns_in_any_order(metric, labels, binary):
    y, p = binary
    p = np.clip(p, 0.01, 0.99)
    labels = np.asarray(labels)
    expected = metric(y, p)
    both = np.column_stack([1 - p, p])
    assert metric(labels[y], p) == expected
    assert metric(list(labels[y]), both.tolist()) == pytest.approx(expected)
    assert metric(labels[y], both, classes=labels) == pytest.approx(expected)
    if metric is information_gain:
        assert metric(labels[y], both[:, ::-1], classes=labels[::-1]) == pytest.approx(expected)
    assert metric(labels[y], 1 - p, classes=labels[::-1]) == pytest.approx(metric(1 - y, 1 - p))


def test_a_class_that_did_not_come_true_needs_a_name():
    p = [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]
    with pytest.raises(InvalidProblemError, match="proba speaks of 3 classes and y_true of 2: pass classes"):
        information_gain(["b", "c"], p)
    assert information_gain(["b", "c"], p, classes=["a", "b", "c"]) == pytest.approx(1 + np.log2(0.03) / 2)
    assert reliability_curve([1, 1], [0.5, 0.7], classes=[0, 1]).observed.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("y", "p", "options", "message"),
    [
        ([0, 1], [0.5, 1.2], {}, "between 0 and 1"),
        ([0, 1], [0.5, np.nan], {}, "between 0 and 1"),
        ([0, 1], [[0.5, 0.4], [0.5, 0.5]], {}, "add up to 1"),
        ([0, 1], [[[0.5]], [[0.5]]], {}, "one or two dimensions"),
        ([0, 1], [0.5], {}, "inconsistent numbers of samples"),
        ([], [], {}, "at least one label"),
        ([0.0, np.nan], [0.5, 0.5], {}, "must not hold NaN"),
        ([0, 1], [0.5, 0.5], {"classes": [0, 0]}, "twice"),
        ([0, 1], [0.5, 0.5], {"classes": [0, 2]}, "which is not among classes"),
        ([0, 1], [0.5, 0.5], {"classes": [0, 1, 2]}, "speaks of 2 classes and classes of 3"),
        ([0, 1], [0.5, 0.5], {"n_bins": 0}, "n_bins"),
        ([0, 1], [0.5, 0.5], {"n_bins": 2.5}, "n_bins"),
        ([0, 1], [0.5, 0.5], {"strategy": "equal"}, "strategy must be 'quantile' or 'uniform'"),
    ],
)
def test_bad_input_is_refused_with_one_sentence(y, p, options, message):
    for metric in (reliability_curve, expected_calibration_error):
        with pytest.raises(ValueError, match=message):
            metric(y, p, **options)


def test_bad_options_are_refused_with_one_sentence():
    with pytest.raises(InvalidProblemError, match="level must lie"):
        reliability_curve([0, 1], [0.5, 0.5], level=1)
    with pytest.raises(InvalidProblemError, match="norm must be"):
        expected_calibration_error([0, 1], [0.5, 0.5], norm="l3")
    with pytest.raises(InvalidProblemError, match="of must be"):
        area_under_rejection_curve([0, 1], [0, 1], [1, 2], of="nobody")
    with pytest.raises(InvalidProblemError, match="confidence must not hold NaN"):
        rejection_curve([0, 1], [0, 1], [1, np.nan])
    with pytest.raises(ValueError, match="inconsistent numbers"):
        rejection_curve([0, 1], [0, 1], [1])
    with pytest.raises(ValueError, match="zero"):
        information_gain([0, 1], [0.5, 0.5], sample_weight=[0, 0])
