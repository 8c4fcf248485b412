"""Many classes of few rows: some of them choose the kernel, all of them are inferred."""

from collections import Counter

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from bayespoint import BayesPointClassifier, Choice, GaussianMarginClassifier
from bayespoint.engines import EP
from bayespoint.estimators import _bayes_point, _fit, _search
from bayespoint.tuning.climb import infer_candidate


@pytest.fixture
def crowd(rng):
    """Twenty-one classes of two rows, and seven of four, in the plane."""
    y = np.r_[np.repeat(np.arange(21), 2), np.repeat(np.arange(21, 28), 4)]
    return 4 * rng.normal(size=(28, 2))[y] + 0.5 * rng.normal(size=(len(y), 2)), y


@pytest.fixture
def asked(monkeypatch):
    """How often expectation propagation was asked for so many problems at once."""
    counts = Counter()
    infer_all = EP.infer_all

    def counting(self, problems, *args, **options):
        counts[len(problems)] += 1
        return infer_all(self, problems, *args, **options)

    monkeypatch.setattr(EP, "infer_all", counting)
    return counts


def test_some_classes_choose_the_kernel_of_all(crowd, asked, monkeypatch):
    X, y = crowd
    some = BayesPointClassifier("rbf").fit(X, y)
    assert set(asked) == {4, 20, 28}
    assert asked[4] + asked[20] > 3 * asked[28] > 0  # the climbs, and what they ended with
    monkeypatch.setattr(_fit, "MOST_CLASSES", 28)
    whole = BayesPointClassifier("rbf").fit(X, y)
    np.testing.assert_allclose(some.kernel_.theta, whole.kernel_.theta, atol=0.3)
    assert whole.log_posterior_ - 1 < some.log_posterior_ < whole.log_posterior_ + 0.1
    np.testing.assert_allclose(some.predict_proba(X), whole.predict_proba(X), atol=0.1)


@pytest.mark.parametrize("kernel", ["rbf", "auto"])
def test_a_few_classes_go_ahead_and_all_of_them_end_the_climb(kernel, asked, rng, monkeypatch):
    centres = 3 * rng.normal(size=(7, 2))
    y = np.repeat(np.arange(7), 9)
    X = centres[y] + rng.normal(size=(63, 2))
    few = BayesPointClassifier(kernel).fit(X, y)
    assert set(asked) == {4, 7}
    assert asked[4] > asked[7] / 2
    asked.clear()
    monkeypatch.setattr(_bayes_point, "_AHEAD", 7)
    whole = BayesPointClassifier(kernel).fit(X, y)
    assert set(asked) == {7}
    np.testing.assert_allclose(few.log_posterior_, whole.log_posterior_, atol=1.0)
    np.testing.assert_allclose(few.predict_proba(X), whole.predict_proba(X), atol=0.1)  # fewer kernels are mixed
    assert np.abs(few.predict_proba(X) - whole.predict_proba(X)).mean() < 0.01


def test_one_model_of_all_classes_begins_with_kernels_of_each_against_the_rest(asked, rng):
    y = np.repeat(np.arange(5), 10)
    X = 2 * rng.normal(size=(5, 2))[y] + rng.normal(size=(50, 2))
    model = BayesPointClassifier(decision="joint").fit(X, y)
    assert set(asked) == {1, 4, 5}
    for one, _ in model._parts():  # each has climbed its own evidence: no slope is left
        fitted = one.fitted_
        assert isinstance(fitted.model.likelihood, Choice)
        found = infer_candidate(fitted.model, fitted.view, [y], None, EP())
        slope = found.evidence_gradient() + fitted.model.prior.gradient(fitted.model.theta)
        inside = (fitted.model.theta > fitted.model.bounds[:, 0]) & (fitted.model.theta < fitted.model.bounds[:, 1])
        assert np.abs(slope[inside]).max() < 0.5


def test_all_classes_are_inferred_with_the_kernel_chosen(crowd):
    X, y = crowd
    model = BayesPointClassifier("rbf").fit(X, y)
    exact = infer_candidate(
        model.fitted_.model, model.fitted_.view, [2.0 * (y == c) - 1 for c in range(28)], None, EP(tolerance=1e-8)
    )
    assert len(model.posterior_) == 28
    assert model.log_evidence_ == pytest.approx(exact.log_evidence, abs=1e-5)
    prior = model.fitted_.model.prior
    assert model.log_posterior_ == pytest.approx(model.log_evidence_ + prior.log_density(model.fitted_.model.theta))


def test_rare_and_frequent_classes_choose(crowd):
    _, y = crowd
    chosen = _fit._some_classes([2.0 * (y == c) - 1 for c in range(28)], 20)
    assert len(set(chosen)) == 20
    assert sum(k >= 21 for k in chosen) == 5  # a quarter of all has four rows


def test_more_classes_together_than_can_be_are_refused_before_any_work():
    X, y = np.arange(66.0)[:, None], np.repeat(np.arange(33), 2)
    with pytest.raises(ValueError, match="takes too long beyond 32 classes"):
        BayesPointClassifier(decision="joint").fit(X, y)


@pytest.mark.parametrize(("decision", "classes"), [("bayes_point", 3), ("joint", 3), ("bayes_point", 2)])
def test_sites_of_several_classes_settle_to_a_thousandth_where_rows_are_many(decision, classes, rng, monkeypatch):
    y = rng.integers(classes, size=210)
    X = 2 * rng.normal(size=(classes, 2))[y] + rng.normal(size=(210, 2))
    monkeypatch.setattr(_fit, "FEW_ROWS", 200)
    model = BayesPointClassifier("rbf", decision=decision).fit(X, y)
    fitted = model.fitted_
    assert {one.engine.tolerance for one in fitted.posteriors} == {1e-6 if classes == 2 else 1e-3}
    close = infer_candidate(fitted.model, fitted.view, [one.problem.y for one in fitted.posteriors], None, EP())
    assert model.log_evidence_ == pytest.approx(close.log_evidence, abs=1e-5)
    for one, other in zip(fitted.posteriors, close.posteriors, strict=True):
        assert np.abs(one.mean - other.mean).max() < 3e-3 * np.sqrt(other.variance.max())


def test_climbs_go_on_from_their_own_sites(rng, monkeypatch):
    y = np.repeat(np.arange(6), 11)
    X = 3 * rng.normal(size=(6, 2))[y] + rng.normal(size=(66, 2))
    monkeypatch.setattr(_fit, "FEW_ROWS", 50)
    later, choose = [], _search.choose

    def choosing(recipe, ready, *args):
        if len(args) == 4 and args[2] == recipe.stages[1:]:
            later.append((ready.model.name, args[3].model.name, len(args[3].posteriors)))
        return choose(recipe, ready, *args)

    monkeypatch.setattr(_search, "choose", choosing)
    BayesPointClassifier().fit(X, y)
    assert len(later) > 1
    assert all(name == start and count == 6 for name, start, count in later)


def test_kernels_that_lose_on_more_landmarks_are_not_inferred_on_all_rows(rng, monkeypatch):
    y = np.repeat(np.arange(5), 13)
    X = 3 * rng.normal(size=(5, 2))[y] + rng.normal(size=(65, 2))
    asked = []

    def stacked(recipe, ready, found):  # all alike at first, then the last one alone
        asked.append(len(found))
        return np.full(len(found), 1 / len(found)) if len(asked) == 1 else np.eye(len(found))[-1]

    monkeypatch.setattr(_search, "_stacked", stacked)
    model = BayesPointClassifier().fit(X, y)
    assert asked == [5, 5, 1]
    assert model.kernels_.keys() == {"relevance on ranks"}


@pytest.mark.parametrize(
    "model", [BayesPointClassifier(10.0 * RBF(1.0), optimizer=None), GaussianMarginClassifier("rbf")]
)
def test_the_largest_score_is_predicted(model):
    """Once wrong: scores were of each class against the rest, predictions of the largest latent."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [25, 10, 4])
    X, new = rng.normal(size=(39, 2)) + 1.5 * np.eye(3)[y][:, :2], 2 * rng.normal(size=(2000, 2))
    mean, variance = model.fit(X, y).latent(new)
    assert np.any((mean / np.sqrt(variance)).argmax(axis=1) != model.predict(new))
    np.testing.assert_array_equal(model.decision_function(new).argmax(axis=1), model.predict(new))
