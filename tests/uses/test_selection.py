from functools import partial

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process.kernels import RBF
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer, StandardScaler, scale
from sklearn.svm import SVC

from bayespoint import BayesPointClassifier, bounds
from bayespoint.bounds import binomial_bound
from bayespoint.engines import Billiard
from bayespoint.exceptions import InvalidProblemError
from bayespoint.uses import selection
from bayespoint.uses.selection import BoundSearch

KERNEL = 4.0 * RBF(1.5)
GRID = {"kernel": [4.0 * RBF(scale) for scale in (0.2, 1.0, 5.0)], "noise": [0.0, 0.1]}


certify = partial(selection.certify, method="pac-bayes")


def fixed(kernel=KERNEL, **options):
    return BayesPointClassifier(kernel, optimizer=None, **options)


def part_of(n, fraction, seed):
    """The rows that a prior is learned on."""
    return np.sort(np.random.default_rng(seed).permutation(n)[: round(fraction * n)])


def figures(certificate):
    return certificate.bayes_point, certificate.gibbs, certificate.n, certificate.delta, certificate.basis


# -- certify ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0.3, 0.5])
@pytest.mark.parametrize("classifier", [fixed(), BayesPointClassifier(None)], ids=["fixed", "tuned"])
def test_a_pipeline_learns_its_preprocessing_on_the_prior_rows(classifier, fraction, blobs):
    X, y = blobs
    X = X * [3.0, 100.0] + 7
    rows = part_of(40, fraction, 5)
    pipeline = make_pipeline(StandardScaler(), classifier)
    certificate = certify(pipeline, X, y, prior_fraction=fraction, random_state=5)
    scaler, model = certificate.classifier[0], certificate.classifier[-1]
    np.testing.assert_allclose(scaler.mean_, X[rows].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scaler.scale_, X[rows].std(axis=0), rtol=1e-12)
    scaled = scaler.transform(X)
    part = clone(classifier).fit(scaled[rows], y[rows])
    np.testing.assert_allclose(model.kernel_.theta, part.kernel_.theta, atol=1e-6)
    expected = bounds.certify([model.posterior_], priors=[part.posterior_], prior_rows=rows)
    assert certificate.bayes_point.value == pytest.approx(expected.bayes_point.value, rel=1e-6)
    assert certificate.n == 40 - len(rows)
    whole = fixed(model.kernel_, bias=model.bias_).fit(scaled, y)
    np.testing.assert_allclose(certificate.classifier.predict_proba(X), whole.predict_proba(scaled), atol=1e-6)
    assert isinstance(certificate.classifier, Pipeline)
    assert [name for name, _ in certificate.classifier.steps] == [name for name, _ in pipeline.steps]


def test_what_is_handed_in_stays_as_it_was(blobs):
    X, y = blobs
    pipeline = make_pipeline(StandardScaler(), BayesPointClassifier(None))
    before = X.copy()
    certify(pipeline, X, y, random_state=0)
    assert not hasattr(pipeline[0], "mean_")
    assert not hasattr(pipeline[-1], "posterior_")
    assert pipeline[-1].optimizer == "evidence"
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("classifier", [fixed(), BayesPointClassifier(None)], ids=["fixed", "tuned"])
def test_a_classifier_alone_is_certified_as_by_its_own_method(classifier, blobs):
    X, y = blobs
    alone = certify(classifier, X, y, delta=0.1, prior_fraction=0.4, random_state=3)
    own = clone(classifier).set_params(random_state=3).fit(X, y).certificate(0.1, prior_fraction=0.4)
    assert alone.bayes_point.value == pytest.approx(own.bayes_point.value, rel=1e-9)
    assert (alone.n, alone.delta, alone.basis) == (own.n, own.delta, own.basis)
    np.testing.assert_allclose(alone.classifier.predict_proba(X), own.classifier.predict_proba(X), atol=1e-9)
    assert alone.classifier.optimizer == classifier.optimizer


def test_the_random_state_makes_it_reproducible(blobs):
    X, y = blobs
    pipeline = make_pipeline(StandardScaler(), fixed())
    first, second, other = (certify(pipeline, X, y, random_state=seed) for seed in (1, 1, 2))
    assert figures(first) == figures(second)
    np.testing.assert_array_equal(first.classifier.predict_proba(X), second.classifier.predict_proba(X))
    assert first.gibbs != other.gibbs


def test_a_fixed_prior_needs_no_rows(blobs):
    X, y = blobs
    assert figures(certify(fixed(), X, y, prior_fraction=0)) == figures(fixed().fit(X, y).certificate())


def test_a_test_set_goes_through_the_pipeline(blobs, rng):
    X, y = blobs
    new = rng.normal(size=(30, 2)) + 0.6
    labels = rng.integers(0, 2, 30)
    pipeline = make_pipeline(StandardScaler(), fixed())
    certificate = certify(pipeline, X, y, delta=0.2, X_test=new, y_test=labels, random_state=0)
    errors = int(np.sum(certificate.classifier.predict(new) != labels))
    assert certificate.held_out == binomial_bound(errors, 30, 0.2)
    with pytest.raises(InvalidProblemError, match="needs both X_test and y_test"):
        certify(pipeline, X, y, X_test=new)


def test_frames_and_lists_are_the_same_rows(blobs):
    pd = pytest.importorskip("pandas")
    X, y = blobs
    labels = np.array(["no", "yes"])[y]
    pipeline = make_pipeline(StandardScaler(), fixed())
    plain = certify(pipeline, X, labels, random_state=0)
    shuffled = np.random.default_rng(1).permutation(40)
    frame = pd.DataFrame(X, columns=["length", "width"], index=shuffled)
    series = pd.Series(labels, index=shuffled)
    for table, column in [(frame, series), (X.tolist(), list(labels))]:
        certificate = certify(pipeline, table, column, random_state=0)
        assert certificate.bayes_point.value == pytest.approx(plain.bayes_point.value, rel=1e-9)
        np.testing.assert_array_equal(certificate.classifier.predict(table), plain.classifier.predict(X))
    assert list(certify(pipeline, frame, series).classifier[0].feature_names_in_) == ["length", "width"]


def test_steps_that_look_at_labels_see_those_of_the_prior_rows(rng):
    X, y = rng.normal(size=(60, 6)), rng.integers(0, 2, 60)
    rows = part_of(60, 0.5, 0)
    pipeline = make_pipeline(StandardScaler(), SelectKBest(k=2), PCA(1), fixed())
    certificate = certify(pipeline, X, y, random_state=0)
    scaled = StandardScaler().fit(X[rows]).transform(X)
    expected = SelectKBest(k=2).fit(scaled[rows], y[rows])
    np.testing.assert_allclose(certificate.classifier[1].scores_, expected.scores_)
    assert certificate.classifier.predict(X).shape == (60,)


@pytest.mark.filterwarnings("ignore:Constant features:UserWarning")
def test_several_classes_and_sparse_rows(triplets):
    X, y = triplets
    pipeline = make_pipeline(StandardScaler(with_mean=False), BayesPointClassifier(None))
    plain, compressed = (certify(pipeline, rows, y, random_state=0) for rows in (X, sparse.csr_array(X)))
    assert compressed.bayes_point.value == pytest.approx(plain.bayes_point.value, rel=1e-4)
    assert "the sum over 3 classes" in plain.basis
    assert np.mean(plain.classifier.predict(X) == y) > 0.7


@pytest.mark.parametrize("estimator", [LogisticRegression(), SVC(), make_pipeline(StandardScaler(), SVC())], ids=str)
def test_other_classifiers_have_no_certificate(estimator, blobs):
    with pytest.raises(InvalidProblemError, match=r"^\w+ has no certificate: use BayesPoint.* or GaussianMargin.*\.$"):
        certify(estimator, *blobs)


def test_draws_are_refused(blobs):
    with pytest.raises(InvalidProblemError, match="needs Gaussian posteriors: use engine='ep'"):
        certify(fixed(engine=Billiard(draws=500)), *blobs, random_state=0)


def test_a_fixed_prior_does_not_go_with_preprocessing(blobs):
    with pytest.raises(InvalidProblemError, match=r"the step 'standardscaler' .* learns from the rows .*\.$"):
        certify(make_pipeline(StandardScaler(), fixed()), *blobs, prior_fraction=0)


@pytest.mark.parametrize(
    "step",
    [Normalizer(), FunctionTransformer(np.tanh), make_pipeline(Binarizer(), Normalizer()), "passthrough"],
    ids=["normalizer", "function", "pipeline", "passthrough"],
)
def test_steps_with_nothing_to_learn_go_with_a_fixed_prior(step, blobs):
    """Once wrong: a pipeline was refused whatever its steps were."""
    X, y = blobs
    certificate = certify(make_pipeline(step, fixed()), X, y, prior_fraction=0)
    transformed = X if step == "passthrough" else step.transform(X)
    alone = fixed().fit(transformed, y)
    assert figures(certificate) == figures(alone.certificate(trust_inputs=True))
    np.testing.assert_array_equal(certificate.classifier.predict(X), alone.predict(transformed))


@pytest.mark.parametrize("step", [SelectKBest(k=1), PCA(2), make_pipeline(Normalizer(), StandardScaler())], ids=str)
def test_every_step_is_looked_at(step, blobs):
    with pytest.raises(InvalidProblemError, match=r"the step 'judged' of the pipeline learns from the rows .*\.$"):
        certify(Pipeline([("norm", Normalizer()), ("judged", step), ("last", fixed())]), *blobs, prior_fraction=0)


def test_inputs_of_a_pipeline_must_be_as_drawn_too(blobs):
    """Once wrong: what was learned before the pipeline went unnoticed."""
    X, y = blobs
    scaled, pipeline = StandardScaler().fit_transform(X), make_pipeline(Normalizer(), fixed())
    for fraction in (0, 0.5):
        with pytest.raises(InvalidProblemError, match="preprocessing was learned from these very rows"):
            certify(pipeline, scaled, y, prior_fraction=fraction, random_state=0)
        assert certify(pipeline, scaled, y, prior_fraction=fraction, random_state=0, trust_inputs=True)
    with pytest.raises(InvalidProblemError, match="preprocessing was learned from these very rows"):
        BoundSearch(pipeline, {"bayespointclassifier__noise": [0.0]}).fit(scaled, y)
    assert BoundSearch(pipeline, {"bayespointclassifier__noise": [0.0]}, trust_inputs=True).fit(scaled, y)


def test_missing_values_are_for_the_pipeline_to_fill_in(rng):
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    X[rng.random((60, 3)) < 0.2] = np.nan
    pipeline = make_pipeline(SimpleImputer(), fixed())
    assert certify(pipeline, X, y, random_state=0).n == 30
    X[:, 1:] = StandardScaler().fit_transform(np.nan_to_num(X[:, 1:]))
    with pytest.raises(InvalidProblemError, match="preprocessing was learned from these very rows"):
        certify(pipeline, X, y, random_state=0)


def test_steps_fitted_beforehand_are_refused(blobs):
    """Once wrong: a frozen step kept what it had learned from the rows of the bound."""
    X, y = blobs
    for frozen in (FrozenEstimator(StandardScaler().fit(X)), FrozenEstimator(SelectKBest(k=1).fit(X, y))):
        with pytest.raises(InvalidProblemError, match=r"the step 'frozenestimator' was fitted beforehand, .*\.$"):
            certify(make_pipeline(frozen, fixed()), X, y, random_state=0)


@pytest.mark.parametrize("fraction", [0, 0.5])
def test_steps_that_take_rows_together_are_refused(fraction, blobs):
    """Once wrong: a function that scales whatever it is given has seen the rows of the bound."""
    with pytest.raises(InvalidProblemError, match=r"gives rows other features in other company, .*\.$"):
        certify(make_pipeline(FunctionTransformer(scale), fixed()), *blobs, prior_fraction=fraction, random_state=0)


def test_preprocessing_done_beforehand_is_refused(blobs):
    X, y = blobs
    with pytest.raises(InvalidProblemError, match="preprocessing was learned from these very rows"):
        certify(fixed(), StandardScaler().fit_transform(X), y, random_state=0)


@pytest.mark.parametrize("fraction", [1.0, -0.5, 0.001, "half"])
def test_a_share_must_leave_rows_on_both_sides(fraction, blobs):
    with pytest.raises(InvalidProblemError, match="prior_fraction must be a share"):
        certify(fixed(), *blobs, prior_fraction=fraction)


def test_inputs_and_labels_are_of_one_length(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        certify(fixed(), X, y[:-1])


def test_noise_left_to_the_evidence_is_learned_on_the_prior_rows(blobs):
    """Once wrong: with a kernel that has nothing free the noise is neither learned nor refused, but 0.05."""
    X, y = blobs
    model = BayesPointClassifier(RBF(1.5, "fixed"), bias=0, noise="evidence", softness=0.5)
    noise = [
        certify(model, X, labels, random_state=0).classifier.likelihood_.noise
        for labels in (y, np.where(np.arange(40) % 4 == 0, 1 - y, y))
    ]
    assert noise[0] != noise[1]


# -- BoundSearch --------------------------------------------------------------------------------------------------


def test_the_smallest_bound_wins(blobs):
    X, y = blobs
    search = BoundSearch(fixed(), GRID).fit(X, y)
    assert len(search.results_) == 6
    values = [certificate.bayes_point.value for _, certificate in search.results_]
    params, certificate = search.results_[int(np.argmin(values))]
    assert search.best_params_ == params
    assert search.certificate_ is certificate
    assert search.best_estimator_ is certificate.classifier
    assert search.certificate_.bayes_point.value == min(values) < max(values)
    assert {key: search.best_estimator_.get_params()[key] for key in params} == params


def test_every_setting_pays_for_the_grid(blobs):
    X, y = blobs
    search = BoundSearch(fixed(), GRID, delta=0.1).fit(X, y)
    for params, certificate in search.results_:
        posterior = fixed().set_params(**params).fit(X, y).posterior_
        by_hand = bounds.certify([posterior], 0.1, choices=6)
        assert certificate.bayes_point == by_hand.bayes_point
        assert certificate.bayes_point.value > bounds.certify([posterior], 0.1).bayes_point.value
        assert certificate.gibbs.terms["grid"] == pytest.approx(np.log(6) / 40)
        assert certificate.delta == 0.1
        assert certificate.basis == "the best of 6 priors, all fixed before the data"


def test_a_list_of_grids_is_paid_for_as_a_whole(blobs):
    grids = [{"noise": [0.0, 0.1]}, {"kernel": [RBF(1.0), RBF(2.0), RBF(3.0)]}]
    search = BoundSearch(fixed(), grids).fit(*blobs)
    assert len(search.results_) == 5
    assert search.certificate_.gibbs.terms["grid"] == pytest.approx(np.log(5) / 40)


def test_a_single_setting_costs_nothing(blobs):
    X, y = blobs
    search = BoundSearch(fixed(), {"noise": [0.1]}).fit(X, y)
    assert figures(search.certificate_) == figures(fixed(noise=0.1).fit(X, y).certificate())


@pytest.mark.processor
@pytest.mark.parametrize("classifier", [fixed(), BayesPointClassifier(None)], ids=["fixed", "tuned"])
def test_priors_learned_on_the_same_rows(classifier, blobs):
    X, y = blobs
    pipeline = make_pipeline(StandardScaler(), classifier)
    grid = {"bayespointclassifier__softness": [0.5, 2.0], "standardscaler__with_std": [True, False]}
    search = BoundSearch(pipeline, grid, prior_fraction=0.5, random_state=0).fit(X, y)
    assert search.certificate_.basis.startswith("the best of 4 priors, each prior learned on 20 of 40 rows")
    means = [certificate.classifier[0].mean_ for _, certificate in search.results_]
    assert all(np.array_equal(means[0], mean) for mean in means)  # one split for all
    seed = int(np.random.default_rng(0).integers(2**31))
    rows = part_of(40, 0.5, seed)
    np.testing.assert_allclose(means[0], X[rows].mean(axis=0))
    for params, certificate in search.results_:
        steps = clone(pipeline).set_params(**params)
        scaled = steps[0].fit(X[rows]).transform(X)
        part = steps[-1].fit(scaled[rows], y[rows])
        model = certificate.classifier[-1]
        by_hand = bounds.certify([model.posterior_], priors=[part.posterior_], prior_rows=rows, choices=4)
        assert certificate.bayes_point.value == pytest.approx(by_hand.bayes_point.value, rel=1e-6)


def test_jobs_do_not_matter(blobs):
    X, y = blobs
    options = {"prior_fraction": 0.5, "random_state": 3}
    one = BoundSearch(fixed(), GRID, **options).fit(X, y)
    with parallel_config("threading"):
        two = BoundSearch(fixed(), GRID, n_jobs=2, **options).fit(X, y)
    assert one.best_params_ == two.best_params_
    for (_, a), (_, b) in zip(one.results_, two.results_, strict=True):  # up to rounding: threads share a BLAS
        assert a.basis == b.basis
        assert a.bayes_point.value == pytest.approx(b.bayes_point.value, rel=1e-9)
        assert a.gibbs.terms == pytest.approx(b.gibbs.terms, rel=1e-9)


def test_the_random_state_makes_the_search_reproducible(blobs):
    X, y = blobs
    values = [
        BoundSearch(fixed(), GRID, prior_fraction=0.5, random_state=seed).fit(X, y).certificate_.bayes_point.value
        for seed in (0, 0, 1)
    ]
    assert values[0] == values[1] != values[2]


@pytest.mark.parametrize("data", [0, 1], ids=["two classes", "three classes"])
def test_the_search_predicts_as_its_best_classifier(data, blobs, triplets):
    X, y = (blobs, triplets)[data]
    y = np.array(list("abc"))[y]
    search = BoundSearch(fixed(), GRID).fit(X, y)
    best = fixed().set_params(**search.best_params_).fit(X, y)
    if data:  # what a certificate of several classes speaks of
        best.set_params(decision="one-vs-rest")
    for method in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(search, method)(X), getattr(best, method)(X))
    assert search.score(X, y) == best.score(X, y)
    np.testing.assert_array_equal(search.classes_, np.unique(y))
    assert search.n_features_in_ == 2


def test_the_search_is_an_estimator_like_any_other(blobs):
    X, y = blobs
    search = BoundSearch(fixed(), GRID, prior_fraction=0.5, random_state=0)
    scores = cross_val_score(search, X, y, cv=3, error_score="raise")
    assert scores.shape == (3,)
    copy = clone(search.fit(X, y))
    assert not hasattr(copy, "certificate_")
    assert repr(copy.get_params()) == repr(search.get_params())
    assert copy.fit(X, y).certificate_.bayes_point == search.certificate_.bayes_point
    assert cross_val_score(make_pipeline(search), X, y, cv=3).tolist() == scores.tolist()


def test_fitting_changes_no_argument(blobs):
    X, y = blobs
    estimator, grid = fixed(), {"kernel": [RBF(1.0), RBF(2.0)]}
    search = BoundSearch(estimator, grid)
    search.fit(X, y)
    assert search.estimator is estimator
    assert search.param_grid is grid
    assert not hasattr(estimator, "posterior_")
    assert grid == {"kernel": [RBF(1.0), RBF(2.0)]}


def test_a_precomputed_kernel_is_split_by_rows_and_columns(blobs):
    X, y = blobs
    gram = 4 * rbf_kernel(X)
    search = BoundSearch(fixed("precomputed"), {"noise": [0.0, 0.1]}, prior_fraction=0.5, random_state=0)
    assert search.__sklearn_tags__().input_tags.pairwise
    assert cross_val_score(search, gram, y, cv=3, error_score="raise").mean() > 0.4


@pytest.mark.parametrize("kernel", [None, KERNEL], ids=str)
def test_tuned_kernels_are_refused(kernel, blobs):
    with pytest.raises(InvalidProblemError, match="No certificate: the kernel was tuned"):
        BoundSearch(BayesPointClassifier(kernel), {"noise": [0.0, 0.1]}).fit(*blobs)


def test_length_scales_from_the_spread_are_refused(blobs):
    with pytest.raises(InvalidProblemError, match="taken from the spread"):
        BoundSearch(fixed(None), {"noise": [0.0, 0.1]}).fit(*blobs)


def test_a_pipeline_needs_rows_for_its_preprocessing(blobs):
    with pytest.raises(InvalidProblemError, match="the step 'standardscaler' of the pipeline learns from the rows"):
        BoundSearch(make_pipeline(StandardScaler(), fixed()), {"bayespointclassifier__noise": [0.0]}).fit(*blobs)


def test_other_classifiers_are_refused(blobs):
    with pytest.raises(InvalidProblemError, match="SVC has no certificate"):
        BoundSearch(SVC(), {"C": [1.0]}).fit(*blobs)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_an_unfitted_search_says_so(method, blobs):
    with pytest.raises(NotFittedError):
        getattr(BoundSearch(fixed(), GRID), method)(blobs[0])


def test_an_empty_grid_is_refused_with_one_sentence(blobs):
    """Once failed with numpy's argmin of an empty sequence."""
    with pytest.raises(InvalidProblemError, match=r"(?i)grid.*\.$"):
        BoundSearch(fixed(), []).fit(*blobs)


def test_feature_names_are_those_of_the_best_classifier(blobs):
    """Once wrong: the search has n_features_in_ but not feature_names_in_."""
    pd = pytest.importorskip("pandas")
    X, y = blobs
    frame = pd.DataFrame(X, columns=["length", "width"])
    search = BoundSearch(fixed(), GRID).fit(frame, y)
    assert list(search.feature_names_in_) == ["length", "width"]
    assert not hasattr(search.fit(X, y), "feature_names_in_")  # once kept from the earlier fit


def test_a_certified_classifier_is_not_certified_again_as_if_its_kernel_were_fixed(blobs):
    """Its kernel was tuned on a part of the very rows that a bound with a fixed prior would rest on."""
    X, y = blobs
    certified = certify(BayesPointClassifier(RBF(1.0), random_state=0), X, y, random_state=0).classifier
    with pytest.raises(InvalidProblemError, match="the kernel was tuned"):
        certified.certificate()
