import pickle
from itertools import pairwise

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import binom, binomtest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayespoint import BayesPointClassifier, RejectingClassifier, metrics
from bayespoint.exceptions import InferenceWarning, InvalidProblemError
from bayespoint.rejection import rows_needed, threshold_for_rate, threshold_for_risk


@pytest.fixture
def data(seed):
    return make_classification(
        600, 6, n_informative=4, n_redundant=0, n_classes=3, class_sep=2.0, flip_y=0.02, random_state=seed
    )


@pytest.fixture
def pair(seed):
    return make_classification(600, 5, n_informative=3, class_sep=1.5, flip_y=0.02, random_state=seed)


# -- thresholds ---------------------------------------------------------------------------------------------------


def by_hand(wrong, confidence, risk, delta):
    """The procedure in words, one row after the other, with the binomial tail of scipy.stats."""
    rows = sorted(zip(confidence, wrong, strict=True), key=lambda row: (-row[0], not row[1]))
    n = len(rows)
    starts = []
    for number in (3, 2, 1):
        first = next(m for m in range(1, 10**6) if (1 - risk) ** m <= delta / number)
        if first * 2 ** (number - 1) <= n:
            starts = [first * 2**i for i in range(number)]
            break
    level, best, alone = 0.0, 0, True
    for count in range(1, n + 1):
        if count in starts:
            alone = level == 0
            level += delta / len(starts)
        errors = sum(w for _, w in rows[:count])
        if level == 0 or binom.cdf(errors, count, risk) > level:
            level = 0.0
            continue
        whole = count == n or rows[count - 1][0] > rows[count][0]
        if whole and (not alone or count == n):
            best = count
        alone = False
    threshold = np.inf if best == 0 else -np.inf if best == n else rows[best][0]
    return threshold, best, sum(w for _, w in rows[:best])


@given(
    st.lists(st.tuples(st.sampled_from([False] * 12 + [True]), st.integers(0, 30)), min_size=1, max_size=120),
    st.sampled_from([0.05, 0.1, 0.2, 0.4]),
    st.sampled_from([0.05, 0.2, 0.5]),
)
def test_the_threshold_for_a_risk_step_by_step(rows, risk, delta):
    wrong, confidence = zip(*rows, strict=True)
    found = threshold_for_risk(wrong, confidence, risk=risk, delta=delta)
    assert found[:3] == by_hand(wrong, confidence, risk, delta)
    above = np.array(confidence) > found.threshold
    assert (above.sum(), np.sum(above & wrong)) == (found.accepted, found.errors)
    if found.accepted:
        upper = (
            binomtest(found.errors, found.accepted).proportion_ci(1 - 2 * delta, method="exact").high
            if delta < 0.5
            else 0
        )
        assert upper <= risk == found.bound


@pytest.mark.parametrize("ties", [False, True])
def test_more_errors_never_lower_the_threshold(ties, rng):
    confidence = rng.integers(0, 30, 400) if ties else rng.random(400)
    order = rng.permutation(400)
    wrong = np.zeros(400, dtype=bool)
    accepted = []
    for row in order[:60]:
        accepted.append(threshold_for_risk(wrong, confidence, risk=0.1).accepted)
        wrong[row] = True
    assert accepted[0] == 400
    assert all(a >= b for a, b in pairwise(accepted))
    assert accepted[-1] < 400


def test_the_order_of_rows_and_the_scale_of_confidence_do_not_matter(rng):
    confidence = rng.integers(0, 40, 1000).astype(float)
    wrong = rng.random(1000) < 0.5 * np.exp(-confidence / 8)
    found = threshold_for_risk(wrong, confidence, risk=0.1)
    shuffled = rng.permutation(1000)
    assert threshold_for_risk(wrong[shuffled], confidence[shuffled], risk=0.1) == found
    scaled = threshold_for_risk(wrong, np.exp(confidence), risk=0.1)
    assert scaled[1:] == found[1:]
    assert 0 < found.accepted < 1000


@pytest.mark.parametrize(("risk", "delta"), [(0.02, 0.05), (0.1, 0.01), (0.3, 0.3)])
def test_rows_needed(risk, delta):
    n = rows_needed(risk, delta)
    assert (1 - risk) ** n <= delta < (1 - risk) ** (n - 1)
    assert threshold_for_risk([False] * n, range(n), risk=risk, delta=delta) == (-np.inf, n, 0, risk)
    assert threshold_for_risk([False] * (n - 1), range(n - 1), risk=risk, delta=delta).threshold == np.inf


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 8)), min_size=1, max_size=60), st.floats(0, 0.99))
def test_the_threshold_for_a_rate_rejects_as_many_rows_as_fit(rows, rate):
    wrong, confidence = (np.array(column) for column in zip(*rows, strict=True))
    found = threshold_for_rate(wrong, confidence, rate=rate)
    above = confidence > found.threshold
    assert found.accepted == above.sum() > 0
    assert found.errors == np.sum(wrong & above)
    assert 1 - above.mean() <= rate + 1e-8
    next_one = confidence > confidence[above].min()
    assert 1 - next_one.mean() > rate - 1e-8  # one group more would be too much
    assert found.bound >= binomtest(int(found.errors), int(found.accepted)).proportion_ci(0.95, "exact").high - 1e-9


WORLDS = {  # error rate of slabs of confidence, from the top, and whether a slab is a single value
    "barely too much everywhere": ([0.31] * 4, False),
    "one value": ([0.31], True),
    "good, then bad": ([0.1, 0.6, 0.6, 0.6], False),
    "bad at the top": ([0.9, 0.1, 0.1, 0.9], False),
    "bad at the top, few values": ([0.9, 0.1, 0.1, 0.9], True),
    "up and down": ([0.29, 0.33, 0.26, 0.33], False),
    "up and down, few values": ([0.32, 0.29, 0.27, 0.35], True),
}
RISK, DELTA, SETS = 0.3, 0.2, 2000


def violations(method, rates, lumps, rng):
    """Share of data sets where the rows above the threshold have a larger error than promised; known exactly."""
    rates, k = np.array(rates), len(rates)
    failures = 0
    for _ in range(SETS):
        depth = k * rng.random(60)  # 0 is most confident
        wrong = rng.random(60) < rates[depth.astype(int)]
        found = method(wrong, -depth.astype(int) if lumps else -depth)
        if found.accepted:
            reached = -found.threshold if np.isfinite(found.threshold) else k
            mass = np.clip(reached - np.arange(k), 0, 1)
            failures += mass @ rates > found.bound * mass.sum() + 1e-12
    return failures / SETS


@pytest.mark.parametrize("world", WORLDS)
def test_the_guarantee_survives_the_choice_of_the_threshold(world, rng):
    tolerance = 3 * np.sqrt(DELTA * (1 - DELTA) / SETS)
    for method in (
        lambda wrong, confidence: threshold_for_risk(wrong, confidence, risk=RISK, delta=DELTA),
        lambda wrong, confidence: threshold_for_rate(wrong, confidence, rate=0.3, delta=DELTA),
    ):
        assert violations(method, *WORLDS[world], rng) <= DELTA + tolerance


def test_a_perfect_confidence_may_be_infinite():
    found = threshold_for_risk([False] * 90 + [True] * 30, [np.inf] * 90 + [0.0] * 30, risk=0.05)
    assert found == (0.0, 90, 0, 0.05)


def test_the_best_of_all_thresholds_without_paying_for_the_choice_fails(rng):
    """Every count that passes its own test, as if it were the only one."""

    def greedy(wrong, confidence):
        order = np.argsort(-confidence)
        errors, counts = np.cumsum(wrong[order]), np.arange(1, len(wrong) + 1)
        passed = np.flatnonzero(binom.cdf(errors, counts, RISK) <= DELTA)
        found = threshold_for_risk(wrong, confidence, risk=RISK, delta=DELTA)
        if not len(passed):
            return found._replace(accepted=0)
        kept = passed[-1] + 1
        return found._replace(
            threshold=confidence[order][kept] if kept < len(wrong) else -np.inf, accepted=kept, bound=RISK
        )

    assert violations(greedy, *WORLDS["barely too much everywhere"], rng) > DELTA + 0.05


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"risk": 0}, "risk must lie strictly between 0 and 1"),
        ({"risk": 1.5}, "risk must lie strictly between 0 and 1"),
        ({"risk": 0.1, "delta": 0}, "delta must lie strictly between 0 and 1"),
    ],
)
def test_bad_risks_are_refused(options, message):
    for call in (lambda: threshold_for_risk([False], [1.0], **options), lambda: rows_needed(**options)):
        with pytest.raises(InvalidProblemError, match=message):
            call()


def test_bad_rates_and_confidences_are_refused():
    for rate in (1, -0.1, "half"):
        with pytest.raises(InvalidProblemError, match="rate must be at least 0 and below 1"):
            threshold_for_rate([False], [1.0], rate=rate)
    with pytest.raises(InvalidProblemError, match="one confidence for each calibration row"):
        threshold_for_rate([False], [1.0, 2.0], rate=0.1)
    for value in (np.nan, -np.inf):
        with pytest.raises(InvalidProblemError, match="NaN or minus infinity"):
            threshold_for_rate([False], [value], rate=0.1)


# -- the classifier -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"rate": 0.2}, {"risk": 0.15}], ids=str)
def test_a_fitted_classifier_is_calibrated_on_the_rows_given(options, data):
    X, y = data
    inner = LogisticRegression().fit(X[:300], y[:300])
    model = RejectingClassifier(inner, calibration="prefit", **options).fit(X[300:], y[300:])
    wrong, confidence = inner.predict(X[300:]) != y[300:], inner.predict_proba(X[300:]).max(axis=1)
    method = threshold_for_rate if "rate" in options else threshold_for_risk
    expected = method(wrong, confidence, **options)
    assert model.estimator_ is inner
    assert (model.threshold_, model.risk_bound_) == (expected.threshold, expected.bound)
    assert model.coverage_ == expected.accepted / 300 == model.coverage(X[300:])
    assert model.calibration_error_ == expected.errors / expected.accepted
    assert model.coverage_ > 0
    accepted = confidence > expected.threshold
    np.testing.assert_array_equal(model.accepts(X[300:]), accepted)
    assert model.score(X[300:], y[300:]) == pytest.approx(1 - wrong[accepted].mean())
    np.testing.assert_array_equal(model.predict(X[300:]), np.where(accepted, inner.predict(X[300:]), -1))
    np.testing.assert_array_equal(model.predict_proba(X), inner.predict_proba(X))
    np.testing.assert_array_equal(model.decision_function(X), inner.decision_function(X))


def test_the_classifier_never_sees_the_calibration_rows(data):
    class Spy(LogisticRegression):
        def fit(self, X, y):
            self.seen_ = X
            return super().fit(X, y)

    X, y = data
    model = RejectingClassifier(Spy(), rate=0.1, calibration=0.3, random_state=0).fit(X, y)
    seen = (X[:, None] == model.estimator_.seen_).all(axis=2).any(axis=1)
    for label in range(3):
        assert np.mean(seen[y == label]) == pytest.approx(0.7, abs=0.005)
    rest = RejectingClassifier(model.estimator_, rate=0.1, calibration="prefit").fit(X[~seen], y[~seen])
    assert rest.threshold_ == model.threshold_
    assert rest.risk_bound_ == model.risk_bound_


def test_a_rare_class_stays_with_the_classifier(pair):
    X, y = pair
    y = np.append(y[:-1], 7)
    model = RejectingClassifier(LogisticRegression(), rate=0.1, calibration=0.9, random_state=0).fit(X, y)
    assert list(model.classes_) == [0, 1, 7]


@pytest.mark.parametrize("seeds", [(0, 0, 1)])
def test_the_random_state_makes_it_reproducible(seeds, data):
    first, second, other = (
        RejectingClassifier(LogisticRegression(), rate=0.2, random_state=s).fit(*data).threshold_ for s in seeds
    )
    assert first == second != other


def test_confidences(data, pair):
    for X, y in (data, pair):
        inner = LogisticRegression().fit(X, y)
        proba, scores = inner.predict_proba(X), inner.decision_function(X)
        ranked = np.sort(scores, axis=1) if scores.ndim == 2 else None
        expected = {
            "probability": [max(row) for row in proba],
            "entropy": [sum(p * np.log(p) for p in row) for row in proba],
            "decision": np.abs(scores) if ranked is None else ranked[:, -1] - ranked[:, -2],
        }
        for name, values in expected.items():
            model = RejectingClassifier(inner, rate=0.2, confidence=name, calibration="prefit").fit(X, y)
            np.testing.assert_allclose(model.confidence_scores(X), values)
            assert model.coverage_ == pytest.approx(0.8)
        own = RejectingClassifier(
            inner, rate=0.2, confidence=lambda fitted, Z: fitted.predict_proba(Z)[:, 0], calibration="prefit"
        )
        np.testing.assert_array_equal(own.fit(X, y).confidence_scores(X), proba[:, 0])


def test_the_rejection_curve_is_that_of_the_metrics(data):
    X, y = data
    model = RejectingClassifier(LogisticRegression(), rate=0.2, random_state=0).fit(X, y)
    curve = model.rejection_curve(X, y)
    expected = metrics.rejection_curve(y, model.estimator_.predict(X), model.predict_proba(X).max(axis=1))
    for found, value in zip(curve, expected, strict=True):
        np.testing.assert_array_equal(found, value)
    at = np.searchsorted(curve.threshold, model.threshold_, side="right")
    assert 1 - curve.rate[at] == pytest.approx(model.coverage(X))
    assert 1 - curve.error[at] == pytest.approx(model.score(X, y))


@pytest.mark.parametrize(
    ("labels", "reject_label", "expected", "kind"),
    [
        (np.array([0, 1]), None, -1, "i"),
        (np.array([1, 2], dtype=np.uint8), None, -1, "i"),
        (np.array([0.0, 1.0]), None, -1.0, "f"),
        (np.array(["a", "b"]), None, "rejected", "U"),
        (np.array(["a", "b"], dtype=object), None, "rejected", "O"),
        (np.array([-1, 1]), 0, 0, "i"),
        (np.array([-1, 1]), 1000, 1000, "i"),
        (np.array([-1, 1]), "unsure", "unsure", "O"),
        (np.array(["a", "b"]), -1, -1, "O"),
    ],
    ids=str,
)
def test_the_label_of_rejected_rows(labels, reject_label, expected, kind, pair):
    X, y = pair
    model = RejectingClassifier(LogisticRegression(), rate=0.3, reject_label=reject_label, random_state=0)
    model.fit(X, labels[y])
    predicted = model.predict(X)
    accepted = model.accepts(X)
    assert predicted.dtype.kind == kind
    assert model.reject_label_ == expected
    assert set(predicted[~accepted].tolist()) == {expected}
    np.testing.assert_array_equal(predicted[accepted], model.estimator_.predict(X)[accepted])
    assert list(model.classes_) == list(labels)


@pytest.mark.parametrize(("labels", "reject_label"), [([-1, 1], None), (["rejected", "b"], None), ([0, 1], 1)])
def test_a_class_is_no_label_of_rejected_rows(labels, reject_label, pair):
    X, y = pair
    with pytest.raises(InvalidProblemError, match=r"is one of the classes: set reject_label\.$"):
        RejectingClassifier(LogisticRegression(), rate=0.3, reject_label=reject_label).fit(X, np.array(labels)[y])


@pytest.mark.parametrize("risk", [0.0001, 0.01])
def test_a_risk_that_cannot_be_proven_rejects_everything(risk, rng):
    X, y = rng.normal(size=(800, 2)), rng.integers(0, 2, 800)
    reason = "at least 29956 calibration rows are needed" if risk < 0.001 else "too many errors"
    with pytest.warns(InferenceWarning, match=f"No threshold is proven .*{reason}.*: every row will be rejected"):
        model = RejectingClassifier(LogisticRegression(), risk=risk, random_state=0).fit(X, y)
    assert set(model.predict(X)) == {-1}
    assert (model.threshold_, model.coverage_, model.coverage(X)) == (np.inf, 0, 0)
    assert np.isnan([model.risk_bound_, model.calibration_error_]).all()
    with pytest.warns(InferenceWarning, match="No row is accepted"):
        assert np.isnan(model.score(X, y))


def test_an_easy_risk_rejects_nothing(data):
    X, y = data
    model = RejectingClassifier(LogisticRegression(), risk=0.5, random_state=0).fit(X, y)
    assert model.threshold_ == -np.inf
    assert model.coverage(X) == 1
    np.testing.assert_array_equal(model.predict(X), model.estimator_.predict(X))


def test_weights_of_the_score(data):
    X, y = data
    model = RejectingClassifier(LogisticRegression(), rate=0.2, random_state=0).fit(X, y)
    weight = np.arange(600) % 3
    rows = np.repeat(np.arange(600), weight)
    assert model.score(X, y, sample_weight=weight) == pytest.approx(model.score(X[rows], y[rows]))


# -- one estimator like any other ---------------------------------------------------------------------------------

CONFIGURATIONS = [
    RejectingClassifier(LogisticRegression(), rate=0.0),
    RejectingClassifier(LogisticRegression(), rate=0.05, reject_label=-7),
    RejectingClassifier(LogisticRegression(), risk=0.9, reject_label=-7),
]
EXPECTED = {
    (0.0, None): {"check_classifiers_classes": "-1 is a class there: asks for another label of rejected rows"},
    (0.05, None): {"check_classifiers_train": "the rejected rows count as errors there"},
    (None, 0.9): {"check_classifiers_one_label_sample_weights": "weights the only right rows out, then rejects all"},
}


def expected_failures(estimator):
    return EXPECTED[estimator.rate, estimator.risk]


@parametrize_with_checks(CONFIGURATIONS, expected_failed_checks=expected_failures)
@pytest.mark.filterwarnings("ignore:No threshold is proven:bayespoint.exceptions.InferenceWarning")
def test_scikit_learn_conformance(estimator, check):
    check(estimator)


def test_within_pipelines_searches_clones_and_pickles(data):
    X, y = data
    model = make_pipeline(StandardScaler(), RejectingClassifier(LogisticRegression(), rate=0.2, random_state=0))
    search = GridSearchCV(model, {"rejectingclassifier__estimator__C": [0.01, 1.0]}, cv=3, error_score="raise")
    search.fit(X, y)
    best = search.best_estimator_
    assert search.score(X, y) == best.score(X, y) > LogisticRegression().fit(X, y).score(X, y)
    copy = pickle.loads(pickle.dumps(best))
    np.testing.assert_array_equal(copy.predict(X), best.predict(X))
    again = clone(best)
    with pytest.raises(NotFittedError):
        again[-1].accepts(X)
    np.testing.assert_array_equal(again.fit(X, y).predict(X), best.predict(X))
    assert cross_val_score(model, X, y, cv=3).mean() > cross_val_score(model[-1].estimator, X, y, cv=3).mean()


def test_a_frozen_classifier_survives_a_clone(data):
    X, y = data
    model = RejectingClassifier(FrozenEstimator(LogisticRegression().fit(X[:300], y[:300])), rate=0.1)
    model.set_params(calibration="prefit")
    thresholds = [m.fit(X[300:], y[300:]).threshold_ for m in (model, clone(model))]
    assert thresholds[0] == thresholds[1]


def test_arguments_stay_as_they_were(data):
    inner = LogisticRegression()
    model = RejectingClassifier(inner, risk=0.3, random_state=0)
    before = model.get_params()
    model.fit(*data)
    assert model.get_params() == before
    assert not hasattr(inner, "coef_")


def test_weights_go_to_the_classifier_with_their_rows(pair):
    X, y = pair

    class Spy(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            self.pairs_ = np.column_stack([X[:, 0], sample_weight])
            return super().fit(X, y, sample_weight)

    def check(fitted):
        assert len(fitted.pairs_) == 300
        np.testing.assert_array_equal(fitted.pairs_[:, 1], 2 + np.tanh(fitted.pairs_[:, 0]))

    weight = 2 + np.tanh(X[:, 0])
    check(RejectingClassifier(Spy(), rate=0.1).fit(X, y, sample_weight=weight).estimator_)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = RejectingClassifier(Spy().set_fit_request(sample_weight=True), rate=0.1)
        check(asked.fit(X, y, sample_weight=weight).estimator_)
    fitted = LogisticRegression().fit(X, y)
    with pytest.raises(InvalidProblemError, match="takes no sample_weight"):
        RejectingClassifier(fitted, rate=0.1, calibration="prefit").fit(X, y, sample_weight=weight)


def test_frames_lists_and_sparse_rows(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    model = RejectingClassifier(LogisticRegression(), rate=0.2, random_state=0)
    expected = clone(model).fit(X, y).predict(X)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    for rows, labels in [(frame, pd.Series(y)), (X.tolist(), list(y)), (sparse.coo_array(X), y)]:
        fitted = clone(model).fit(rows, labels)
        np.testing.assert_array_equal(fitted.predict(rows), expected)
        assert fitted.n_features_in_ == 6
    assert list(model.fit(frame, y).feature_names_in_) == list("abcdef")


def test_a_precomputed_kernel_is_given_for_all_rows(pair):
    X, y = pair
    new = X[:50] + 0.01
    plain = RejectingClassifier(SVC(gamma=0.1), rate=0.2, confidence="decision", random_state=0).fit(X, y)
    model = RejectingClassifier(SVC(kernel="precomputed"), rate=0.2, confidence="decision", random_state=0)
    model.fit(rbf_kernel(X, gamma=0.1), y)
    np.testing.assert_array_equal(model.predict(rbf_kernel(new, X, gamma=0.1)), plain.predict(new))
    assert cross_val_score(model, rbf_kernel(X, gamma=0.1), y, cv=3, error_score="raise").mean() > 0.8


@pytest.mark.parametrize(
    "inner",
    [KNeighborsClassifier(15), BayesPointClassifier(optimizer=None)],
    ids=["neighbours", "bayes point"],
)
def test_other_classifiers(inner, pair):
    X, y = pair
    model = RejectingClassifier(inner, risk=0.1, random_state=0).fit(X[:400], y[:400])
    assert 0.3 < model.coverage(X[400:]) <= 1
    assert model.score(X[400:], y[400:]) > 0.85


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "Give either rate, .* or risk, .*: one of them"),
        ({"rate": 0.1, "risk": 0.1}, "Give either rate, .* or risk, .*: one of them"),
        ({"rate": 1.0}, "rate must be at least 0 and below 1"),
        ({"risk": 0.0}, "risk must lie strictly between 0 and 1"),
        ({"risk": 0.1, "delta": 1.0}, "delta must lie strictly between 0 and 1"),
        ({"rate": 0.1, "calibration": 1.0}, "calibration must be a share"),
        ({"rate": 0.1, "calibration": "none"}, "calibration must be a share"),
        ({"rate": 0.1, "calibration": 1e-6}, "leaves no row to set the threshold on"),
        ({"rate": 0.1, "confidence": "margin"}, "confidence must be one of 'probability', 'decision', 'entropy'"),
        ({"rate": 0.1, "confidence": lambda fitted, X: 1.0}, "one number for each row"),
    ],
)
def test_bad_settings_are_refused_with_one_sentence(options, message, pair):
    with pytest.raises(InvalidProblemError, match=message):
        RejectingClassifier(LogisticRegression(), **options).fit(*pair)


def test_a_confidence_that_the_classifier_does_not_have(pair):
    with pytest.raises(InvalidProblemError, match="needs predict_proba, which Perceptron lacks"):
        RejectingClassifier(Perceptron(), rate=0.1).fit(*pair)
    model = RejectingClassifier(Perceptron(), rate=0.1, confidence="decision").fit(*pair)
    assert not hasattr(model, "predict_proba")
    assert hasattr(model, "decision_function")


def test_an_unfitted_classifier_says_so(pair):
    X, y = pair
    model = RejectingClassifier(LogisticRegression(), rate=0.1)
    for call in (model.predict, model.accepts, model.predict_proba, model.coverage):
        with pytest.raises(NotFittedError):
            call(X)
    with pytest.raises(NotFittedError):
        model.set_params(calibration="prefit").fit(X, y)


def test_a_failed_fit_leaves_no_half_fitted_classifier(pair):
    X, y = pair
    model = RejectingClassifier(LogisticRegression(), rate=0.1, reject_label=1)
    with pytest.raises(InvalidProblemError):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
