"""`BayesPointClassifier(decision="joint")`: several classes as one model, through the estimator and its uses."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import log_loss

from bayespoint import BayesPointClassifier, Choice, find_label_errors, query
from bayespoint.estimators import updated
from bayespoint.exceptions import InvalidProblemError
from bayespoint.posteriors import GaussianClassesPosterior, SampledClasses

CENTRES = np.array([[0.0, 3.0], [3.0, -2.0], [-3.0, -2.0]])


def clusters(rng, each=15, spread=1.0):
    y = np.repeat([0, 1, 2], each)
    return CENTRES[y] + spread * rng.standard_normal((len(y), 2)), np.array(["a", "b", "c"])[y]


@pytest.fixture(scope="module")
def fit():
    X, y = clusters(np.random.default_rng(0))
    return BayesPointClassifier("rbf", decision="joint").fit(X, y), X, y


def test_it_is_one_model_with_one_evidence(fit):
    model, X, y = fit
    assert isinstance(model.posterior_, GaussianClassesPosterior)
    assert isinstance(model.likelihood_, Choice)
    assert model.log_evidence_ == pytest.approx(model.posterior_.log_evidence)
    assert model.posterior_.problem.n_classes == 3
    np.testing.assert_array_equal(model.predict(X), y)


def test_probabilities_sum_to_one_and_decide(fit, rng):
    model = fit[0]
    new, labels = clusters(rng, 50)
    p = model.predict_proba(new)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.decision_function(new).argmax(axis=1), p.argmax(axis=1))
    assert np.mean(model.predict(new) == labels) > 0.95
    assert log_loss(labels, p) < 0.2
    mean, variance = model.latent(new)
    assert mean.shape == variance.shape == p.shape
    assert model.sample_latent(new[:4], 7, random_state=0).shape == (7, 4, 3)


def test_left_out_probabilities_are_those_of_the_posterior(fit):
    model = fit[0]
    p = model.posterior_.leave_one_out_probabilities**model.calibration_
    np.testing.assert_allclose(model.loo_proba_, p / p.sum(axis=1, keepdims=True), rtol=1e-6)


def test_two_classes_are_as_before(rng):
    X, y = clusters(rng)
    X, y = X[y != "c"], y[y != "c"]
    one, two = (BayesPointClassifier("rbf", decision=way).fit(X, y) for way in ("joint", "bayes_point"))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_several_kernels_are_stacked(rng):
    X, y = clusters(rng)
    model = BayesPointClassifier(decision="joint").fit(X, y)
    assert sum(model.weights_.values()) == pytest.approx(1.0)
    p = sum(
        w * one.posterior_.leave_one_out_probabilities
        for one, w in zip(model.members_, model.member_weights_, strict=True)
    )
    np.testing.assert_allclose(model.loo_proba_, p**model.calibration_ / (p**model.calibration_).sum(1)[:, None])
    assert np.mean(model.predict(X) == y) > 0.95


def test_landmarks_are_few_enough_for_all_classes_together(rng):
    X, y = clusters(rng, 180, 2.0)
    model = BayesPointClassifier("rbf", decision="joint", max_rank=20).fit(X, y)
    assert model.approximation_.rank <= 20
    exact = BayesPointClassifier(model.kernel_, decision="joint", bias=model.bias_, optimizer=None).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(X), atol=0.1)


def test_a_file_holds_the_same_model(fit):
    model, X, _ = fit
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-12)


def test_questions_are_asked_between_the_classes(fit):
    model = fit[0]
    pool = np.array([*CENTRES, [0.0, 0.0], [0.0, -2.0]])
    for strategy in ("bald", "entropy", "vote"):
        assert set(query(model, pool, n=2, strategy=strategy)) == {3, 4}


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_wrong_labels_and_what_they_should_be(noise, rng):
    X, y = clusters(rng, spread=0.7)
    truth, y[3] = y[3], "b"
    found = find_label_errors(BayesPointClassifier("rbf", noise=noise, decision="joint").fit(X, y))
    assert found.rows[0] == 3
    assert found.suggested[0] == truth
    assert found.probability[0] > 0.3 > found.probability[1]


def test_what_is_not_for_one_model_of_all_classes_says_so(fit):
    model, X, y = fit
    with pytest.raises(InvalidProblemError, match=r"^No certified draw: of several classes [^\n]*\.$"):
        model.certified_draw(0, prior_fraction=0.5)
    with pytest.raises(InvalidProblemError, match=r"^Several classes as one model take no more rows: [^\n]*\.$"):
        updated(model, X[:1], y[:1])
    with pytest.raises(AttributeError, match="partial_fit"):
        _ = BayesPointClassifier(decision="joint").partial_fit
    with pytest.raises(InvalidProblemError, match=r"^EllipticalSlice tells two classes apart, [^\n]*\.$"):
        BayesPointClassifier("rbf", decision="joint", engine="elliptical-slice").fit(X, y)


def test_the_sampled_evidence_is_near(fit):
    model = fit[0]
    sampled = model.log_evidence("sampled")
    assert abs(sampled.value - model.log_evidence_) < 1.0 + 5 * sampled.se


def test_iris_is_told_apart():
    X, y = load_iris(return_X_y=True)
    model = BayesPointClassifier("rbf", decision="joint").fit(X[::2], y[::2])
    assert log_loss(y[1::2], model.predict_proba(X[1::2])) < 0.2


@pytest.mark.parametrize("engine", ["billiard", "gibbs", "sample"])
def test_draws_are_of_one_model_too(engine, rng):
    """Samplers by name; what they say is what expectation propagation says, and every use can read them."""
    X, y = clusters(rng, 6, 1.5)
    new, _ = clusters(rng, 10)
    fixed = {"bias": 1.0, "optimizer": None, "softness": 1.0, "decision": "joint", "random_state": 0}
    gaussian = BayesPointClassifier(2.0 * RBF(2.0), **fixed).fit(X, y)
    drawn = BayesPointClassifier(2.0 * RBF(2.0), engine=engine, **fixed).fit(X, y)
    assert isinstance(drawn.posterior_, SampledClasses)
    near, left_out = (0.12, 0.3) if engine == "gibbs" else (0.06, 0.15)  # it mixes slowly: .27 and .20 by other seeds
    np.testing.assert_allclose(drawn.predict_proba(new), gaussian.predict_proba(new), atol=near)
    np.testing.assert_allclose(drawn.loo_proba_, gaussian.loo_proba_, atol=left_out)
    again = pickle.loads(pickle.dumps(drawn))
    np.testing.assert_allclose(again.predict_proba(new), drawn.predict_proba(new), rtol=1e-12)
    assert drawn.sample_latent(new[:4], 7, random_state=0).shape == (7, 4, 3)
    assert len(query(drawn, new, n=2, strategy="bald")) == 2
    assert find_label_errors(drawn).probability.max() <= 1.0


def test_certificates_are_of_the_largest_mean(rng):
    """On a part of the rows or by a kernel that was fixed; far below the sum over classes against the rest."""
    X, y = clusters(rng, 30, 1.5)
    tuned, apart = (
        BayesPointClassifier("rbf", decision=way, random_state=0).fit(X, y) for way in ("joint", "one-vs-rest")
    )
    found, sum_of_three = (one.certificate(prior_fraction=0.5) for one in (tuned, apart))
    assert found.kind == "largest-mean"
    assert found.n == 45
    assert found.bound.value < 0.6 * sum_of_three.bound.value
    assert found.gibbs.value <= found.bound.value <= 2 * found.gibbs.value
    fixed = BayesPointClassifier(4.0 * RBF(2.0), decision="joint", optimizer=None, random_state=0).fit(X, y)
    whole = fixed.certificate()
    assert whole.n == 90
    new, labels = clusters(rng, 300, 1.5)
    for one in (found, whole):
        model = one.classifier
        assert model.decision == "largest-mean"
        np.testing.assert_array_equal(model.predict(new), model.classes_[model.latent(new).mean.argmax(axis=1)])
        np.testing.assert_array_equal(model.predict_proba(new).argmax(axis=1), model.latent(new).mean.argmax(axis=1))
        np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1.0)
        assert np.mean(model.predict(new) != labels) < one.bound.value < one.constant_error
    with pytest.raises(InvalidProblemError, match=r"^No certificate: [^\n]*\.$"):
        tuned.certificate()


def test_the_largest_mean_decides_from_the_start(rng):
    X, y = clusters(rng, 20, 1.5)
    model = BayesPointClassifier("rbf", decision="largest-mean", noise=0.05).fit(X, y)
    joint = BayesPointClassifier("rbf", decision="joint", noise=0.05).fit(X, y)
    np.testing.assert_allclose(model.latent(X).mean, joint.latent(X).mean, rtol=1e-6)
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.latent(X).mean.argmax(axis=1)])
    assert model.loo_proba_.shape == (60, 3)
    assert log_loss(y, model.predict_proba(X)) < log_loss(y, joint.predict_proba(X)) + 0.1
    with pytest.raises(AttributeError, match="partial_fit"):
        _ = model.partial_fit
