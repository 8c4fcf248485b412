"""Hyper-priors: what is maximised, and what is told."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from bayespoint import BayesPointClassifier, Step
from bayespoint.engines import EP
from bayespoint.exceptions import InferenceWarning
from bayespoint.kernels import make_kernel, table_kernels, with_bias
from bayespoint.tuning import Model, infer_candidate, maximise_evidence, weak_hyper_prior
from bayespoint.tuning.limits import parameter_names, warn_at_bounds


@pytest.fixture
def plane(rng):
    X = rng.normal(size=(25, 3))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=25) > 0, 1.0, -1.0)


@pytest.mark.parametrize("name", ["linear", "isotropic", "relevance"])
def test_what_is_maximised_has_the_gradient_it_says(name, plane, rng):
    X, y = plane
    likelihood, free = Step(0.05, 1.0), ("noise", "softness")
    kernel = with_bias(table_kernels(X)[name], 1.0, tuned=True)
    model = Model(kernel, likelihood, free, weak_hyper_prior(kernel, X, likelihood, free))
    engine = EP(tolerance=1e-12)
    theta = model.theta + 0.3 * rng.normal(size=len(model.theta))

    def at(theta):
        return infer_candidate(model.at(theta), X, [y], None, engine)

    here = at(theta)
    assert here.merit == pytest.approx(here.log_evidence + model.prior.log_density(theta))
    assert here.merit < here.log_evidence
    slopes = [(at(theta + step).merit - at(theta - step).merit) / 2e-4 for step in 1e-4 * np.eye(len(theta))]
    seen = []

    def optimizer(function, start, bounds):
        seen.append(function(theta))
        return theta, seen[0][0]

    maximise_evidence(model, X, [y], engine=engine, optimizer=optimizer)
    value, gradient = seen[0]
    assert value == pytest.approx(-here.merit)
    np.testing.assert_allclose(-gradient, slopes, rtol=1e-4, atol=1e-5)


def test_the_figures_of_the_weak_prior(plane):
    X, _ = plane
    kernel = with_bias(table_kernels(X)["relevance"], 1.0, tuned=True)
    prior = weak_hyper_prior(kernel, X, Step(0.05, 1.0), ("noise",))
    np.testing.assert_allclose(np.exp(prior.mean), [4.0, *[np.sqrt(3)] * 3, 1.0, 0.05])
    covariance = np.linalg.inv(prior.precision)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), [2.0, *[np.sqrt(1.25)] * 3, 2.0, 1.0])
    np.testing.assert_allclose(covariance[1:4, 1:4] - 0.25 * np.eye(3), np.ones((3, 3)))
    np.testing.assert_array_equal(prior.gradient(prior.mean), 0)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf"])
def test_sparse_rows_and_weights_have_the_prior_of_dense_rows_and_copies(name, rng):
    """Once wrong: a linear kernel on sparse rows had none, and fell over."""
    X = rng.normal(size=(300, 4)) * (rng.random((300, 4)) < 0.5)
    kernel = with_bias(make_kernel(name, X), 1.0, tuned=True)
    dense = weak_hyper_prior(kernel, X, Step())
    np.testing.assert_allclose(weak_hyper_prior(kernel, sparse.csr_array(X), Step()).mean, dense.mean)
    weights = rng.integers(1, 5, 300)
    weighted = weak_hyper_prior(kernel, X, Step(), weights=weights.astype(float))
    np.testing.assert_allclose(weighted.mean, weak_hyper_prior(kernel, np.repeat(X, weights, axis=0), Step()).mean)


@pytest.mark.parametrize("shape", [(40, 2), (30, 300)], ids=["separable", "wide"])
def test_separable_and_wide_data_end_inside_the_bounds(shape):
    X = np.random.default_rng(1).normal(size=shape)
    y = X[:, 0] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BayesPointClassifier(None).fit(X, y)
    theta, bounds = model.kernel_.theta, model.kernel_.bounds
    assert np.all((theta > bounds[:, 0] + 1) & (theta < bounds[:, 1] - 1))
    with pytest.warns(InferenceWarning, match=r"^Hyper-parameters at a bound .*: amplitude 316 \(of .* to 316\)"):
        BayesPointClassifier(None, hyper_prior=None).fit(X, y)


def test_the_evidence_stays_the_evidence(plane):
    X, y = plane
    model = BayesPointClassifier(None, calibration=None).fit(X, y)
    again = BayesPointClassifier(model.kernel_, bias=model.bias_, optimizer=None).fit(X, y)
    assert again.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-5)
    assert again.log_posterior_ == again.log_evidence_
    assert model.log_posterior_ < model.log_evidence_
    free = BayesPointClassifier(None, hyper_prior=None).fit(X, y)
    assert free.log_evidence_ >= model.log_evidence_ - 1e-6
    assert free.log_posterior_ == free.log_evidence_


def test_parameters_at_bounds_are_told_by_name(recwarn):
    inside = Model(with_bias(RBF(2.0, (1.0, 5.0)), 1.0, tuned=True), Step())
    warn_at_bounds([inside])
    assert not recwarn
    outside = Model(with_bias(RBF([2.0, 5.0], (1.0, 5.0)), 0.01, tuned=True), Step(), name="relevance")
    with pytest.warns(InferenceWarning) as caught:
        warn_at_bounds([inside, outside])
    message = str(caught[0].message)
    assert "length scale 1 5 (of 1 to 5) of kernel 'relevance', bias 0.01 (of 0.01 to 100) of kernel" in message


def test_parameters_go_by_the_names_that_people_have_for_them():
    kernel = with_bias(2.0 * RBF([1.0, 2.0]), 1.0, tuned=True)
    named = ["amplitude", "length scale 0", "length scale 1", "bias", "noise"]
    assert parameter_names(Model(kernel, Step(0.1), ("noise",))) == named


def test_centres_and_spreads_of_every_parameter(rng):
    """Amplitudes lift the variance to four, with a spread of two; the others stay where they are, with one."""
    X = 3 * rng.normal(size=(30, 2))
    likelihood, free = Step(0.05, 0.5), ("noise", "softness")
    kernel = with_bias(2.0 * RBF(3.0), 1.0, tuned=True)
    prior = weak_hyper_prior(kernel, X, likelihood, free)
    np.testing.assert_allclose(np.exp(prior.mean), [4.0, 3.0, 1.0, 0.05, 0.5])
    np.testing.assert_allclose(prior.precision, np.diag([1 / 4, 1, 1 / 4, 1, 1]))
    linear = with_bias(ConstantKernel(1.0) * DotProduct(0.0, "fixed"), 1.0)
    mean = weak_hyper_prior(linear, X, likelihood).mean
    assert np.exp(mean) == pytest.approx(4 / np.mean(np.sum(X**2, axis=1)))
    half = np.r_[np.ones(15), np.zeros(15)]
    mean = weak_hyper_prior(linear, X, likelihood, weights=half).mean
    assert np.exp(mean) == pytest.approx(4 / np.mean(np.sum(X[:15] ** 2, axis=1)))


def test_a_parameter_of_another_kind_has_no_prior():
    kernel = with_bias(ConstantKernel(1.0, "fixed") * DotProduct(2.0), 1.0)
    prior = weak_hyper_prior(kernel, np.eye(2), Step(softness=1.0))
    assert np.exp(prior.mean) == pytest.approx(2.0)
    np.testing.assert_array_equal(prior.precision, [[0.0]])


def test_a_kernel_of_fixed_parameters_has_no_prior():
    kernel = with_bias(ConstantKernel(2.0, "fixed") * RBF(1.0, "fixed"), 1.0)
    assert weak_hyper_prior(kernel, np.eye(2), Step(softness=1.0)).precision.shape == (0, 0)
