import pickle
import warnings

import numpy as np
import pytest
import sklearn
from scipy import sparse
from scipy.stats import binomtest, hypergeom
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayespoint import BayesPointClassifier, RejectingClassifier
from bayespoint.exceptions import InferenceWarning, InvalidProblemError
from bayespoint.uses import metrics
from bayespoint.uses.rejection import threshold_for_rate, threshold_for_risk
from witnesses import stratified


@pytest.fixture
def data(seed):
    return make_classification(
        600, 6, n_informative=4, n_redundant=0, n_classes=3, class_sep=2.0, flip_y=0.02, random_state=seed
    )


@pytest.fixture
def pair(seed):
    return make_classification(600, 5, n_informative=3, class_sep=1.5, flip_y=0.02, random_state=seed)


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
    assert seen.sum() == 0.7 * len(y)
    rest = RejectingClassifier(model.estimator_, rate=0.1, calibration="prefit").fit(X[~seen], y[~seen])
    assert rest.threshold_ == model.threshold_
    assert rest.risk_bound_ == model.risk_bound_


def test_calibration_rows_are_a_random_sample_whatever_their_labels():
    """Every row as often as any other, of a class of its own or not, and of a class as many as chance has it."""
    y = np.r_[np.zeros(20), np.ones(17), [2, 3, 4]]
    rows = np.arange(40.0)[:, None]
    drawn = []

    def confidence(fitted, X):
        drawn.append(np.isin(rows, X)[:, 0])
        return np.ones(len(X))

    model = RejectingClassifier(DummyClassifier(), rate=0.0, confidence=confidence, calibration=0.3)
    for seed in range(300):
        model.set_params(random_state=seed).fit(rows, y)
    drawn = np.array(drawn)
    assert (drawn.sum(axis=1) == 12).all()
    assert np.abs(drawn.mean(axis=0) - 0.3).max() < 4 * np.sqrt(0.3 * 0.7 / 300)
    chance = hypergeom(40, 20, 12)
    of_zero = drawn[:, :20].sum(axis=1)
    assert of_zero.mean() == pytest.approx(chance.mean(), abs=4 * chance.std() / np.sqrt(300))
    assert of_zero.std() == pytest.approx(chance.std(), rel=4 / np.sqrt(2 * 300))


@pytest.mark.filterwarnings("ignore:No threshold:bayespoint.exceptions.InferenceWarning")
def test_classes_of_one_row_do_not_break_the_promise(rng):
    """A tenth of the rows, wherever they are, have labels that nobody can know: accepting anything is wrong."""
    broken, control, easy = [], [], []
    for seed in range(12):
        y = rng.integers(0, 2, 300)
        X = rng.normal(size=(300, 2)) + 6 * y[:, None]
        y = np.where(rng.random(300) < 0.1, 2 + np.arange(300), y)
        inner, options = KNeighborsClassifier(15), {"confidence": lambda fitted, X: np.abs(X.sum(axis=1) - 6)}
        model = RejectingClassifier(inner, risk=0.05, delta=0.05, random_state=seed, **options)
        broken.append(model.fit(X, y).coverage_ > 0)
        easy.append(model.set_params(risk=0.3).fit(X, y).coverage_)
        control.append(stratified(inner, X, y, rng, risk=0.05, **options).coverage_ > 0)
    assert binomtest(sum(broken), 12, 0.05, alternative="greater").pvalue > 1e-3
    assert sum(control) == 12
    assert np.mean(easy) > 0.5  # not by rejecting whatever comes


@pytest.fixture
def known_in_part(rng):
    """Four classes in the plane, of which the last two have a single row; the classifier knows two, three or four."""
    y = np.array([5, 7] * 19 + [6, 9])
    X = rng.normal(size=(40, 2)) + 4 * np.eye(4)[y - 5 - (y == 9)][:, :2]
    return X, y


def fit_that_knows(n_classes, model, X, y):
    for seed in range(100):
        fitted = clone(model).set_params(random_state=seed).fit(X, y)
        if len(fitted.estimator_.classes_) == n_classes:
            return fitted
    raise AssertionError("no such split")


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_classes_that_only_calibration_rows_have(n_classes, known_in_part):
    X, y = known_in_part
    model = fit_that_knows(n_classes, RejectingClassifier(LogisticRegression(), rate=0.2), X, y)
    known = np.isin([5, 6, 7, 9], model.estimator_.classes_)
    np.testing.assert_array_equal(model.classes_, [5, 6, 7, 9])
    proba, scores = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_array_equal(proba[:, known], model.estimator_.predict_proba(X))
    assert (proba[:, ~known] == 0).all()
    assert scores.shape == (40, 4)
    assert (scores[:, ~known] == np.finfo(float).min).all()
    for values in (proba, scores):
        np.testing.assert_array_equal(model.classes_[values.argmax(axis=1)], model.estimator_.predict(X))
    inner = model.estimator_.decision_function(X)
    np.testing.assert_array_equal(scores[:, known][:, -1], inner if inner.ndim == 1 else inner[:, -1])
    wrong = model.estimator_.predict(X) != y
    assert wrong[~np.isin(y, model.estimator_.classes_)].all()  # errors, and counted as such
    accepted = model.accepts(X)
    assert model.score(X, y) == pytest.approx(1 - wrong[accepted].mean())
    assert not hasattr(model, "predict_log_proba")


def test_a_fitted_classifier_may_meet_new_classes(known_in_part):
    X, y = known_in_part
    inner = LogisticRegression().fit(X[:20], y[:20])
    model = RejectingClassifier(inner, rate=0.0, calibration="prefit").fit(X, y)
    assert model.calibration_error_ == np.mean(inner.predict(X) != y) >= 2 / 40
    assert list(model.classes_) == [5, 6, 7, 9]
    assert model.predict_proba(X).shape == (40, 4)
    with pytest.raises(InvalidProblemError, match="9 of rejected rows is one of the classes"):
        model.set_params(reject_label=9).fit(X, y)
    with pytest.raises(InvalidProblemError, match="7 of rejected rows is one of the classes"):
        model.set_params(reject_label=7).fit(X[y == 5], y[y == 5])  # only the classifier has it
    with pytest.raises(InvalidProblemError, match="knows labels such as 5 and y has '5': give words or numbers"):
        model.set_params(reject_label=None).fit(X, y.astype(str))


def test_scores_that_are_not_one_for_each_class(known_in_part):
    X, y = known_in_part
    inner = SVC(decision_function_shape="ovo")
    pairs = RejectingClassifier(inner, rate=0.2, confidence=lambda fitted, X: np.ones(len(X)))
    assert fit_that_knows(4, pairs, X, y).decision_function(X).shape == (40, 6)
    # three classes have three pairs: the columns cannot be told from scores of classes
    X, y = np.r_[X, X[38:]], np.r_[y, [8, 4]]
    with pytest.raises(InvalidProblemError, match=r"6 scores for the 4 classes .* all 6 classes: ask estimator_"):
        fit_that_knows(4, pairs, X, y).decision_function(X)


def test_cross_validation_with_classes_of_one_row(known_in_part):
    X, y = known_in_part
    model = RejectingClassifier(KNeighborsClassifier(3), rate=0.2, random_state=0)
    folds = KFold(4, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Number of classes in training fold", RuntimeWarning)
        proba = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
    assert proba.shape == (40, 4)
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_a_single_class_left_to_the_classifier_is_refused(rng):
    X = rng.normal(size=(40, 2))
    y = np.array(["common"] * 39 + ["rare"])

    class Spy(LogisticRegression):
        def fit(self, X, y):
            assert len(np.unique(y)) > 1
            return super().fit(X, y)

    outcomes = []
    for seed in range(20):
        try:
            RejectingClassifier(Spy(), rate=0.1, random_state=seed).fit(X, y)
        except InvalidProblemError as error:
            outcomes.append(str(error))
    sentence = (
        "All 20 rows that calibration leaves to the classifier are of class 'common': give more rows of the others, "
        "or a smaller share to calibration."
    )
    assert set(outcomes) == {sentence}
    assert 2 < len(outcomes) < 18
    alone = RejectingClassifier(KNeighborsClassifier(), rate=0.1).fit(X, ["one"] * 40)  # nothing else was to be had
    assert list(alone.classes_) == ["one"]


@pytest.mark.parametrize(
    ("n", "share", "count"), [(2, 0.5, 1), (2, 0.99, 1), (3, 0.99, 2), (10, 0.25, 2), (11, 0.1, 1)]
)
def test_few_rows_leave_one_to_each_part(n, share, count):
    X = np.arange(n)[:, None]
    model = RejectingClassifier(KNeighborsClassifier(1), rate=0.0, calibration=share).fit(X, np.zeros(n))
    assert model.estimator_.n_samples_fit_ == n - count


def test_settings_are_refused_before_the_work(pair):
    class Never(LogisticRegression):
        def fit(self, X, y):
            raise AssertionError("fitted in vain")

    for options in ({"rate": 1.0}, {"risk": 0.0}, {"risk": 0.1, "delta": 1.0}, {"rate": 0.1, "reject_label": 1}):
        with pytest.raises(InvalidProblemError):
            RejectingClassifier(Never(), **options).fit(*pair)
    with pytest.raises(InvalidProblemError, match="confidence must be one of"):
        RejectingClassifier(Never(), rate=0.1, confidence="luck").fit(*pair)


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
    RejectingClassifier(LogisticRegression(), rate=0.0, calibration=0.3),  # two classes of the smallest data sets
    RejectingClassifier(LogisticRegression(), rate=0.05, calibration=0.3, reject_label=-7),
    RejectingClassifier(LogisticRegression(), risk=0.9, calibration=0.3, reject_label=-7),
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
    [KNeighborsClassifier(15), BayesPointClassifier(None, optimizer=None)],
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
        (
            {"rate": 0.1, "confidence": "luck"},
            "confidence must be one of 'probability', 'margin'",
        ),
        ({"risk": 0.1, "pilot": 1}, "pilot must be a number of folds"),
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
