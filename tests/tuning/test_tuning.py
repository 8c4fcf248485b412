from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from bayespoint import BayesPointClassifier, Step
from bayespoint.engines import EP
from bayespoint.exceptions import InvalidProblemError
from bayespoint.tuning import Candidate, Model, infer_candidate, maximise_evidence
from bayespoint.tuning.climb import _Climb


@pytest.fixture
def data(blobs):
    X, y = blobs
    return X, [np.where(y == 1, 1.0, -1.0)]


def model(**options):
    return Model(ConstantKernel(1.0, (1e-3, 1e3)) * RBF(1.0, (1e-2, 1e2)), Step(softness=1.0), **options)


def test_theta_holds_the_free_parameters_in_order():
    free = Model(2.0 * RBF(3.0), Step(0.1, 0.5), ("noise", "softness"))
    np.testing.assert_allclose(np.exp(free.theta), [2.0, 3.0, 0.1, 0.5])
    assert free.bounds.shape == (4, 2)
    moved = free.at(np.log([4.0, 5.0, 0.2, 0.7]))
    np.testing.assert_allclose(np.exp(moved.theta), [4.0, 5.0, 0.2, 0.7])
    np.testing.assert_allclose(np.exp(free.theta), [2.0, 3.0, 0.1, 0.5])


def test_the_slope_vanishes_at_the_top(data):
    X, targets = data
    best = maximise_evidence(model(), X, targets)
    start = infer_candidate(model(), X, targets, None, EP())
    assert best.log_evidence > start.log_evidence
    lower, upper = best.model.bounds.T
    inside = (best.model.theta > lower + 1e-6) & (best.model.theta < upper - 1e-6)
    assert inside.any()
    assert np.abs(start.evidence_gradient()).max() > 0.1
    assert np.abs(best.evidence_gradient()[inside]).max() < 1e-2


def test_several_labels_share_one_kernel(data):
    X, (y,) = data
    one, two = (maximise_evidence(model(), X, targets) for targets in ([y], [y, -y]))
    assert len(two.posteriors) == 2
    assert two.log_evidence == pytest.approx(2 * one.log_evidence, rel=1e-5)


def test_noise_and_softness_are_climbed_too(data):
    X, (y,) = data
    y = y.copy()
    y[[0, 39]] *= -1
    fixed = Model(model().kernel, Step(0.05, 0.5))
    free = Model(model().kernel, Step(0.05, 0.5), ("noise", "softness"))
    assert maximise_evidence(free, X, [y]).log_evidence > maximise_evidence(fixed, X, [y]).log_evidence


def test_restarts_keep_the_best_climb(data):
    X, targets = data
    stuck = Model(ConstantKernel(1.0, "fixed") * RBF(1.0, (1e-2, 1e2)), Step(softness=1.0)).at(np.log([1.01e-2]))
    rng = np.random.default_rng(0)
    starts = [stuck.theta, *(rng.uniform(*stuck.bounds.T) for _ in range(4))]
    each = [maximise_evidence(stuck.at(theta), X, targets).log_evidence for theta in starts]
    several = maximise_evidence(stuck, X, targets, n_restarts=4, rng=np.random.default_rng(0))
    assert several.log_evidence == pytest.approx(max(each), abs=1e-6)
    again = maximise_evidence(stuck, X, targets, n_restarts=4, rng=np.random.default_rng(0))
    assert again.log_evidence == several.log_evidence


def test_restarts_need_finite_bounds(data):
    X, targets = data
    endless = Model(RBF(1.0, (1e-2, np.inf)), Step(softness=1.0))
    with pytest.raises(InvalidProblemError, match="make all of them finite"):
        maximise_evidence(endless, X, targets, n_restarts=1)


def test_nothing_free_is_a_single_inference(data):
    X, targets = data
    fixed = Model(RBF(1.0, "fixed"), Step(softness=1.0))
    once = infer_candidate(fixed, X, targets, None, EP())
    assert maximise_evidence(fixed, X, targets).log_evidence == pytest.approx(once.log_evidence, abs=1e-8)


def test_a_callback_sees_better_and_better_candidates_and_can_stop(data):
    X, targets = data
    seen = []

    def third(best):
        seen.append(best.log_evidence)
        return len(seen) == 3

    stopped = maximise_evidence(model(), X, targets, n_restarts=5, on_iteration=third)
    assert len(seen) == 3
    assert seen == sorted(seen)
    assert stopped.log_evidence >= seen[-1]


def test_who_stops_at_once_pays_for_no_restart(data, monkeypatch):
    X, targets = data
    begun = []
    run = _Climb.run
    monkeypatch.setattr(_Climb, "run", lambda self, *args: begun.append(args[1]) or run(self, *args))
    maximise_evidence(model(), X, targets, n_restarts=5, on_iteration=lambda best: True)
    assert len(begun) == 1


def test_what_has_no_evidence_is_the_worst(data):
    X, targets = data
    candidate = infer_candidate(model(), X, targets, None, EP())
    assert np.isfinite(candidate.merit)
    assert replace(candidate, log_evidence=None).merit == -np.inf
    assert replace(candidate, log_evidence=0.1).merit == -np.inf


def test_a_climb_goes_around_where_inference_breaks_down(data, monkeypatch):
    """There the search sees a high flat place, not an end."""
    X, targets = data
    merit = Candidate.merit.fget
    broken = lambda self: -np.inf if self.model.theta[1] > 0.4 else merit(self)  # noqa: E731
    monkeypatch.setattr(Candidate, "merit", property(broken))
    climb = _Climb((X, targets, None))
    value, slope = climb.negative_evidence(model().at([0.0, 1.0]).theta, model(), EP())
    assert np.isfinite(value)
    assert value > 1e6
    assert not slope.any()
    assert climb.last is None


class Interrupted(EP):
    """An engine during whose fourth run somebody presses Ctrl-C."""

    runs = 0

    def infer(self, *args, **options):
        type(self).runs += 1
        if type(self).runs == 4:
            raise KeyboardInterrupt
        return super().infer(*args, **options)


def test_an_interrupted_climb_says_where_it_stopped(data, monkeypatch):
    X, targets = data
    monkeypatch.setattr(Interrupted, "runs", 0)
    with pytest.raises(KeyboardInterrupt, match=r"Interrupted after 3 evaluations .* best log-evidence -\d.* kernel "):
        maximise_evidence(model(), X, targets, engine=Interrupted())


def test_an_interrupted_fit_leaves_the_estimator_as_it_was(blobs, monkeypatch):
    X, y = blobs
    classifier = BayesPointClassifier(None)
    monkeypatch.setattr(Interrupted, "runs", 0)
    with pytest.raises(KeyboardInterrupt, match="as it was before fit"):
        classifier.set_params(engine=Interrupted()).fit(X, y)
    assert not [name for name in vars(classifier) if name.endswith("_")]
    before = classifier.set_params(engine="ep").fit(X, y).predict_proba(X)
    monkeypatch.setattr(Interrupted, "runs", 0)
    with pytest.raises(KeyboardInterrupt):
        classifier.set_params(engine=Interrupted()).fit(X[:, :1], 1 - y)
    np.testing.assert_array_equal(classifier.predict_proba(X), before)


def test_a_climb_from_sites_of_a_similar_model_begins_there_and_ends_at_the_same_place(rng, monkeypatch):
    X = rng.normal(size=(80, 2))
    targets = [np.sign(X[:, 0] + 0.3 * rng.normal(size=80))]
    model = Model(1.0 * RBF(1.0) + ConstantKernel(1.0, "fixed"), Step(softness=1.0))
    cold = maximise_evidence(model, X, targets)
    sweeps, infer = [], EP.infer

    def counting(*args, **options):
        posterior = infer(*args, **options)
        sweeps.append(posterior.info["sweeps"])
        return posterior

    monkeypatch.setattr(EP, "infer", counting)
    warm = maximise_evidence(model.at(cold.model.theta), X, targets, start=cold)
    assert sweeps[0] == 0
    assert warm.merit == pytest.approx(cold.merit, abs=1e-3)


def test_roughly_is_near_the_maximum_and_takes_fewer_sweeps(rng, monkeypatch):
    X = rng.normal(size=(80, 3))
    targets = [np.sign(X[:, 0] + 0.3 * rng.normal(size=80)), np.sign(X[:, 1] - X[:, 2])]
    model = Model(1.0 * RBF(np.ones(3)) + ConstantKernel(1.0), Step(softness=1.0))
    whole, about = [], []
    infer = EP.infer
    for seen in (whole, about):
        monkeypatch.setattr(EP, "infer", lambda *args, seen=seen, **way: seen.append(infer(*args, **way)) or seen[-1])
        seen.append(maximise_evidence(model, X, targets, roughly=seen is about))
    assert sum(one.info["sweeps"] for one in about[:-1]) < 0.9 * sum(one.info["sweeps"] for one in whole[:-1])
    assert whole[-1].merit - 0.3 < about[-1].merit < whole[-1].merit + 1e-2
    assert about[-1].posteriors[0].error <= 1e-6  # what it ends with is no rougher
