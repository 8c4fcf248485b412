import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier
from bayespoint.engines import EP
from bayespoint.exceptions import EmptyVersionSpaceError, InvalidProblemError


def fixed(kernel=None, **options):
    return BayesPointClassifier(kernel, optimizer=None, **options)


def assert_same_predictions(a, b, X, tolerance=1e-8):
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=tolerance)


def test_two_different_classifiers_do_not_predict_the_same(blobs):
    X, y = blobs
    with pytest.raises(AssertionError):
        assert_same_predictions(fixed().fit(X, y), fixed(softness=1.01).fit(X, y), X)


# -- labels and probabilities -------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [[0, 1], [-1, 1], ["no", "yes"], [False, True], [2.0, 7.0], [0, 1, 2], list("abc")])
def test_the_prediction_is_the_most_probable_class_of_any_label_type(labels, triplets):
    X, y = triplets
    keep = y < len(labels)
    X, y = X[keep], np.array(labels)[y[keep]]
    model = fixed().fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, atol=1e-12)
    assert np.all((proba > 0) & (proba < 1))
    assert model.score(X, y) > 0.7
    assert model.loo_proba_.shape == proba.shape


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_follow_the_formula(classes, triplets):
    """``noise + (1 - 2 noise) Phi(mean / sqrt(variance + softness))`` for each class, made to add up to one."""
    X, y = (part[triplets[1] < classes] for part in triplets)
    model = fixed(noise=0.1, softness=0.5, decision="one-vs-rest").fit(X, y)
    mean, variance = model.latent(X)
    p = 0.1 + 0.8 * norm.cdf(mean / np.sqrt(variance + 0.5))
    expected = np.column_stack([1 - p, p]) if p.ndim == 1 else p / p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)


def test_scores_order_like_probabilities(blobs):
    X, y = blobs
    model = fixed(noise=0.1).fit(X, y)
    order = np.argsort(model.decision_function(X))
    assert np.all(np.diff(model.predict_proba(X)[order, 1]) >= -1e-15)
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
    mean, variance = model.latent(X)
    assert mean.shape == variance.shape == (40,)
    assert np.all(variance > 0)


def test_swapping_the_classes_swaps_the_columns(blobs):
    X, y = blobs
    a, b = fixed().fit(X, y), fixed().fit(X, 1 - y)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X)[:, ::-1], atol=1e-10)


def test_several_classes_share_one_kernel_chosen_by_the_sum_of_evidences(triplets):
    X, y = triplets
    model = BayesPointClassifier(None).fit(X, y)
    assert len(model.posterior_) == 3
    grams = [posterior.problem.dense for posterior in model.posterior_]
    np.testing.assert_array_equal(grams[0], grams[2])
    assert model.log_evidence_ == pytest.approx(sum(posterior.log_evidence for posterior in model.posterior_))
    again = [fixed(model.kernel_, bias=model.bias_).fit(X, y == c).log_evidence_ for c in range(3)]
    assert model.log_evidence_ == pytest.approx(sum(again), abs=1e-4)


def test_leave_one_out_probabilities_are_close_to_refitting(blobs):
    X, y = blobs
    model = fixed().fit(X, y)
    for i in range(0, 40, 5):
        rest = np.delete(np.arange(40), i)
        without = fixed(model.kernel_, bias=model.bias_).fit(X[rest], y[rest])
        np.testing.assert_allclose(model.loo_proba_[i], without.predict_proba(X[[i]])[0], atol=0.02)
    own = np.arange(40), y
    assert np.all(model.loo_proba_[own] < model.predict_proba(X)[own])


# -- weights ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [None, "linear", "precomputed"])
def test_rows_of_weight_zero_are_as_good_as_dropped(kernel, triplets, rng):
    X, y = triplets
    weight = rng.integers(0, 2, 45)
    keep = np.flatnonzero(weight)
    gram = rbf_kernel(X)
    inputs, kept_inputs, new, kept_new = (
        (gram, gram[np.ix_(keep, keep)], gram, gram[:, keep]) if kernel == "precomputed" else (X, X[keep], X, X)
    )
    weighted = fixed(kernel).fit(inputs, y, sample_weight=weight)
    dropped = fixed(kernel).fit(kept_inputs, y[keep])
    np.testing.assert_allclose(weighted.predict_proba(new), dropped.predict_proba(kept_new), atol=1e-10)
    np.testing.assert_allclose(weighted.loo_proba_[keep], dropped.loo_proba_, atol=1e-10)
    assert weighted.loo_proba_.shape == (45, 3)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_whole_weights_are_repeated_rows(noise, blobs, rng):
    X, y = blobs
    weight = rng.integers(1, 4, 40)
    engine = EP(tolerance=1e-10)
    weighted = fixed(noise=noise, engine=engine).fit(X, y, sample_weight=weight)
    repeated = fixed(noise=noise, engine=engine).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_same_predictions(weighted, repeated, X)
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, abs=1e-8)


def test_unit_weights_are_no_weights(blobs):
    X, y = blobs
    assert_same_predictions(fixed().fit(X, y, sample_weight=np.ones(40)), fixed().fit(X, y), X, 0)


def test_class_weights_multiply_the_weights_of_rows(blobs):
    X, y = blobs
    by_class = fixed(RBF(2.0), class_weight={0: 1, 1: 3}).fit(X, y)  # not of the spread of X, see test_weights
    by_row = fixed(RBF(2.0)).fit(X, y, sample_weight=np.where(y == 1, 3, 1))
    assert_same_predictions(by_class, by_row, X, 1e-12)
    few = np.r_[0:20, 20:25]
    plain, balanced = fixed().fit(X[few], y[few]), fixed(class_weight="balanced").fit(X[few], y[few])
    assert np.all(balanced.predict_proba(X)[:, 1] > plain.predict_proba(X)[:, 1])


# -- inputs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian", RBF(1.0), RBF([1.0, 2.0])], ids=str)
def test_sparse_inputs_are_dense_inputs(kernel, container, blobs):
    X, y = blobs
    a, b = fixed(kernel).fit(X, y), fixed(kernel).fit(container(X), y)
    assert_same_predictions(a, b, X, 1e-7)
    np.testing.assert_allclose(b.predict_proba(container(X)), a.predict_proba(X), atol=1e-7)


@pytest.mark.filterwarnings("ignore:Constant features:UserWarning")
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", 2.0 * RBF(1.0)], ids=str)
def test_sparse_rows_of_many_features_keep_their_probabilities(kernel, rng):
    X = sparse.random_array((30, 400), density=0.05, rng=rng, format="csr")
    y = (X[:, :200].sum(axis=1) > X[:, 200:].sum(axis=1)).astype(int)
    new = sparse.random_array((10, 400), density=0.05, rng=rng, format="csr")
    a, b = fixed(kernel).fit(X, y), fixed(kernel).fit(X.toarray(), y)
    np.testing.assert_allclose(a.predict_proba(new), b.predict_proba(new.toarray()), atol=1e-7)


def test_precomputed_and_callable_kernels_are_the_kernel_itself(blobs):
    X, y = blobs
    new = X[:7] + 0.1
    named = fixed(RBF(1.0)).fit(X, y)
    function = fixed(lambda X, Z: rbf_kernel(X, Z, gamma=0.5)).fit(X, y)
    precomputed = fixed("precomputed").fit(rbf_kernel(X, gamma=0.5), y)
    np.testing.assert_allclose(function.predict_proba(new), named.predict_proba(new), atol=1e-10)
    cross = rbf_kernel(new, X, gamma=0.5)
    np.testing.assert_allclose(precomputed.predict_proba(cross), named.predict_proba(new), atol=1e-10)


def test_feature_names_are_kept_and_checked(blobs):
    X, y = blobs
    frame = pd.DataFrame(X, columns=["length", "width"])
    model = fixed().fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == ["length", "width"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["width", "length"]])


def test_a_fitted_classifier_survives_pickling_and_cloning(blobs):
    X, y = blobs
    model = BayesPointClassifier(2.0 * RBF([1.0, 2.0]), random_state=0).fit(X, y)
    assert_same_predictions(pickle.loads(pickle.dumps(model)), model, X, 0)
    assert_same_predictions(clone(model).fit(X, y), model, X, 0)


def test_fitting_changes_no_constructor_argument(blobs):
    X, y = blobs
    kernel = 2.0 * RBF(1.0)
    model = BayesPointClassifier(kernel)
    before = repr(model.get_params())
    model.fit(X, y)
    assert repr(model.get_params()) == before
    assert model.kernel_ != kernel


# -- model --------------------------------------------------------------------------------------------------------


def test_a_hard_boundary_does_not_see_the_scale_of_the_kernel(rng):
    X = rng.normal(size=(25, 2))
    y = X[:, 0] > 0
    small, large = (fixed(scale * RBF(1.0), softness=0, bias=0).fit(X, y) for scale in (1e-3, 1e3))
    assert_same_predictions(small, large, X, 1e-5)
    np.testing.assert_array_equal(small.predict(X), y)


def test_tuning_raises_the_evidence(blobs):
    X, y = blobs
    tuned, given = BayesPointClassifier(None).fit(X, y), fixed().fit(X, y)
    assert tuned.log_evidence_ > given.log_evidence_
    assert given.bias_ == 1.0
    assert tuned.kernel_ != given.kernel_


@pytest.mark.parametrize("names", [("noise",), ("softness",), ("noise", "softness")])
def test_noise_and_softness_may_be_chosen_by_evidence(names, blobs):
    X, y = blobs
    y = y.copy()
    y[[0, 39]] = 1 - y[[0, 39]]
    kernel = RBF(1.0, "fixed")
    model = BayesPointClassifier(kernel, **dict.fromkeys(names, "evidence")).fit(X, y)
    start = {"noise": 0.05 if "noise" in names else 0.0, "softness": 1.0}
    assert model.log_evidence_ >= fixed(kernel, **start).fit(X, y).log_evidence_
    for name in {"noise", "softness"} - set(names):
        assert getattr(model.likelihood_, name) == start[name]


def test_a_bias_of_zero_stays_zero(blobs):
    X, y = blobs
    assert BayesPointClassifier("linear", bias=0).fit(X, y).bias_ == 0


def test_the_same_seed_gives_the_same_fit(blobs):
    X, y = blobs
    a, b = (BayesPointClassifier(None, random_state=3).fit(X, y) for _ in range(2))
    assert_same_predictions(a, b, X, 0)


def test_jobs_change_nothing(triplets):
    X, y = triplets
    assert_same_predictions(fixed(n_jobs=2).fit(X, y), fixed().fit(X, y), X, 1e-12)


# -- progress -----------------------------------------------------------------------------------------------------


class Recorder:
    """The smallest callback: remembers what it saw, and may ask to stop."""

    def __init__(self, stop_after=None):
        self.stop_after, self.events, self.fitted = stop_after, [], []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X, fitted_estimator):
        self.events.append(f"end {context.task_name}")
        self.fitted.append(fitted_estimator.predict_proba(X))
        return self.stop_after is not None and len(self.fitted) >= self.stop_after


def test_callbacks_follow_the_fit_and_see_a_fitted_estimator(blobs):
    X, y = blobs
    callback = pytest.importorskip("sklearn.callback", reason="came with scikit-learn 1.9")
    recorder = Recorder()
    assert isinstance(recorder, callback.FitCallback)
    model = BayesPointClassifier(None).set_callbacks(recorder).fit(X, y)
    assert recorder.events[:2] == ["setup", "begin fit"]
    assert recorder.events[-2:] == ["end fit", "teardown"]
    assert recorder.events.count("end evidence iteration") > 1
    assert all(proba.shape == (40, 2) for proba in recorder.fitted)
    np.testing.assert_array_equal(recorder.fitted[-1], model.predict_proba(X))


def test_a_callback_can_stop_the_fit_early(blobs):
    pytest.importorskip("sklearn.callback", reason="came with scikit-learn 1.9")
    X, y = blobs
    stopped = BayesPointClassifier(None, random_state=0).set_callbacks(Recorder(stop_after=1)).fit(X, y)
    full = BayesPointClassifier(None, random_state=0).fit(X, y)
    assert stopped.log_evidence_ < full.log_evidence_
    assert stopped.predict(X).shape == (40,)


# -- bad input ----------------------------------------------------------------------------------------------------


def test_predicting_before_fitting_is_refused(blobs):
    for method in ("predict", "predict_proba", "decision_function", "latent"):
        with pytest.raises(NotFittedError):
            getattr(BayesPointClassifier(None), method)(blobs[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": -0.1}, "noise must be at least 0 and below 0.5"),
        ({"noise": 0.5}, "noise must be at least 0 and below 0.5"),
        ({"noise": "much"}, "noise must be a number, or 'evidence' to have it chosen"),
        ({"softness": -1.0}, "softness must be a finite number of at least 0"),
        ({"softness": None}, "softness must be a number, or 'evidence'"),
        ({"bias": -1.0}, "bias must be a finite number of at least 0"),
        ({"bias": "large"}, "bias must be a finite number of at least 0"),
        ({"kernel": "sigmoid"}, "kernel must be 'rbf', 'linear'"),
        ({"engine": "guess"}, "engine must be one of"),
        (
            {"decision": "coin"},
            "decision must be 'bayes_point', 'joint', 'largest-mean', 'one-vs-rest' or 'vote', got 'coin'",
        ),
        ({"optimizer": "adam"}, "optimizer must be 'evidence', None or a function, got 'adam'"),
        pytest.param({"kernel": lambda X, Z: -X @ Z.T}, "kernel is not positive semi-definite", id="negative kernel"),
    ],
    ids=str,
)
def test_a_bad_option_is_refused_in_one_sentence(options, message, blobs):
    with pytest.raises(InvalidProblemError, match=message) as error:
        BayesPointClassifier(**options).fit(*blobs)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", [BayesPointClassifier, BayesianSVC, GaussianMarginClassifier])
def test_a_precomputed_kernel_has_no_landmarks(kind):
    gram, y = rbf_kernel(np.arange(8.0)[:, None]), np.arange(8) % 2
    with pytest.raises(InvalidProblemError, match="Landmarks need a kernel of inputs"):
        kind(kernel="precomputed", max_rank=3).fit(gram, y)


def with_entry(value):
    return lambda X, y: (np.where(np.arange(X.size).reshape(X.shape) == 5, value, X), y)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (with_entry(np.nan), "contains NaN"),
        (with_entry(np.inf), "contains infinity"),
        (with_entry(1e150), r"X has entries as large as 1e\+150, and kernels square them: rescale the features"),
        (lambda X, y: (X, np.zeros(40)), r"needs at least two classes, got 1 class \[0\.0\] in 40 of 40 rows"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: (X, y + 0.5 * X[:, 0]), "Unknown label type: continuous"),
        (lambda X, y: (X[:1], y[:1]), "needs at least two classes, got 1 class .* in 1 of 1 rows"),
        (lambda X, y: (np.ones((40, 2)), y), "All features are constant in the training rows"),
        (lambda X, y: (X[:0], y[:0]), "minimum of 1 is required"),
    ],
)
def test_bad_data_are_refused_in_one_sentence(spoil, message, blobs):
    with pytest.raises(ValueError, match=message):
        BayesPointClassifier("rbf").fit(*spoil(*blobs))


def test_weights_that_leave_one_class_are_refused(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match=r"needs at least two classes, got 1 class \[1\] in 20 of 40 rows"):
        BayesPointClassifier(None).fit(X, y, sample_weight=y)
    with pytest.raises(ValueError, match=r"got 0 class|[Zz]ero"):
        BayesPointClassifier(None).fit(X, y, sample_weight=0 * y)


def test_negative_weights_are_refused(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match=r"[Nn]egative values"):
        BayesPointClassifier(None).fit(X, y, sample_weight=-np.ones(40))


@pytest.mark.parametrize(
    ("gram", "message"),
    [
        (np.ones((2, 3)), r"must be a square matrix .* got \(2, 3\)"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "not positive semi-definite"),
        (np.array([[1.0, 0.5], [0.1, 1.0]]), "not symmetric"),
    ],
)
def test_a_bad_precomputed_kernel_is_refused(gram, message):
    with pytest.raises(ValueError, match=message):
        fixed("precomputed").fit(gram, [0, 1])


@pytest.mark.parametrize("optimizer", [None, "evidence"])
def test_an_empty_version_space_is_explained(optimizer):
    X, y = np.array([[-1.0], [0.5], [1.0]]), [1, 0, 1]
    hard = BayesPointClassifier("linear", softness=0, optimizer=optimizer)
    with pytest.raises(EmptyVersionSpaceError, match=r"no function of this kernel separates .* raise softness"):
        hard.fit(X, y)
    hard.set_params(noise=0.1).fit(X, y)


@pytest.mark.parametrize("optimizer", [None, "evidence"])
def test_duplicate_rows_with_both_labels_are_named(optimizer, blobs):
    X, y = blobs
    X = np.vstack([X, X[3]])
    with pytest.raises(EmptyVersionSpaceError, match="rows 3 and 40 are the same point with different labels"):
        BayesPointClassifier(None, softness=0, optimizer=optimizer).fit(X, np.r_[y, 1 - y[3]])


def test_a_constant_feature_is_mentioned_unless_it_drops_out(blobs):
    X, y = blobs
    with pytest.warns(UserWarning, match="Constant features .* column 2; consider dropping"):
        model = fixed("rbf").fit(np.c_[X, np.ones(40)], y)
    proba = model.predict_proba(np.c_[X, np.ones(40)])
    np.testing.assert_allclose(proba, fixed("rbf").fit(X, y).predict_proba(X), atol=1e-8)
    silent = fixed(None).fit(np.c_[X, np.ones(40)], y).predict_proba(np.c_[X, np.full(40, 7.0)])
    np.testing.assert_allclose(silent, fixed(None).fit(X, y).predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("softness", [0.0, 1.0])
def test_two_rows_are_enough(softness):
    model = BayesPointClassifier(None, softness=softness).fit([[0.0], [1.0]], ["a", "b"])
    assert list(model.predict([[-0.5], [1.5]])) == ["a", "b"]


@pytest.mark.parametrize(
    "spoil", [with_entry(np.inf), lambda X, y: (X, 0 * y), lambda X, y: (X[:, :1], y[:-1])], ids=["inf", "one", "short"]
)
def test_a_failed_refit_leaves_the_old_model_intact(spoil, blobs):
    X, y = blobs
    model = fixed().fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError):  # noqa: PT011
        model.fit(*spoil(X, y))
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_a_new_point_must_have_the_features_of_the_old_ones(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="expecting 2 features"):
        fixed().fit(X, y).predict(X[:, :1])


@pytest.mark.parametrize("estimator", [BayesPointClassifier, BayesianSVC, GaussianMarginClassifier])
def test_constructors_are_short(estimator):
    """At most ten parameters beside those that everybody knows from scikit-learn's machine."""
    known = set(inspect.signature(SVC).parameters)
    assert len(set(inspect.signature(estimator).parameters) - known) <= 10
