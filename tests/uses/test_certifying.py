import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler, scale
from sklearn.svm import SVC

from bayespoint import BayesPointClassifier, GaussianMarginClassifier
from bayespoint.bounds import binomial_bound
from bayespoint.engines import Billiard
from bayespoint.estimators import CertifiedDraw
from bayespoint.exceptions import InvalidProblemError
from bayespoint.uses import certify

KERNEL = 4.0 * RBF(1.5)
KINDS = ("pac-bayes", "disintegrated", "held-out")


def fixed(kernel=KERNEL, **options):
    return BayesPointClassifier(kernel, optimizer=None, **options)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(200, 2)) * [3.0, 0.5] + 1
    return X, np.array(["no", "yes"])[(X[:, 0] + X[:, 1] + rng.normal(size=200) > 2).astype(int)]


def parts_of(n, fraction, seed):
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[: round(fraction * n)]), np.sort(order[round(fraction * n) :])


def refused(match):
    return pytest.raises(InvalidProblemError, match=rf"(?s)^(?=\w).*{match}.*\.$")


class Untouchable(BayesPointClassifier):
    """Nothing is to be fitted."""

    def fit(self, X, y, sample_weight=None):
        raise AssertionError("fitted, although all was known before")


# -- held out ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [fixed(), make_pipeline(StandardScaler(), fixed()), LogisticRegression(), make_pipeline(StandardScaler(), SVC())],
    ids=["ours", "pipeline", "theirs", "their pipeline"],
)
def test_held_out_rows_are_counted_after_a_fit_on_the_others(estimator, data):
    X, y = data
    found = certify(estimator, X, y, method="held-out", prior_fraction=0.4, delta=0.1, random_state=7)
    train, test = parts_of(200, 0.4, 7)
    alone = clone(estimator).fit(X[train], y[train])
    np.testing.assert_array_equal(found.classifier.predict(X), alone.predict(X))
    assert found.bound == binomial_bound(int(np.sum(alone.predict(X[test]) != y[test])), 120, 0.1)
    assert (found.kind, found.n, found.gibbs) == ("held-out", 120, None)
    assert found.as_a_test_set == found.bound
    assert found.constant_error == pytest.approx(min(np.mean(y[test] == "no"), np.mean(y[test] == "yes")))
    assert found.basis == "a fit on 80 of 200 rows, tested on the others"


def test_a_precomputed_kernel_is_split_both_ways(data):
    X, y = data
    found = certify(SVC(kernel="precomputed"), KERNEL(X), y, method="held-out", prior_fraction=0.5, random_state=0)
    plain = certify(SVC(kernel=KERNEL), X, y, method="held-out", prior_fraction=0.5, random_state=0)
    assert found.bound == plain.bound


def test_rows_that_are_judged_together_are_refused(data):
    X, y = data
    with refused("gives rows other features in other company"):
        certify(
            make_pipeline(FunctionTransformer(scale), LogisticRegression()),
            X,
            y,
            method="held-out",
            prior_fraction=0.5,
            random_state=0,
        )


def test_rows_of_one_class_cannot_be_fitted(rng):
    """Shares that have no rare row among their own are passed over; where none has, one sentence says so."""
    X, y, order = rng.normal(size=(200, 2)), np.zeros(200, dtype=int), np.random.default_rng(3).permutation(200)
    with refused("All 100 rows to fit on are of one class: raise prior_fraction"):
        y[order[150]] = 1
        certify(LogisticRegression(), X, y, method="held-out", prior_fraction=0.5, random_state=3)
    assert certify(LogisticRegression(), X, y, random_state=3).n == 40
    y[order[150]], y[order[190]] = 0, 1
    with refused("All 160 rows to fit on are of one class"):
        certify(LogisticRegression(), X, y, random_state=3)
    for method in ("auto", "pac-bayes", "disintegrated"):  # classifiers of our own, too, and by all rows that there are
        with refused(r"All \d+ rows to fit on are of one class: raise prior_fraction"):
            certify(BayesPointClassifier("linear", optimizer=None), X, y, method=method, random_state=3)


def test_held_out_rows_need_others(data):
    with refused("Held-out rows need others to fit on: prior_fraction must be above 0"):
        certify(Untouchable(KERNEL), *data, method="held-out", prior_fraction=0)


# -- drawn ------------------------------------------------------------------------------------------------------------


def test_a_draw_is_that_of_the_classifier_itself(data):
    X, y = data
    found = certify(fixed(), X, y, method="disintegrated", prior_fraction=0.4, random_state=7)
    assert isinstance(found.classifier, CertifiedDraw)
    assert found.kind == "disintegrated"
    _, test = parts_of(200, 0.4, 7)
    wrong = np.mean(found.classifier.predict(X[test]) != y[test])
    assert found.bound.terms["training error"] == pytest.approx(wrong)
    assert wrong < found.bound.value < 0.5


def test_a_pipeline_ends_in_the_draw(data):
    X, y = data
    model = make_pipeline(StandardScaler(), fixed())
    found = certify(model, X, y, method="disintegrated", prior_fraction=0.4, random_state=7)
    train, test = parts_of(200, 0.4, 7)
    np.testing.assert_allclose(found.classifier[0].mean_, X[train].mean(axis=0))
    assert found.bound.terms["training error"] == pytest.approx(np.mean(found.classifier.predict(X[test]) != y[test]))


# -- the plan ---------------------------------------------------------------------------------------------------------


def test_the_plan_has_not_seen_the_rows_of_the_bound(data):
    """Whatever their labels are, kind and share are the same; with other labels of the pilot they are not told so."""
    X, y = data
    order = np.random.default_rng(3).permutation(200)
    noise = y.copy()
    noise[order[160:]] = np.where(y[order[160:]] == "no", "yes", "no")  # 0.8 is the largest share
    first, second = (certify(fixed(), X, labels, random_state=3) for labels in (y, noise))
    assert first.plan == second.plan
    assert (first.kind, first.n) == (second.kind, second.n)
    assert second.bound.value > first.bound.value
    other = y.copy()
    other[order[:50]] = np.where(np.arange(50) % 2 == 0, "no", "yes")
    assert certify(fixed(), X, other, random_state=3).plan != first.plan


def test_the_smallest_expected_bound_is_taken(data):
    found = certify(fixed(), *data, random_state=0)
    assert set(found.plan) == set(KINDS)
    assert found.kind == min(found.plan, key=found.plan.get)
    assert f"chosen by a pilot, which expected: pac-bayes {found.plan['pac-bayes']:.4f}" in str(found)
    again = certify(fixed(), *data, method=found.kind, prior_fraction=1 - found.n / 200, random_state=0)
    assert again.kind == found.kind


@pytest.mark.parametrize("method", KINDS)
def test_a_kind_that_is_asked_for_is_given(method, data):
    found = certify(fixed(), *data, method=method, prior_fraction=0.5, random_state=0)
    assert (found.kind, found.n, found.plan) == (method, 100, {})


def test_a_share_of_its_own_is_planned_for_each_kind(data):
    X, y = data
    assert certify(fixed(), X, y, method="pac-bayes", random_state=0).n == 100
    planned = certify(fixed(), X, y, method="held-out", random_state=0)
    assert set(planned.plan) == {"held-out"}
    assert planned.n in (150, 130, 100, 70, 40)


def test_easy_rows_are_learned_from_few_and_tested_on_many(rng):
    """Two clusters far apart: no error is left to learn away, so that rows are worth more in the bound."""
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 2)) + 8 * y[:, None]
    assert certify(LogisticRegression(), X, y, random_state=0).n == 300


def test_others_are_held_out(data):
    found = certify(SVC(), *data, random_state=0)
    assert found.kind == "held-out"
    assert set(found.plan) == {"held-out"}


def test_few_rows_are_parted_in_halves(data):
    X, y = data
    found = certify(fixed(), X[:60], y[:60], random_state=0)
    assert (found.kind, found.n, found.plan) == ("held-out", 30, {})


@pytest.mark.parametrize(("kernel", "kind"), [("linear", "disintegrated"), (KERNEL, "pac-bayes")], ids=str)
def test_a_fixed_prior_has_no_pilot(kernel, kind, data):
    found = certify(fixed(kernel), *data, prior_fraction=0, random_state=0)
    assert (found.kind, found.n, found.plan) == (kind, 200, {})


def test_rare_classes_do_not_stop_the_pilot(rng):
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] > 2.2, "rare", "common")
    assert 1 <= np.sum(y == "rare") <= 8
    found = certify(fixed(), X, y, random_state=1)
    assert found.bound.value < 0.2


def test_several_classes(rng):
    X = rng.normal(size=(240, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    for method in ("auto", *KINDS):
        found = certify(fixed(), X, y, method=method, prior_fraction=0.5, random_state=0)
        assert found.bound.value < 1


# -- refused before anything is fitted ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"method": "best"}, "method must be 'auto' or one of"),
        ({"delta": 0.0}, "delta must lie strictly between 0 and 1"),
        ({"prior_fraction": 1.0}, "prior_fraction must be a share"),
        ({"prior_fraction": "half"}, "prior_fraction must be a share"),
        ({"X_test": np.ones((3, 2))}, "needs both X_test and y_test"),
        ({"X_test": np.ones((3, 2)), "y_test": [0, 1]}, "y_test must hold 3 labels"),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["auto", *KINDS])
def test_settings_are_checked_before_any_work(options, match, method, data):
    with refused(match):
        certify(Untouchable(KERNEL), *data, **{"method": method, **options})


@pytest.mark.parametrize("method", ["auto", *KINDS])
def test_rows_are_looked_at_before_any_work(method, data):
    """Once wrong: a minute of fitting, then that features have mean zero."""
    X, y = data
    with refused("features have mean zero"):
        certify(Untouchable(KERNEL), StandardScaler().fit_transform(X), y, method=method)
    with refused("each there 2 times"):
        certify(Untouchable(KERNEL), np.vstack([X, X]), np.r_[y, y], method=method)
    with refused("was fitted beforehand"):
        certify(make_pipeline(FrozenEstimator(StandardScaler().fit(X)), Untouchable(KERNEL)), X, y, method=method)


@pytest.mark.parametrize(
    ("classifier", "options", "match"),
    [
        (Untouchable(KERNEL), {"prior_fraction": 0}, "the kernel was tuned"),
        (Untouchable(KERNEL, optimizer=None, max_rank=10), {"prior_fraction": 0}, "the landmarks"),
        (Untouchable(None, optimizer=None), {"prior_fraction": 0}, "the scale of the kernel"),
        (Untouchable(KERNEL, engine=Billiard(draws=5)), {"method": "pac-bayes"}, "needs Gaussian posteriors"),
        (Untouchable(engine="perceptron"), {"method": "disintegrated"}, "needs Gaussian posteriors"),
    ],
    ids=["tuned", "landmarks", "scale", "draws", "perceptrons"],
)
def test_settings_of_the_classifier_are_looked_at_before_it_is_fitted(classifier, options, match, data):
    options = {"prior_fraction": 0.5} | options
    with refused(match):
        certify(classifier, *data, random_state=0, **options)


def test_what_was_drawn_is_not_certified_again(data):
    draw = certify(fixed(), *data, method="disintegrated", prior_fraction=0.5, random_state=0).classifier
    with refused("was fitted beforehand"):
        certify(draw, *data, method="held-out")


def test_text_among_numbers_is_looked_at_too(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 1, "high", "low")})
    assert certify(fixed(None), frame, y, method="held-out", prior_fraction=0.5, random_state=0).n == 100
    with refused("each there 3 times"):
        certify(Untouchable(None), pd.concat([frame] * 3), np.r_[y, y, y])


def test_margin_machines_are_planned_for_too(data):
    found = certify(GaussianMarginClassifier(), *data, random_state=0)
    assert set(found.plan) == set(KINDS)
