"""Several sets of hyper-parameters: the weights are those of the evidence, and the estimator averages over them."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from bayespoint import BayesianSVC, Step
from bayespoint.engines import EP
from bayespoint.exceptions import InvalidProblemError
from bayespoint.kernels import with_bias
from bayespoint.tuning import Model, infer_candidate, maximise_evidence, plausible_candidates

X, Y = make_moons(60, noise=0.2, random_state=0)
TARGETS = [np.where(Y > 0, 1.0, -1.0)]


def test_weights_are_those_of_an_integral():
    model = Model(with_bias(ConstantKernel(4.0, "fixed") * RBF(1.0, (1e-2, 1e2)), 1.0), Step(softness=1.0))
    best = maximise_evidence(model, X, TARGETS)
    sets = plausible_candidates(best, X, TARGETS, None, EP(), count=200, rng=0)
    grid = np.linspace(*model.bounds[0], 100)
    evidence = np.array([infer_candidate(model.at(np.array([t])), X, TARGETS, None, EP()).log_evidence for t in grid])
    density = np.exp(evidence - evidence.max())
    density /= density.sum()
    truth = density @ grid, density @ grid**2 - (density @ grid) ** 2
    theta = np.array([one.candidate.model.theta[0] for one in sets])
    weight = np.array([one.weight for one in sets])
    mean = weight @ theta
    assert mean == pytest.approx(truth[0], abs=4.5 * np.sqrt(truth[1] / 100))
    assert weight @ np.square(theta - mean) == pytest.approx(truth[1], rel=0.4)
    assert np.all(np.diff(weight) <= 0)


def test_parameters_on_a_bound_stay_there():
    kernel = with_bias(ConstantKernel(4.0, "fixed") * RBF(1.0, (1e-2, 0.3)), 1.0)
    best = maximise_evidence(Model(kernel, Step(softness=1.0)), X, TARGETS)
    assert best.model.theta[0] == pytest.approx(np.log(0.3))
    (only,) = plausible_candidates(best, X, TARGETS, None, EP(), rng=0)
    assert only.candidate is best
    assert only.weight == 1


@pytest.fixture(scope="module")
def averaged():
    return BayesianSVC(optimizer="evidence", average=True, random_state=0).fit(X, Y)


def test_probabilities_are_weighted_means(averaged):
    assert len(averaged.members_) > 3
    assert averaged.member_weights_.sum() == pytest.approx(1.0)
    parts = np.array([member.predict_proba(X) for member in averaged.members_])
    np.testing.assert_allclose(averaged.predict_proba(X), np.tensordot(averaged.member_weights_, parts, 1), rtol=1e-12)
    assert np.ptp(parts[:, 0, 1]) > 1e-3  # members differ


def test_decisions_agree_with_probabilities(averaged):
    np.testing.assert_array_equal(averaged.predict(X), averaged.predict_proba(X).argmax(axis=1))
    np.testing.assert_array_equal(averaged.decision_function(X) > 0, averaged.predict(X) == 1)


def test_the_model_can_be_kept(averaged):
    again = pickle.loads(pickle.dumps(averaged))
    np.testing.assert_array_equal(again.predict_proba(X), averaged.predict_proba(X))


def test_a_second_fit_forgets_the_members_of_the_first():
    model = BayesianSVC(optimizer="evidence", average=True, random_state=0).fit(X, Y)
    first = model.predict_proba(X)
    np.testing.assert_array_equal(model.fit(X, Y).predict_proba(X), first)
    assert not hasattr(model.members_[0], "members_")
    model.set_params(average=False, optimizer=None).fit(X, Y)
    assert not hasattr(model, "members_")


def test_several_classes():
    inputs, labels = load_iris(return_X_y=True)
    rows = slice(None, None, 5)
    model = BayesianSVC(optimizer="evidence", average=True, random_state=0).fit(inputs[rows], labels[rows])
    proba = model.predict_proba(inputs)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.decision_function(inputs).argmax(axis=1), model.predict(inputs))


def test_draws_of_every_set():
    model = BayesianSVC(optimizer="evidence", average=True, engine="sample", random_state=0).fit(X, Y)
    assert all(hasattr(member.posterior_, "coordinates") for member in model.members_)


def test_nothing_to_average_over():
    with pytest.raises(InvalidProblemError, match="set optimizer='evidence'"):
        BayesianSVC(average=True).fit(X, Y)
