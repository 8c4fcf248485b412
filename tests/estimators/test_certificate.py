import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier, bounds
from bayespoint.bounds import Certificate, binomial_bound, divergence, gibbs_error, seeger_bound
from bayespoint.engines import EP, Billiard, ClassicBilliard, Corners
from bayespoint.evidence import log_evidence
from bayespoint.exceptions import InvalidProblemError
from witnesses import label_probability

KERNEL = 4.0 * RBF(1.5)


def fixed(kernel=KERNEL, **options):
    return BayesPointClassifier(kernel, optimizer=None, **options)


def part_of(n, fraction, seed):
    """The rows that a prior is learned on."""
    return np.sort(np.random.default_rng(seed).permutation(n)[: round(fraction * n)])


def refused(match):
    """One sentence that says what is wrong."""
    return pytest.raises(InvalidProblemError, match=rf"(?s)^(?=[A-Zpy]).*{match}.*\.$")


# -- a prior fixed before the data --------------------------------------------------------------------------------


def test_the_certificate_is_that_of_the_posterior(blobs):
    X, y = blobs
    model = fixed().fit(X, y)
    certificate = model.certificate(0.1)
    expected = bounds.certify([model.posterior_], 0.1)
    assert isinstance(certificate, Certificate)
    assert certificate.classifier is model
    assert (certificate.bayes_point, certificate.gibbs) == (expected.bayes_point, expected.gibbs)
    assert certificate.n == 40
    assert certificate.delta == 0.1
    assert certificate.basis == "a prior fixed before the data"
    assert certificate.held_out is None


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_bound_by_hand(noise, blobs):
    X, y = blobs
    model = fixed(noise=noise).fit(X, y)
    posterior = model.posterior_
    np.testing.assert_allclose(posterior.problem.dense, KERNEL(X) + 1, rtol=1e-12)
    by_hand = seeger_bound(gibbs_error(posterior), divergence(posterior), 40, 0.05)
    assert model.certificate().gibbs.value == pytest.approx(by_hand.value, rel=1e-12)


def test_several_classes_have_one_certificate(triplets):
    X, y = triplets
    model = fixed().fit(X, y)
    certificate = model.certificate()
    assert certificate.gibbs == bounds.certify(model.posterior_).gibbs
    assert "the sum over 3 classes" in certificate.basis
    assert certificate.assumes.endswith("; no class that none of the rows has")


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [2.0, 7.0]])
def test_names_of_classes_do_not_matter(labels, blobs):
    X, y = blobs
    assert fixed().fit(X, np.array(labels)[y]).certificate().gibbs == fixed().fit(X, y).certificate().gibbs


@pytest.mark.parametrize(
    "kernel", ["linear", "poly", KERNEL, DotProduct(1.0), rbf_kernel], ids=["linear", "poly", "rbf", "dot", "function"]
)
def test_kernels_that_no_row_has_a_say_in_are_certified(kernel, blobs):
    X, y = blobs
    assert fixed(kernel).fit(X, y).certificate().classifier.kernel is kernel


def test_nothing_free_is_nothing_tuned(blobs):
    X, y = blobs
    model = BayesPointClassifier(RBF(1.5, "fixed"), bias=0).fit(X, y)
    assert model.certificate().basis == "a prior fixed before the data"


def test_weights_change_the_posterior_and_not_the_count_of_rows(blobs, rng):
    X, y = blobs
    weighted = fixed().fit(X, y, sample_weight=rng.integers(1, 4, 40)).certificate()
    assert weighted.n == 40
    assert weighted.gibbs.terms["divergence"] > fixed().fit(X, y).certificate().gibbs.terms["divergence"]


@pytest.mark.parametrize("likelihood", [{"softness": 0.0}, {"noise": 0.1}, {"noise": 0.1, "softness": 0.0}], ids=str)
def test_draws_are_certified_as_a_vote(likelihood, rng):
    X = rng.normal(size=(40, 2))
    y = X[:, 0] > 0
    model = fixed("linear", engine=Billiard(draws=500), decision="vote", random_state=0, **likelihood).fit(X, y)
    certificate = model.certificate()
    assert certificate.classifier is model
    exact = log_evidence(model.posterior_.problem, np.random.default_rng(0), se=0.1)
    assert certificate.gibbs == bounds.certify_draws([model.posterior_], [exact]).gibbs
    if model.likelihood_.softness == 0:  # a soft boundary errs by its own noise too, a Gaussian's draws do not
        approximate = fixed("linear", **likelihood).fit(X, y).certificate()
        assert certificate.gibbs.value == pytest.approx(approximate.gibbs.value, abs=0.1)


# -- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [BayesPointClassifier(None), BayesPointClassifier(RBF(1.0), bias=0), BayesPointClassifier(RBF(1.0, "fixed"))],
    ids=str,
)
def test_a_tuned_kernel_is_refused(model, blobs):
    X, y = blobs
    with refused("No certificate: the kernel was tuned on the rows that the bound would rest on; pass prior_fraction"):
        model.fit(X, y).certificate()


@pytest.mark.parametrize("kernel", [None, "rbf", "laplacian"])
def test_a_length_scale_from_the_spread_is_refused(kernel, blobs):
    X, y = blobs
    with refused("the scale of the kernel was taken from the spread"):
        fixed(kernel).fit(X, y).certificate()


SCALERS = {
    "mean zero": [StandardScaler(), StandardScaler(with_std=False), PCA(2), PCA(2, whiten=True), PowerTransformer()],
    "standard deviation one": [StandardScaler(with_mean=False)],
    "interval from 0 to 1": [QuantileTransformer(n_quantiles=40)],
    "normal quantiles of their ranks": [QuantileTransformer(n_quantiles=15, output_distribution="normal")],
    "median zero": [RobustScaler()],
}


@pytest.mark.parametrize(
    ("reason", "scaler"), [(reason, scaler) for reason, scalers in SCALERS.items() for scaler in scalers], ids=str
)
def test_preprocessing_learned_on_the_rows_leaves_a_trace(reason, scaler, blobs):
    X, y = blobs
    X = scaler.fit_transform(np.c_[3 * X[:, 0] + 7, X[:, 1] - 2])
    model = fixed().fit(X, y)
    for options in ({}, {"prior_fraction": 0.5}):
        with refused(f"No certificate: features .*{reason}.*, so preprocessing was learned from these very rows"):
            model.certificate(**options)
        assert model.certificate(trust_inputs=True, **options).classifier is model


@pytest.mark.parametrize("features", [1, 2, 8])
@pytest.mark.parametrize("span", [(0, 1), (-1, 1)])
def test_scaling_to_a_range_leaves_a_trace(span, features, rng):
    """Once wrong: rounding leaves the largest value next to the end of the range, and only (0, 1) is looked for."""
    for _ in range(20):
        X = MinMaxScaler(span).fit_transform(rng.normal(size=(40, features)) * 3 + 5)
        with refused("so preprocessing was learned from these very rows"):
            fixed().fit(X, X[:, 0] > X[:, 0].mean()).certificate()


def test_scaling_by_the_largest_value_leaves_a_trace(blobs):
    """Once wrong: nothing looks for a largest absolute value of one."""
    X, y = blobs
    with refused("so preprocessing was learned from these very rows"):
        fixed().fit(MaxAbsScaler().fit_transform(X), y).certificate()


def test_scaled_columns_beside_flags_leave_a_trace(blobs, rng):
    """Once wrong: columns that were left alone, such as flags, hide those that were scaled."""
    X, y = blobs
    with refused("so preprocessing was learned from these very rows"):
        fixed().fit(np.c_[StandardScaler().fit_transform(X), rng.integers(0, 2, (40, 2))], y).certificate()


def test_scaling_learned_elsewhere_leaves_no_trace(blobs, rng):
    X, y = blobs
    scaler = StandardScaler().fit(rng.normal(size=(100, 2)) + 0.6)
    assert fixed().fit(scaler.transform(X), y).certificate()


@pytest.mark.parametrize("rows", [30, 300])
def test_plain_features_bear_no_trace(rows, rng):
    for X in (
        rng.normal(size=(rows, 3)),
        rng.uniform(size=(rows, 3)),
        rng.normal(size=(rows, 1)),
        rng.poisson(3, (rows, 3)),
    ):
        assert fixed().fit(X, X[:, 0] > np.median(X[:, 0])).certificate()


@pytest.mark.parametrize("kind", ["flags", "counts", "ratings"])
def test_whole_numbers_bear_no_trace(kind, rng):
    """Once wrong: median zero and quartiles one apart are what flags, counts and ratings have by themselves."""
    X = {
        "flags": (np.arange(60) % 3 == 0)[:, None] ^ (rng.random((60, 2)) < 0.05),
        "counts": rng.poisson(0.5, (60, 2)),
        "ratings": rng.choice([-1, 0, 0, 0, 1, 1], (60, 2)),
    }[kind] * 1.0
    assert fixed().fit(X, rng.random(60) < 0.5).certificate()


def test_a_precomputed_kernel_is_taken_at_its_word(blobs):
    X, y = blobs
    X = StandardScaler().fit_transform(X)
    assert fixed("precomputed").fit(X @ X.T, y).certificate()


def test_rows_of_weight_zero_are_refused(blobs):
    X, y = blobs
    model = fixed().fit(X, y, sample_weight=np.r_[0, 0, 0, np.ones(37)])
    for options in ({}, {"prior_fraction": 0.5}):
        with refused("No certificate: 3 rows had weight zero, .*fit without them"):
            model.certificate(**options)


@pytest.mark.parametrize("engine", ["sample", "billiard", "elliptical-slice", "gibbs"])
def test_draws_have_no_bound_on_their_mean(engine, blobs):
    X, y = blobs
    model = fixed(noise=0.1, engine="ep").fit(X, y)
    drawn = Billiard(draws=20).infer(model.posterior_.problem, rng=0)
    model.set_params(engine=engine)
    model.fitted_ = model.fitted_.with_posteriors([drawn])
    with refused("No certificate: the bound for draws is on their vote, .*decision='vote'"):
        model.certificate()


def test_draws_are_no_prior_for_other_rows(blobs):
    X, y = blobs
    model = fixed(engine=Billiard(draws=500), decision="vote").fit(X, y)
    with refused("needs Gaussian posteriors: use engine='ep'"):
        model.certificate(prior_fraction=0.5)


@pytest.mark.parametrize("engine", [Corners(), ClassicBilliard(1e-2)], ids=["corners", "classic-billiard"])
def test_points_that_are_not_draws_from_the_posterior_are_refused(engine, blobs):
    """Once wrong: the divergence of the exact posterior says nothing about a vote of corners or of one long path."""
    X, y = blobs
    model = fixed(engine="ep").fit(X, y)
    model.fitted_ = model.fitted_.with_posteriors([engine.infer(model.posterior_.problem, rng=0)])
    model.set_params(engine=engine, decision="vote", random_state=0)
    with refused("No certificate"):
        model.certificate()


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.2, 1.5, 1e-4, 0.9999, "half", True, float("nan"), [0.5]])
def test_a_share_must_leave_rows_on_both_sides(fraction, blobs):
    X, y = blobs
    with refused("prior_fraction must be a share between 0 and 1 that leaves rows on both sides, such as 0.5, got"):
        fixed().fit(X, y).certificate(prior_fraction=fraction)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, float("nan")])
@pytest.mark.parametrize("fraction", [None, 0.5])
def test_delta_must_be_a_probability(delta, fraction, blobs):
    X, y = blobs
    with pytest.raises(InvalidProblemError, match=r"^delta must lie strictly between 0 and 1, got .*\.$"):
        fixed().fit(X, y).certificate(delta, prior_fraction=fraction)


def test_an_unfitted_classifier_has_no_certificate():
    with pytest.raises(NotFittedError):
        fixed().certificate()
    with pytest.raises(NotFittedError):
        fixed().log_evidence()


def test_turning_the_optimizer_off_after_fitting_does_not_untune_the_kernel(blobs):
    """Once wrong: whether the kernel was tuned is read off the constructor's argument, not off the fit."""
    X, y = blobs
    with refused("the kernel was tuned"):
        BayesPointClassifier(RBF(1.0)).fit(X, y).set_params(optimizer=None).certificate()


# -- a test set beside it -----------------------------------------------------------------------------------------


def test_a_test_set_gives_a_second_bound(blobs, rng):
    X, y = blobs
    labels = np.array(["no", "yes"])
    new_y = rng.integers(0, 2, 50)
    new = rng.normal(size=(50, 2)) + 1.2 * new_y[:, None]
    for model, options in [(fixed(), {}), (BayesPointClassifier(None, random_state=0), {"prior_fraction": 0.5})]:
        certificate = model.fit(X, labels[y]).certificate(0.1, X_test=new, y_test=list(labels[new_y]), **options)
        errors = np.sum(certificate.classifier.predict(new) != labels[new_y])
        assert certificate.held_out == binomial_bound(int(errors), 50, 0.1)
        assert "the same by a test set" in str(certificate)


@pytest.mark.parametrize("missing", ["X_test", "y_test"])
def test_a_test_set_has_inputs_and_labels(missing, blobs):
    X, y = blobs
    given = {"X_test": X, "y_test": y}
    del given[missing]
    with pytest.raises(InvalidProblemError, match=r"^A held-out set needs both X_test and y_test\.$"):
        fixed().fit(X, y).certificate(**given)


@pytest.mark.parametrize("labels", [np.zeros(39), np.zeros((40, 1)), 0])
def test_a_test_set_has_as_many_labels_as_rows(labels, blobs):
    X, y = blobs
    with pytest.raises(InvalidProblemError, match=r"^y_test must hold 40 labels, one for each row of X_test\.$"):
        fixed().fit(X, y).certificate(X_test=X, y_test=labels)


def test_test_rows_have_as_many_features(blobs):
    X, y = blobs
    with pytest.raises(ValueError, match="3 features"):
        fixed().fit(X, y).certificate(X_test=np.c_[X, X[:, 0]], y_test=y)


# -- a prior learned on some of the rows --------------------------------------------------------------------------


def assert_certified_with(certificate, part, rows, delta=0.05):
    """The bound is that of the certificate's classifier against a classifier fitted on the prior's rows alone."""
    expected = bounds.certify(
        certificate.classifier.fitted_.posteriors, delta, priors=part.fitted_.posteriors, prior_rows=rows, basis="any"
    )
    assert certificate.gibbs.value == pytest.approx(expected.gibbs.value, rel=1e-6)
    assert certificate.bayes_point.value == pytest.approx(expected.bayes_point.value, rel=1e-6)
    assert certificate.gibbs.terms == pytest.approx(expected.gibbs.terms, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("fraction", [0.3, 0.5, 0.8])
def test_a_fixed_kernel_is_certified_as_it_is(fraction, blobs, seed):
    X, y = blobs
    model = fixed(random_state=seed).fit(X, y)
    certificate = model.certificate(prior_fraction=fraction)
    rows = part_of(40, fraction, seed)
    assert certificate.classifier is model
    assert certificate.n == 40 - len(rows)
    assert certificate.basis == f"a prior learned on {len(rows)} of 40 rows, the bound is on the others"
    assert_certified_with(certificate, fixed().fit(X[rows], y[rows]), rows)


def test_a_tuned_kernel_comes_with_its_own_classifier(blobs, seed):
    X, y = blobs
    model = BayesPointClassifier(None, noise="evidence", random_state=seed).fit(X, y)
    certificate = model.certificate(prior_fraction=0.5)
    rows = part_of(40, 0.5, seed)
    part = BayesPointClassifier(None, noise="evidence", random_state=seed).fit(X[rows], y[rows])
    other = certificate.classifier
    assert other is not model
    np.testing.assert_allclose(other.kernel_.theta, part.kernel_.theta, atol=1e-6)
    assert not np.allclose(other.kernel_.theta, model.kernel_.theta, atol=1e-3)
    assert other.bias_ == pytest.approx(part.bias_, rel=1e-6)
    assert other.likelihood_.noise == pytest.approx(part.likelihood_.noise, rel=1e-6)
    assert_certified_with(certificate, part, rows)
    whole = fixed(part.kernel_, bias=part.bias_, noise=part.likelihood_.noise).fit(X, y)  # posterior on all rows
    np.testing.assert_allclose(other.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    assert other.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-6)


@pytest.mark.parametrize("kernel", [None, "rbf", "laplacian"])
def test_a_length_scale_is_that_of_the_prior_rows(kernel, blobs):
    X, y = blobs
    certificate = fixed(kernel, random_state=0).fit(X, y).certificate(prior_fraction=0.5)
    rows = part_of(40, 0.5, 0)
    part = fixed(kernel).fit(X[rows], y[rows])
    np.testing.assert_allclose(certificate.classifier.kernel_.theta, part.kernel_.theta, rtol=1e-12)
    assert_certified_with(certificate, part, rows)


def test_labels_of_the_bound_do_not_reach_the_prior(blobs):
    """Turning the labels of all other rows round leaves kernel and prior as they are."""
    X, y = blobs
    rows = part_of(40, 0.5, 0)
    turned = 1 - y
    turned[rows] = y[rows]
    for model in (
        BayesPointClassifier(None, random_state=0),
        BayesPointClassifier("linear", noise="evidence", random_state=0),
    ):
        a, b = (clone(model).fit(X, labels).certificate(prior_fraction=0.5).classifier for labels in (y, turned))
        np.testing.assert_allclose(a.kernel_.theta, b.kernel_.theta, atol=1e-9)
        assert a.likelihood_ == b.likelihood_


def test_noise_is_learned_on_the_prior_rows_even_if_nothing_else_is(blobs):
    """Once wrong: fitting breaks where the kernel has nothing free; later, mind the noise of the prior."""
    X, y = blobs
    model = BayesPointClassifier(RBF(1.5, "fixed"), bias=0, noise="evidence", softness=0.5, random_state=0)
    certificate = clone(model).fit(X, y).certificate(prior_fraction=0.5)
    rows = part_of(40, 0.5, 0)
    part = clone(model).fit(X[rows], y[rows])
    assert certificate.classifier.likelihood_.noise == pytest.approx(part.likelihood_.noise, rel=1e-5)
    assert_certified_with(certificate, part, rows)


@pytest.mark.parametrize("kernel", [KERNEL, None], ids=["fixed", "tuned"])
def test_balanced_classes_are_balanced_on_the_prior_rows(kernel, rng):
    """Once wrong: weights of the prior's rows count the classes of all rows, those of the bound included."""
    X, y = rng.normal(size=(40, 2)), np.repeat([0, 1], 20)
    X += 1.2 * y[:, None]
    rows = part_of(40, 0.5, 0)
    others = np.setdiff1d(np.arange(40), rows)
    y[others[:15]] = 0  # the classes are shared out differently among the other rows
    options = {"class_weight": "balanced", "optimizer": None if kernel else "evidence", "random_state": 0}
    certificate = BayesPointClassifier(kernel, **options).fit(X, y).certificate(prior_fraction=0.5)
    part = BayesPointClassifier(kernel, **options).fit(X[rows], y[rows])
    np.testing.assert_allclose(certificate.classifier.kernel_.theta, part.kernel_.theta, atol=1e-5)
    assert_certified_with(certificate, part, rows)


def test_weights_go_with_their_rows(blobs, rng):
    X, y = blobs
    weight = rng.integers(1, 4, 40)
    rows = part_of(40, 0.5, 0)
    for model in (fixed(random_state=0), BayesPointClassifier(None, random_state=0)):
        certificate = clone(model).fit(X, y, sample_weight=weight).certificate(prior_fraction=0.5)
        assert_certified_with(certificate, clone(model).fit(X[rows], y[rows], sample_weight=weight[rows]), rows)


@pytest.mark.parametrize(
    "model", [fixed(random_state=0), BayesPointClassifier(None, random_state=0)], ids=["fixed", "tuned"]
)
def test_several_classes_have_a_learned_prior_too(model, triplets):
    X, y = triplets
    labels = np.array(["one", "three", "two"])
    certificate = clone(model).fit(X, labels[y]).certificate(prior_fraction=0.5)
    rows = part_of(45, 0.5, 0)
    assert_certified_with(certificate, clone(model).fit(X[rows], labels[y[rows]]), rows)
    assert certificate.basis.endswith("each against the rest")
    assert np.mean(certificate.classifier.predict(X) == labels[y]) > 0.7
    assert certificate.classifier.predict_proba(X).shape == (45, 3)


def test_a_class_may_be_missing_among_the_prior_rows(triplets):
    X, y = triplets
    rows = part_of(45, 0.2, 0)
    y = np.where(np.isin(np.arange(45), rows) & (y == 2), 0, y)
    assert 2 not in y[rows]
    certificate = BayesPointClassifier(None, random_state=0).fit(X, y).certificate(prior_fraction=0.2)
    assert list(certificate.classifier.classes_) == [0, 1, 2]
    assert certificate.classifier.predict_proba(X).shape == (45, 3)


@pytest.mark.filterwarnings("ignore:Constant features:UserWarning")
@pytest.mark.parametrize("features", [10, 400])
@pytest.mark.parametrize("kernel", ["rbf", "linear", KERNEL], ids=str)
def test_sparse_rows(kernel, features, rng):
    X = sparse.random_array((40, features), density=0.3, rng=rng, format="csr")
    half = features // 2
    y = (X[:, :half].sum(axis=1) > X[:, half:].sum(axis=1)).astype(int)
    rows = part_of(40, 0.5, 0)
    model = BayesPointClassifier(kernel, random_state=0)
    certificate = clone(model).fit(X, y).certificate(prior_fraction=0.5)
    part = clone(model).fit(X[rows], y[rows])
    np.testing.assert_allclose(certificate.classifier.kernel_.theta, part.kernel_.theta, atol=1e-4)
    assert certificate.classifier.predict(X).shape == (40,)
    dense = clone(model).fit(X.toarray(), y).certificate(prior_fraction=0.5)
    assert certificate.bayes_point.value == pytest.approx(dense.bayes_point.value, rel=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        fixed(),
        BayesianSVC(kernel=KERNEL),
        BayesianSVC(kernel=KERNEL, engine="laplace"),
        GaussianMarginClassifier(KERNEL),
    ],
    ids=["bayes point", "svc", "laplace", "margin"],
)
def test_the_draws_of_the_bound_are_those_at_new_rows(model, classes, blobs, triplets):
    """Once wrong: with landmarks, what these leave out was in latents at new rows, but not in the training error."""
    X, y = blobs if classes == 2 else triplets
    certificate = clone(model).set_params(max_rank=3, random_state=0).fit(X, y).certificate(prior_fraction=0.4)
    others = np.setdiff1d(np.arange(len(y)), part_of(len(y), 0.4, 0))
    mean, variance = certificate.classifier.latent(X[others])
    sign = np.sign(y[others] - 0.5) if classes == 2 else np.where(y[others, None] == np.arange(3), 1.0, -1.0)
    drawn = ndtr(-sign * mean / np.sqrt(variance)).mean(axis=0).sum()  # of several classes one error each
    assert certificate.gibbs.terms["training error"] == pytest.approx(drawn, rel=1e-6)
    posteriors = certificate.classifier.fitted_.posteriors
    without = sum(gibbs_error(posterior, others, with_residual=False) for posterior in posteriors)
    assert abs(drawn - without) > 0.01


@pytest.mark.parametrize("optimizer", [None, "evidence"])
def test_a_precomputed_kernel(optimizer, blobs, rng):
    X, y = blobs
    gram, new = 4 * rbf_kernel(X), rng.normal(size=(7, 2))
    model = BayesPointClassifier("precomputed", optimizer=optimizer, random_state=0)
    rows = part_of(40, 0.5, 0)
    certificate = clone(model).fit(gram, y).certificate(prior_fraction=0.5)
    assert_certified_with(certificate, clone(model).fit(gram[np.ix_(rows, rows)], y[rows]), rows)
    assert certificate.classifier.predict_proba(4 * rbf_kernel(new, X)).shape == (7, 2)


def test_the_random_state_says_which_rows(blobs):
    X, y = blobs
    model = fixed(random_state=3).fit(X, y)
    assert model.certificate(prior_fraction=0.5).gibbs == model.certificate(prior_fraction=0.5).gibbs
    other = clone(model).set_params(random_state=4).fit(X, y)
    assert other.certificate(prior_fraction=0.5).gibbs != model.certificate(prior_fraction=0.5).gibbs


def test_a_learned_prior_is_worth_its_rows(rng):
    X = rng.normal(size=(400, 2))
    y = X[:, 0] > 0
    model = fixed(random_state=0).fit(X, y)
    assert model.certificate(prior_fraction=0.5).bayes_point.value < model.certificate().bayes_point.value


# -- nothing changes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"prior_fraction": 0.5}])
@pytest.mark.parametrize("tuned", [False, True])
def test_a_certificate_changes_nothing(options, tuned, blobs):
    if tuned and not options:
        pytest.skip("refused")
    X, y = blobs
    model = (BayesPointClassifier(None, random_state=0) if tuned else fixed(random_state=0)).fit(X, y)
    before, proba = dict(vars(model)), model.predict_proba(X)
    certificate = model.certificate(X_test=X, y_test=y, **options)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(model.predict_proba(X), proba)
    assert certificate.classifier.get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize("tuned", [False, True])
def test_model_and_certificate_survive_pickling_and_cloning(tuned, blobs):
    X, y = blobs
    model = (BayesPointClassifier(None, random_state=0) if tuned else fixed(random_state=0)).fit(X, y)
    certificate = model.certificate(prior_fraction=0.5)
    again = pickle.loads(pickle.dumps(certificate))
    assert (again.bayes_point, again.gibbs, again.basis) == (
        certificate.bayes_point,
        certificate.gibbs,
        certificate.basis,
    )
    np.testing.assert_array_equal(again.classifier.predict_proba(X), certificate.classifier.predict_proba(X))
    refitted = clone(certificate.classifier).fit(X, y)
    np.testing.assert_array_equal(refitted.predict_proba(X), model.predict_proba(X))
    unpickled = pickle.loads(pickle.dumps(model))
    assert unpickled.certificate(prior_fraction=0.5).gibbs == certificate.gibbs


def test_the_engine_and_its_settings_are_kept(blobs):
    X, y = blobs
    model = BayesPointClassifier(None, engine=EP(tolerance=1e-9), random_state=0).fit(X, y)
    assert model.certificate(prior_fraction=0.5).classifier.engine is not None
    assert model.certificate(prior_fraction=0.5).classifier.get_params()["engine"] == EP(tolerance=1e-9)


# -- evidence -----------------------------------------------------------------------------------------------------


def exact_log_evidence(problem):
    return float(
        np.log(label_probability(problem.likelihood, problem.y, np.zeros((1, problem.size)), problem.dense)[0])
    )


def test_the_evidence_of_expectation_propagation_is_the_one_that_chose_the_kernel(blobs, triplets):
    for X, y in (blobs, triplets):
        model = BayesPointClassifier(None).fit(X, y)
        estimate = model.log_evidence()
        assert estimate == model.log_evidence("ep")
        assert (estimate.value, estimate.se, estimate.method) == (model.log_evidence_, None, "ep")


@pytest.mark.parametrize(
    "likelihood", [{"softness": 0.0}, {}, {"noise": 0.1}, {"noise": 0.1, "softness": 0.0}], ids=str
)
def test_the_sampled_evidence_is_exact(likelihood, rng):
    X = rng.normal(size=(3, 2))
    y = [0, 1, 0]
    model = fixed(random_state=0, **likelihood).fit(X, y)
    estimate = model.log_evidence("sampled", se=0.05)
    assert estimate.se <= 0.05
    assert abs(estimate.value - exact_log_evidence(model.posterior_.problem)) < 4 * estimate.se + 1e-4


def test_the_sampled_evidence_of_several_classes_is_a_sum(rng):
    X = rng.normal(size=(4, 2))
    model = fixed(random_state=0).fit(X, [0, 1, 2, 0])
    estimate = model.log_evidence("sampled", se=0.03)
    exact = sum(exact_log_evidence(posterior.problem) for posterior in model.posterior_)
    assert 0 < estimate.se <= 0.03
    assert abs(estimate.value - exact) < 4 * estimate.se + 1e-4
    assert estimate.method.endswith(", 3 classes")
    assert model.log_evidence("ep").value == pytest.approx(exact, abs=0.1)


def test_sampling_engines_have_both_evidences(rng):
    X = rng.normal(size=(3, 2))
    y = [0, 1, 0]
    model = fixed(random_state=0, engine=Billiard(draws=500)).fit(X, y)
    assert model.log_evidence_ is None
    assert model.log_evidence("ep").value == pytest.approx(fixed().fit(X, y).log_evidence_, rel=1e-9)
    estimate = model.log_evidence("sampled", se=0.05)
    assert abs(estimate.value - exact_log_evidence(model.posterior_.problem)) < 4 * estimate.se + 1e-4


def test_the_random_state_says_which_draws(blobs):
    X, y = blobs
    model = fixed(random_state=1, noise=0.1).fit(X, y)
    assert model.log_evidence("sampled").value == model.log_evidence("sampled").value


@pytest.mark.parametrize("method", ["laplace", "auto", None, 3])
def test_unknown_methods_are_refused(method, blobs):
    X, y = blobs
    with pytest.raises(InvalidProblemError, match=r"^method must be 'ep' or 'sampled', got .*\.$"):
        fixed().fit(X, y).log_evidence(method)


def test_a_standard_error_is_a_positive_number(blobs):
    X, y = blobs
    with pytest.raises(InvalidProblemError, match="se must be a number above 0"):
        fixed().fit(X, y).log_evidence("sampled", se=0.0)


# -- support vector machines ---------------------------------------------------------------------------------------


def test_a_support_vector_machine_has_a_certificate_too():
    X, y = make_moons(300, noise=0.1, random_state=0)
    model = BayesianSVC(C=2.0, gamma=1.0).fit(X, y)
    certificate = model.certificate()
    posterior = model.posterior_
    expected = seeger_bound(gibbs_error(posterior), divergence(posterior), 300, 0.05)
    assert certificate.gibbs.value == pytest.approx(expected.value)
    assert certificate.gibbs.value < 0.3
    machine = BayesianSVC(C=2.0, gamma=1.0, probability="map", engine="laplace").fit(X, y).certificate()
    assert 0 < machine.gibbs.value < 1
    tuned = BayesianSVC(optimizer="evidence", random_state=0).fit(X, y)
    assert tuned.certificate(prior_fraction=0.5).gibbs.value < 0.2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "spread of the features"),
        ({"kernel": "poly"}, "spread of the features"),
        ({"gamma": 1.0, "probability": "map"}, "not the mean of this posterior"),
        ({"gamma": 1.0, "engine": "sample"}, "on their vote"),
        ({"optimizer": "evidence"}, "tuned"),
    ],
    ids=str,
)
def test_what_voids_it(settings, message):
    X, y = make_moons(40, noise=0.1, random_state=0)
    model = BayesianSVC(random_state=0, **settings).fit(X, y)
    with pytest.raises(InvalidProblemError, match=message):
        model.certificate()
