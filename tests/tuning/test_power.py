"""One power of the class probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from bayespoint import BayesPointClassifier
from bayespoint.tuning import power_of, to_the_power
from bayespoint.tuning.calibration import _SPREAD


def labelled(rng, n, power, noise=0.0):
    """Probabilities of three classes, and labels drawn from these to a power."""
    logits = 6 * rng.standard_normal((n, 3))
    proba = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    drawn = to_the_power(proba, power)
    y = (drawn.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return proba, np.where(rng.random(n) < noise, rng.integers(0, 3, n), y)


def test_a_power_is_what_it_says():
    proba = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5]])
    np.testing.assert_allclose(to_the_power(proba, 2.0)[0], np.array([0.49, 0.04, 0.01]) / 0.54, rtol=1e-12)
    np.testing.assert_allclose(to_the_power(proba, 2.0)[1], [0.0, 0.5, 0.5])
    assert to_the_power(proba, 1.0) is proba
    odds = np.array([[expit(-700.0), expit(700.0)]])  # beyond what a square can hold
    assert np.isfinite(to_the_power(odds, 3.0)).all()


@pytest.mark.parametrize("power", [0.6, 1.8])
def test_the_power_behind_the_labels_is_found(rng, power):
    proba, y = labelled(rng, 4000, power)
    assert power_of(proba, y) == pytest.approx(power, rel=0.1)


def test_the_power_is_the_likeliest_under_its_prior():
    """All of a hundred labels are the likelier one: log loss and prior of the log power on a grid, by hand."""
    t = np.linspace(-2.0, 2.0, 400_001)
    cost = 100 * np.log1p((1 / 9) ** np.exp(t)) + 0.5 * np.square(t / _SPREAD)
    found = power_of(np.full((100, 2), [0.9, 0.1]), np.zeros(100, dtype=int))
    assert np.log(found) == pytest.approx(t[cost.argmin()], abs=1e-4)


@pytest.mark.parametrize(("label", "end"), [(0, 2.0), (1, -2.0)])
def test_powers_have_their_bounds(label, end):
    proba = np.full((10_000, 2), [0.6, 0.4])
    assert np.log(power_of(proba, np.full(10_000, label))) == pytest.approx(end, abs=1e-3)


def test_there_is_none_where_there_is_none_or_little_to_say_so(rng):
    proba, y = labelled(rng, 4000, 1.0)
    assert power_of(proba, y) == 1.0
    proba, y = labelled(rng, 15, 1.5)
    assert power_of(proba, y) == 1.0


def test_it_has_to_pay_the_more_the_more_there_is_to_explain(rng):
    """The same gain counts where labels are clear and not where much is left open."""
    clear = np.full((200, 2), [0.95, 0.05])
    vague = np.r_[clear, np.full((1000, 2), 0.5)]  # no power changes what these say
    y, more = np.zeros(200, dtype=int), np.zeros(1200, dtype=int)
    assert power_of(clear, y) > 1.0
    assert power_of(vague, more) == 1.0


def test_weights_are_copies(rng):
    proba, y = labelled(rng, 500, 1.6)
    times = rng.integers(1, 4, 500)
    copies = power_of(np.repeat(proba, times, axis=0), np.repeat(y, times))
    assert power_of(proba, y, times.astype(float)) == pytest.approx(copies, rel=1e-6)


def test_probabilities_of_labels_without_noise_become_surer(rng):
    X, new = rng.standard_normal((700, 2)), rng.standard_normal((500, 2))
    y = np.sin(1.5 * X[:, 0]) * np.sin(1.5 * X[:, 1]) > 0
    plain, sure = (BayesPointClassifier("rbf", calibration=which).fit(X, y) for which in (None, "loo"))
    assert plain.calibration_ == 1.0
    assert sure.calibration_ > 1.0
    np.testing.assert_allclose(
        sure.predict_proba(new), to_the_power(plain.predict_proba(new), sure.calibration_), rtol=1e-9, atol=1e-300
    )
    np.testing.assert_array_equal(sure.predict(new), plain.predict(new))
    np.testing.assert_allclose(sure.loo_proba_, to_the_power(plain.loo_proba_, sure.calibration_), rtol=1e-9)


@pytest.mark.parametrize("settings", [{"optimizer": None}, {"class_weight": "balanced"}])
def test_what_is_not_chosen_by_the_labels_has_no_power(rng, settings):
    X = rng.standard_normal((120, 2))
    assert BayesPointClassifier("rbf", **settings).fit(X, X[:, 0] > X[:, 1]).calibration_ == 1.0


def test_an_unknown_way_is_refused():
    with pytest.raises(ValueError, match=r"^calibration must be 'loo' or None, got 'isotonic'\.$"):
        BayesPointClassifier(calibration="isotonic").fit([[0.0], [1.0]], [0, 1])


def test_a_great_power_of_small_probabilities_is_still_one():
    np.testing.assert_allclose(to_the_power(np.full((1, 1000), 1e-3), 300.0), 1e-3)
