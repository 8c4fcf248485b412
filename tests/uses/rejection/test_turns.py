import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from bayespoint import BayesPointClassifier, RejectingClassifier
from bayespoint.exceptions import InvalidProblemError
from bayespoint.uses import threshold_for_risk
from bayespoint.uses.rejection._turns import calibration_parts

RISK, DELTA = 0.1, 0.05


def noisy(n, rng, classes=2):
    X = rng.normal(size=(n, 3))
    return X, np.digitize(X[:, 0] + 0.5 * rng.normal(size=n), [-0.5, 0.5][: classes - 1])


def both_turns(inner, X, y, seed, level):
    """Each half in turn, without a pilot, step by step."""
    order = np.random.default_rng(seed).permutation(len(y))
    halves = np.array_split(order, 2)
    found = []
    for rest, training in (halves, halves[::-1]):
        fitted = inner.fit(X[np.sort(training)], y[np.sort(training)])
        wrong, sure = fitted.predict(X[rest]) != y[rest], fitted.predict_proba(X[rest]).max(axis=1)
        found.append(threshold_for_risk(wrong, sure, risk=RISK, delta=level))
    return found


def test_the_turn_that_accepts_more_is_kept_at_half_of_delta(rng):
    seconds = 0
    for seed in range(6):
        X, y = noisy(400, rng)
        model = RejectingClassifier(LogisticRegression(), risk=RISK, delta=DELTA, pilot=None, random_state=seed).fit(
            X, y
        )
        first, second = both_turns(LogisticRegression(), X, y, seed, DELTA / 2)
        best = second if second.accepted > first.accepted else first
        assert (model.threshold_, model.coverage_) == (best.threshold, best.accepted / 200)
        seconds += best is second
        alone = RejectingClassifier(
            LogisticRegression(), risk=RISK, delta=DELTA, pilot=None, turns=1, random_state=seed
        )
        assert alone.fit(X, y).threshold_ == both_turns(LogisticRegression(), X, y, seed, DELTA)[0].threshold
    assert 0 < seconds < 6


@pytest.mark.parametrize(
    ("n", "share", "turns", "risk", "expected"),
    [
        (400, 0.5, 2, 0.1, 2),
        (401, 0.5, 2, 0.1, 2),
        (403, 0.5, 2, 0.1, 2),  # 202 rows each: one of them twice
        (400, 0.5, 5, 0.1, 2),
        (400, 0.2, 3, 0.1, 3),
        (400, 0.8, 2, 0.1, 1),
        (400, 0.5, 2, None, 1),
        (400, 0.25, 4, 0.03, 1),  # 99 rows would be needed for delta, 122 for a half of it
        (400, 0.25, 4, 0.04, 2),  # and here 74, 91, 101 and 108
    ],
)
def test_as_many_turns_as_have_rows_of_their_own_and_a_chance(n, share, turns, risk, expected, rng):
    parts = calibration_parts(n, share, turns, risk, DELTA, rng)
    assert len(parts) == expected
    assert all(part.sum() == round(share * n) for part in parts)
    assert np.sum(parts, axis=0).max() == 1 or n == 403


def test_a_turn_with_one_class_to_learn_from_is_left_out():
    """All rows of the second class are in one half: only the turn that is fitted on them can be had."""
    order = np.random.default_rng(0).permutation(200)
    X, y = np.arange(200.0)[:, None], np.zeros(200, dtype=int)
    y[order[100:104]] = 1
    swapped = RejectingClassifier(KNeighborsClassifier(1), risk=0.2, pilot=None, random_state=0).fit(X, y)
    assert set(swapped.estimator_.classes_) == {0, 1}
    assert swapped.coverage_ == 1.0
    y[order[100:104]], y[order[:4]] = 0, 1
    with pytest.raises(InvalidProblemError, match="All 100 rows that calibration leaves"):
        RejectingClassifier(KNeighborsClassifier(1), risk=0.2, pilot=None, turns=1, random_state=0).fit(X, y)


@pytest.mark.parametrize("turns", [0, 1.5, True, "two"])
def test_turns_are_a_number(turns, rng):
    with pytest.raises(InvalidProblemError, match="turns must be a number, at least 1"):
        RejectingClassifier(LogisticRegression(), risk=RISK, turns=turns).fit(*noisy(100, rng))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_second_opinion_is_the_mean_of_two_probabilities(classes, rng):
    X, y = noisy(400, rng, classes)
    names = np.array(["low", "middle", "top"])
    model = RejectingClassifier(LogisticRegression(), risk=0.3, confidence=GaussianNB(), random_state=0).fit(
        X, names[y]
    )
    first, second = model.estimator_, model.second_opinion_
    predicted = first.predict(X)
    p, q = ([row[list(one.classes_).index(label)] for row, label in zip(one.predict_proba(X), predicted, strict=True)]
            for one in (first, second))  # fmt: skip
    assert np.allclose(model.confidence_scores(X), (np.array(p) + q) / 2, rtol=1e-12)
    assert model.coverage_ > 0
    fits = {tuple(LogisticRegression().fit(X[half], names[y[half]]).coef_[0]): half for half in halves_of(400, 0)}
    training = fits[tuple(first.coef_[0])]
    assert np.allclose(second.theta_, GaussianNB().fit(X[training], names[y[training]]).theta_)


def halves_of(n, seed):
    return [np.sort(half) for half in np.array_split(np.random.default_rng(seed).permutation(n), 2)]


def test_a_second_opinion_knows_the_ranks_that_the_first_does_not(rng):
    """The classifier is right but has no idea when; only the second opinion's confidence proves anything."""
    X = rng.normal(size=(600, 2))
    y = np.where(rng.random(600) < 0.25 * (X[:, 1] > 0), X[:, 0] < 0, X[:, 0] > 0).astype(int)

    class Flat(LogisticRegression):
        def predict_proba(self, X):
            return np.where(super().predict_proba(X) > 0.5, 0.9, 0.1)

    options = {"risk": 0.06, "pilot": None, "random_state": 0}
    with pytest.warns(UserWarning, match="No threshold"):
        assert RejectingClassifier(Flat(), **options).fit(X, y).coverage_ == 0.0
    model = RejectingClassifier(Flat(), confidence=KNeighborsClassifier(25), **options).fit(X, y)
    assert model.coverage_ > 0.2


def test_pilots_with_a_second_opinion(rng):
    """Leave-one-out probabilities where they are known; else it is fitted on every fold as the classifier is."""
    X, y = noisy(300, rng)
    fits = []

    class Counting(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            fits.append(len(y))
            return super().fit(X, y, sample_weight)

    RejectingClassifier(LogisticRegression(), risk=0.2, confidence=Counting(), turns=1, random_state=0).fit(X, y)
    assert fits == [150] + [120] * 5
    machine = BayesPointClassifier("linear", optimizer=None)
    model = RejectingClassifier(LogisticRegression(), risk=0.2, confidence=machine, turns=1, random_state=0)
    training = halves_of(300, 0)[1]
    second = model.fit(X, y).second_opinion_
    wrong, ranks = model._cross_validated(X, y, training, second, {}, np.random.default_rng(1))
    fold = np.array_split(np.random.default_rng(1).permutation(training), 5)[0]
    others = np.setdiff1d(training, fold)
    first = LogisticRegression().fit(X[others], y[others])
    said, left = first.predict(X[fold]), second.loo_proba_[np.searchsorted(training, fold)]
    sure = (first.predict_proba(X[fold])[np.arange(30), said] + left[np.arange(30), said]) / 2
    assert np.array_equal(wrong[:30], said != y[fold])
    assert np.array_equal(ranks[:30], rankdata(sure) / 30)
    both = RejectingClassifier(machine, risk=0.2, confidence=machine, turns=1, random_state=0).fit(X, y)
    same = RejectingClassifier(machine, risk=0.2, turns=1, random_state=0).fit(X, y)
    assert np.allclose(both.confidence_scores(X), same.confidence_scores(X))
    assert both.coverage_ == same.coverage_  # the same opinion twice, leave-one-out pilots included


def test_second_opinions_of_other_kinds(rng):
    X, y = noisy(300, rng)
    plain = RejectingClassifier(LinearSVC(), risk=0.2, confidence=GaussianNB(), pilot=None, random_state=0).fit(X, y)
    labels = plain.estimator_.predict(X)
    assert np.allclose(plain.confidence_scores(X), plain.second_opinion_.predict_proba(X)[np.arange(300), labels])
    fitted, second = (
        LogisticRegression().fit(X[:100], y[:100]),
        GaussianNB().fit(X[:100], y[:100] + 1),
    )  # labels 1 and 2
    prefit = RejectingClassifier(FrozenEstimator(fitted), risk=0.2, confidence=second, calibration="prefit")
    sure = prefit.fit(X[100:], y[100:]).confidence_scores(X)
    zero = fitted.predict(X) == 0  # a class that the second opinion has never heard of
    assert prefit.second_opinion_ is second
    assert np.allclose(sure[zero], fitted.predict_proba(X)[zero, 0] / 2)
    for bad in (LinearSVC(), LogisticRegression):
        with pytest.raises(InvalidProblemError, match="second opinion must be a classifier with predict_proba"):
            RejectingClassifier(LogisticRegression(), risk=0.2, confidence=bad).fit(X, y)
