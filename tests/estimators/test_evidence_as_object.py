"""The evidence at any hyper-parameters, and climbs that a user brings."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from sklearn.gaussian_process.kernels import RBF, CompoundKernel, DotProduct

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier
from bayespoint.engines import EP, Billiard
from bayespoint.exceptions import InvalidProblemError

EXACT = EP(tolerance=1e-10)
MODELS = {
    "one": BayesPointClassifier(2.0 * RBF(1.0), engine=EXACT, optimizer=None),
    "each feature": BayesPointClassifier(2.0 * RBF([1.0, 2.0]), engine=EXACT),
    "bias and noise": BayesPointClassifier("rbf", noise="evidence", engine=EXACT, random_state=0),
    "landmarks": BayesPointClassifier(2.0 * RBF(1.0), max_rank=8, engine=EXACT, optimizer=None),
    "linear": BayesPointClassifier("linear", engine=EXACT),
    "several": BayesPointClassifier(engine=EXACT, random_state=0),
    "machine": BayesianSVC(engine=EXACT, optimizer="evidence", evidence="naive"),
    "balanced": BayesPointClassifier("rbf", class_weight="balanced", engine=EXACT),
}


@pytest.mark.parametrize(
    ("name", "classes"), [*((name, 2) for name in MODELS), ("one", 3), ("landmarks", 3), ("linear", 3)]
)
def test_gradients_are_those_of_differences(name, classes, blobs, triplets):
    X, y = blobs if classes == 2 else triplets
    model = MODELS[name].fit(X, y)
    theta = model.fitted_.model.theta + 0.3
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert value == pytest.approx(model.log_marginal_likelihood(theta), abs=1e-12)
    near = approx_fprime(theta, model.log_marginal_likelihood, 1e-5)
    np.testing.assert_allclose(gradient, near, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("name", MODELS)
def test_what_was_found_is_what_is_kept(name, blobs):
    model = MODELS[name].fit(*blobs)
    theta = model.fitted_.model.theta
    assert model.log_marginal_likelihood() == model.log_evidence_
    assert model.log_marginal_likelihood(theta) == pytest.approx(model.log_evidence_, abs=1e-6)
    of_kernel = model.kernel_.theta
    assert model.log_marginal_likelihood(of_kernel) == pytest.approx(model.log_evidence_, abs=1e-6)
    value, slope = model.log_marginal_likelihood(of_kernel + 0.1, eval_gradient=True)
    assert slope.shape == of_kernel.shape
    varied = np.r_[of_kernel + 0.1, theta[len(of_kernel) :]]
    assert value == pytest.approx(model.log_marginal_likelihood(varied), abs=1e-9)
    _, everything = model.log_marginal_likelihood(eval_gradient=True)
    assert everything.shape == theta.shape


def test_the_maximum_is_one(blobs):
    model = BayesPointClassifier("rbf", hyper_prior=None, engine=EXACT).fit(*blobs)
    _, slope = model.log_marginal_likelihood(eval_gradient=True)
    inside = np.all(np.abs(model.fitted_.model.theta[:, None] - model.fitted_.model.bounds) > 1e-3, axis=1)
    assert inside.any()
    np.testing.assert_allclose(slope[inside], 0.0, atol=1e-3)


@pytest.mark.filterwarnings("ignore:The chains")
def test_a_sampled_posterior_has_the_evidence_of_expectation_propagation(blobs):
    model = BayesPointClassifier(2.0 * RBF(1.0), optimizer=None, engine=Billiard(draws=50), random_state=0).fit(*blobs)
    by_ep = BayesPointClassifier(2.0 * RBF(1.0), optimizer=None).fit(*blobs)
    assert model.log_evidence_ is None
    assert model.log_marginal_likelihood() == pytest.approx(by_ep.log_evidence_, abs=1e-6)


def test_what_is_no_theta_is_told(blobs):
    model = BayesPointClassifier(2.0 * RBF(1.0)).fit(*blobs)
    for theta in ([0.0], np.zeros(5), [np.nan, 0.0]):
        with pytest.raises(InvalidProblemError, match="theta must hold 2 finite log-parameters"):
            model.log_marginal_likelihood(theta)
    stream = BayesPointClassifier("linear").partial_fit(*blobs, classes=[0, 1])
    with pytest.raises(InvalidProblemError, match="no longer at hand"):
        stream.log_marginal_likelihood(stream.kernel_.theta)
    assert not hasattr(GaussianMarginClassifier(), "log_marginal_likelihood")  # its posterior is not Bayes' rule


def by_scipy(obj_func, initial_theta, bounds):
    found = minimize(obj_func, initial_theta, jac=True, bounds=bounds, method="L-BFGS-B")
    return found.x, found.fun


def without_gradient(obj_func, initial_theta, bounds):
    found = minimize(lambda theta: obj_func(theta, eval_gradient=False), initial_theta, bounds=bounds)
    return found.x, found.fun


def nowhere(obj_func, initial_theta, bounds):
    return initial_theta, obj_func(initial_theta)[0]


@pytest.mark.parametrize("optimizer", [by_scipy, without_gradient])
@pytest.mark.parametrize(
    "model",
    [
        BayesPointClassifier("rbf", random_state=0),
        BayesianSVC(evidence="naive", optimizer="evidence"),
        BayesPointClassifier(None, noise="evidence"),
    ],
    ids=["point", "machine", "noise"],
)
def test_a_climb_of_ones_own_ends_at_the_same_place(optimizer, model, blobs):
    own = model.fit(*blobs).fitted_
    other = type(model)(**(model.get_params() | {"optimizer": optimizer})).fit(*blobs).fitted_
    assert other.log_posterior == pytest.approx(own.log_posterior, abs=1e-3)
    assert other.is_tuned


def test_what_it_returns_is_taken(blobs):
    start = 2.0 * RBF(0.3)
    model = BayesPointClassifier(start, bias=0.0, optimizer=nowhere).fit(*blobs)
    np.testing.assert_allclose(model.kernel_.theta, start.theta)
    every = BayesPointClassifier(optimizer=by_scipy, random_state=0).fit(*blobs)
    assert len(every.kernels_) >= 1


@pytest.mark.parametrize("answer", [None, ([0.0], 1.0), ([0.0, np.nan], 1.0)])
def test_what_is_no_answer_is_told(answer, blobs):
    model = BayesPointClassifier(2.0 * RBF(0.3), bias=0.0, optimizer=lambda *_: answer)
    with pytest.raises(InvalidProblemError, match="optimizer must return a tuple of 2 finite log-parameters"):
        model.fit(*blobs)


@pytest.mark.parametrize("kind", [BayesPointClassifier, BayesianSVC, GaussianMarginClassifier])
def test_kernels_side_by_side_are_refused(kind, blobs):
    with pytest.raises(InvalidProblemError, match="kernel cannot be a CompoundKernel"):
        kind(kernel=CompoundKernel([RBF(1.0), DotProduct()])).fit(*blobs)
