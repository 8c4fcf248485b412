import warnings

import numpy as np
import pytest
from sklearn.base import clone

from bayespoint import BayesPointClassifier, engines
from bayespoint.engines import EP, Billiard, ClassicBilliard, Corners, EllipticalSlice, GibbsSampler
from bayespoint.exceptions import InferenceWarning, InvalidProblemError
from bayespoint.posteriors import GaussianPosterior, SampledPosterior

NAMES = ["sample", "billiard", "elliptical-slice", "gibbs", "classic-billiard", "corners"]
OBJECTS = [
    Billiard(draws=300),
    EllipticalSlice(draws=300),
    GibbsSampler(draws=2000, chains=2),
    ClassicBilliard(tolerance=1e-2),
    Corners(),
]
KERNEL = {"kernel": "rbf", "optimizer": None}
QUICK = {**KERNEL, "engine": Billiard(draws=200, chains=2), "random_state": 0}

pytestmark = pytest.mark.filterwarnings("ignore:The chains have not mixed", "ignore:The billiard stopped after")


@pytest.mark.parametrize("engine", NAMES)
@pytest.mark.parametrize("decision", ["bayes_point", "vote"])
def test_every_engine_goes_by_name(engine, decision, blobs):
    X, y = blobs
    model = BayesPointClassifier(engine=engine, decision=decision, random_state=0, **KERNEL).fit(X, y)
    assert isinstance(model.posterior_, SampledPosterior)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.all((proba >= 0) & (proba <= 1))
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    assert model.score(X, y) > 0.65
    assert model.log_evidence_ is None


@pytest.mark.parametrize("engine", OBJECTS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("decision", ["bayes_point", "vote"])
def test_every_engine_is_an_object_too(engine, decision, blobs):
    X, y = blobs
    model = BayesPointClassifier(engine=engine, decision=decision, random_state=0, **KERNEL).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])
    assert model.score(X, y) > 0.65
    assert model.get_params()["engine"] is engine
    assert repr(clone(model).engine) == repr(engine)


def test_every_exact_engine_has_a_name():
    for_steps = set(engines.__all__) - {"Engine", "Laplace", "Margin"}  # machines of their own
    assert set(BayesPointClassifier._engine_names.values()) == for_steps


@pytest.mark.parametrize("engine", OBJECTS[:2], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("decision", ["bayes_point", "vote"])
def test_probabilities_are_near_those_of_expectation_propagation(engine, decision, blobs):
    X, y = blobs
    ep, sampled = (
        BayesPointClassifier(engine=e, decision=decision, random_state=0, **KERNEL).fit(X, y).predict_proba(X)
        for e in (EP(), engine)
    )
    assert np.abs(ep - sampled).max() < 0.1


@pytest.mark.parametrize("engine", ["billiard", "gibbs", "classic-billiard", "corners"])
@pytest.mark.parametrize("decision", ["bayes_point", "vote"])
def test_several_classes(engine, decision, triplets):
    X, y = triplets
    named = np.array(["ant", "bee", "cat"])[y]
    model = BayesPointClassifier(engine=engine, decision=decision, random_state=0, **KERNEL).fit(X, named)
    assert len(model.posterior_) == 3
    proba = model.predict_proba(X)
    assert proba.shape == (45, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    assert model.score(X, named) > 0.7
    assert model.decision_function(X).shape == (45, 3)


@pytest.mark.processor
@pytest.mark.parametrize("engine", [e for e in OBJECTS if not isinstance(e, Corners)], ids=lambda e: type(e).__name__)
def test_a_random_state_fixes_everything(engine, triplets):
    X, y = triplets
    model = BayesPointClassifier(engine=engine, random_state=3, **KERNEL)
    one, two, other = (clone(model).set_params(random_state=state).fit(X, y).predict_proba(X) for state in (3, 3, 4))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.processor
def test_jobs_change_nothing(triplets):
    X, y = triplets
    one, two = (BayesPointClassifier(**QUICK, n_jobs=jobs).fit(X, y).predict_proba(X) for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.processor
@pytest.mark.parametrize("decision", ["bayes_point", "vote"])
def test_rows_are_predicted_independently(decision, blobs, rng):
    X, y = blobs
    model = BayesPointClassifier(**QUICK, decision=decision).fit(X, y)
    together = model.predict_proba(X)
    np.testing.assert_allclose(together, np.vstack([model.predict_proba(row[None]) for row in X]), rtol=1e-9)
    order = rng.permutation(len(X))
    np.testing.assert_allclose(model.predict_proba(X[order]), together[order], rtol=1e-9)
    np.testing.assert_array_equal(model.predict_proba(X), together)


@pytest.mark.parametrize("decision", ["bayes_point", "vote"])
def test_the_score_has_the_sign_and_the_order_of_the_probability(decision, blobs):
    X, y = blobs
    model = BayesPointClassifier(**QUICK, decision=decision).fit(X, y)
    score, p = model.decision_function(X), model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(score > 0, p > 0.5)
    np.testing.assert_array_equal(np.argsort(score), np.argsort(p))


@pytest.mark.parametrize("engine", ["pinball", None, 3])
def test_an_unknown_engine_is_refused(engine, blobs):
    with pytest.raises(InvalidProblemError, match=r"^engine must be one of 'sample', 'ep', .* or an engine object"):
        BayesPointClassifier(engine=engine, **KERNEL).fit(*blobs)


def test_an_unknown_decision_is_refused(blobs):
    with pytest.raises(InvalidProblemError, match=r"^decision must be 'bayes_point', .* or 'vote', got 'coin'\.$"):
        BayesPointClassifier(decision="coin", **KERNEL).fit(*blobs)


def test_a_false_cell_leaves_the_estimator_unfitted(blobs):
    X, y = blobs
    model = BayesPointClassifier(engine="corners", noise=0.1, **KERNEL)
    with pytest.raises(InvalidProblemError, match=r"^Corners belong to version space: .*\.$"):
        model.fit(X, y)
    assert not hasattr(model, "posterior_")


@pytest.mark.filterwarnings("default:The chains have not mixed")
def test_chains_that_have_not_mixed_are_told(blobs):
    X, y = blobs
    engine = GibbsSampler(draws=20, warmup=0)
    with pytest.warns(InferenceWarning, match=r"^The chains have not mixed \(R-hat"):
        BayesPointClassifier(engine=engine, softness=0.01, random_state=0, **KERNEL).fit(X, y)


@pytest.mark.filterwarnings("error")
def test_the_default_billiard_mixes(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BayesPointClassifier(engine="billiard", random_state=0, **KERNEL).fit(*blobs)


def separable(blobs):
    X, _ = blobs
    return X, (X[:, 0] > 0).astype(int)


def test_draws_inside_hard_walls_leave_no_row_out(blobs):
    X, y = separable(blobs)
    hard, soft = (BayesPointClassifier(**QUICK, softness=softness).fit(X, y) for softness in (0.0, 1.0))
    assert not hasattr(hard, "loo_proba_")
    assert soft.loo_proba_.shape == (40, 2)
    assert hard.score(X, y) == 1.0
    gaussian = BayesPointClassifier(softness=0.0, **KERNEL).fit(X, y)
    assert gaussian.loo_proba_.shape == (40, 2)


def test_a_refit_forgets_the_rows_left_out(blobs):
    X, y = separable(blobs)
    model = BayesPointClassifier(**QUICK).fit(X, y)
    assert hasattr(model, "loo_proba_")
    assert not hasattr(model.set_params(softness=0.0).fit(X, y), "loo_proba_")


def test_the_kernel_is_chosen_by_expectation_propagation(blobs):
    X, y = blobs
    sampled = BayesPointClassifier(engine=Billiard(draws=200), random_state=0).fit(X, y)
    gaussian = BayesPointClassifier().fit(X, y)
    assert isinstance(gaussian.posterior_, GaussianPosterior)
    assert sampled.log_evidence_ == pytest.approx(gaussian.log_evidence_)
    np.testing.assert_allclose(sampled.kernel_.theta, gaussian.kernel_.theta)
    assert np.abs(sampled.predict_proba(X) - gaussian.predict_proba(X)).max() < 0.1


def test_sample_takes_slices_where_the_billiard_cannot_go(blobs):
    X, y = blobs
    weights = np.linspace(0.5, 2.0, 40)
    model = BayesPointClassifier(engine="sample", random_state=0, **KERNEL)
    assert isinstance(model.fit(X, y).posterior_.info["settings"], Billiard)
    assert isinstance(model.fit(X, y, sample_weight=weights).posterior_.info["settings"], EllipticalSlice)
    hard = clone(model).set_params(noise=0.1, softness=0.0)
    assert isinstance(hard.fit(X, y, sample_weight=weights).posterior_.info["settings"], Billiard)
