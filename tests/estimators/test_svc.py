"""The support vector machine with probabilities: what it shares with scikit-learn's, and what it adds."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

from bayespoint import BayesianSVC, Hinge, Problem
from bayespoint.engines import EP, Billiard
from bayespoint.engines.svm import support_vectors
from bayespoint.exceptions import InvalidProblemError

MODES = ["average", "mean", "map"]


@pytest.fixture(scope="module")
def moons():
    return make_moons(80, noise=0.25, random_state=0)


@pytest.mark.parametrize("probability", MODES)
@pytest.mark.parametrize("classes", [2, 4])
def test_predictions_follow_probabilities(probability, classes):
    X, y = make_blobs(90, centers=classes, cluster_std=2.5, random_state=1)
    model = BayesianSVC(C=2.0, probability=probability).fit(X, np.array(list("abcd"))[y])
    points = np.random.default_rng(0).normal(scale=8, size=(200, 2))
    p = model.predict_proba(points)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(points), model.classes_[p.argmax(axis=1)])
    scores = model.decision_function(points)
    decided = (scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(decided, p.argmax(axis=1))


@pytest.mark.processor
@pytest.mark.parametrize(("C", "kernel", "options"), [(1.0, "rbf", {}), (5.0, "poly", {"coef0": 1.0, "degree": 2})])
def test_with_a_large_bias_the_map_is_scikit_learns_machine(C, kernel, options, moons):
    X, y = moons
    ours = BayesianSVC(C, kernel, bias=100.0, probability="map", **options).fit(X, y)
    theirs = SVC(C=C, kernel=kernel, tol=1e-8, **options).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=5e-3)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.support_, np.sort(theirs.support_))
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)


def test_three_ways_to_a_probability(moons):
    """(33), (36) and (37) from the posterior of the core."""
    X, y = moons
    model = BayesianSVC(C=2.0, gamma=1.0).fit(X, y)
    gram = rbf_kernel(X, gamma=1.0) + 1.0
    problem = Problem(gram, 2 * y - 1, Hinge(2.0))
    posterior = EP().infer(problem)
    hinge = Hinge(2.0)
    expected = {
        "average": np.exp(hinge.log_probability(posterior.mean, posterior.variance)),
        "mean": expit(hinge.log_odds(posterior.mean)),
        "map": expit(hinge.log_odds(support_vectors(problem).latents)),
    }
    for mode, p in expected.items():
        np.testing.assert_allclose(model.set_params(probability=mode).predict_proba(X)[:, 1], p, atol=1e-6)


def test_the_fitted_attributes_are_those_of_the_dual(moons):
    X, y = moons
    model = BayesianSVC(C=2.0, gamma=1.0, probability="map").fit(X, y)
    cross = rbf_kernel(X, X[model.support_], gamma=1.0) + 1.0
    np.testing.assert_allclose(cross @ model.dual_coef_[0], model.decision_function(X), atol=1e-9)
    assert np.all(np.abs(model.dual_coef_) <= 2.0)
    assert model.n_support_.sum() == len(model.support_)
    assert model.noise_level_ == pytest.approx(0.5)
    assert model.log_evidence_ == pytest.approx(model.log_evidence("naive", "ep").value)


def test_weights_multiply_c(moons):
    X, y = moons
    weight = np.where(y == 1, 3.0, 0.5)
    by_row = BayesianSVC(gamma=1.0, probability="map").fit(X, y, sample_weight=weight)
    by_class = BayesianSVC(gamma=1.0, probability="map", class_weight={0: 0.5, 1: 3.0}).fit(X, y)
    theirs = SVC(gamma=1.0, tol=1e-8).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(by_row.decision_function(X), by_class.decision_function(X), atol=1e-7)
    assert np.abs(by_row.dual_coef_).max() == pytest.approx(np.abs(theirs.dual_coef_).max())


def test_sparse_and_precomputed_input_change_nothing(moons):
    X, y = moons
    dense = BayesianSVC(C=2.0, gamma=0.7).fit(X, y).predict_proba(X)
    loose = BayesianSVC(C=2.0, gamma=0.7).fit(sparse.csr_array(X), y).predict_proba(sparse.csr_array(X))
    gram = BayesianSVC(C=2.0, kernel="precomputed").fit(rbf_kernel(X, gamma=0.7), y)
    np.testing.assert_allclose(loose, dense, atol=1e-8)
    np.testing.assert_allclose(gram.predict_proba(rbf_kernel(X, gamma=0.7)), dense, atol=1e-8)


def test_the_polynomial_kernel_is_scikit_learns(moons):
    X, y = moons
    model = BayesianSVC(C=0.5, kernel="poly", degree=2, gamma=0.3, coef0=1.5).fit(X, y)
    np.testing.assert_allclose(model.kernel_(X), polynomial_kernel(X, degree=2, gamma=0.3, coef0=1.5), rtol=1e-10)


def test_draws_agree_with_expectation_propagation(moons, seed):
    X, y = moons
    model = BayesianSVC(C=2.0, gamma=1.0, random_state=seed)
    exact = clone(model).set_params(engine=Billiard(draws=1000)).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.fit(X, y).predict_proba(X), exact, atol=0.03)


def test_around_the_machine_itself(moons):
    """The mean of the Laplace approximation is the support vector machine."""
    X, y = moons
    around = BayesianSVC(C=2.0, gamma=1.0, engine="laplace", probability="mean").fit(X, y)
    itself = BayesianSVC(C=2.0, gamma=1.0, probability="map").fit(X, y)
    np.testing.assert_allclose(around.predict_proba(X), itself.predict_proba(X), atol=1e-8)
    assert np.all(around.latent(X).variance > 0)


def test_the_evidence_chooses_a_sensible_machine(moons):
    X, y = moons
    tuned = BayesianSVC(C=0.3, gamma=8.0, optimizer="evidence", random_state=0).fit(X, y)
    plain = BayesianSVC(C=0.3, gamma=8.0).fit(X, y)
    assert tuned.log_evidence("conditional").value > plain.log_evidence("conditional").value + 5
    X_new, y_new = make_moons(500, noise=0.25, random_state=1)
    assert tuned.score(X_new, y_new) > 0.9


def test_the_normalised_evidence_moves_along_one_machine(moons):
    """At fixed ``C K`` the support vector machine stays as it is; the normalised evidence is larger than before."""
    X, y = moons
    naive, conditional = (
        BayesianSVC(gamma=1.0, optimizer="evidence", evidence=kind, random_state=0).fit(X, y)
        for kind in ("naive", "conditional")
    )
    before, after = (model.log_evidence("conditional", se=0.05) for model in (naive, conditional))
    assert after.value > before.value + 3 * np.hypot(before.se, after.se)
    machines = [model.set_params(probability="map").decision_function(X + 0.1) for model in (naive, conditional)]
    np.testing.assert_allclose(*machines, atol=1e-6)


@pytest.mark.processor
def test_threads_do_not_matter(moons):
    X, y = moons
    fits = [BayesianSVC(C=2.0, gamma=1.0) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda model: model.fit(X, y).predict_proba(X), fits))
    for p in [*found[1:], fits[0].fit(X, y).predict_proba(X)]:
        np.testing.assert_array_equal(p, found[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"C": 0.0}, "C must be a number above 0"),
        ({"C": "much"}, "C must be a number above 0"),
        ({"kernel": "sigmoid"}, "a sigmoid is no valid kernel"),
        ({"gamma": -1.0}, "gamma must be 'scale', 'auto' or a number above 0"),
        ({"kernel": "poly", "coef0": -1.0}, "coef0 must be at least 0"),
        ({"probability": True}, "probability must be 'average', 'mean' or 'map'"),
        ({"optimizer": "grid"}, "optimizer must be 'evidence', None or a function"),
        ({"evidence": "none"}, "evidence must be 'conditional', 'joint' or 'naive'"),
        ({"engine": "pinball"}, "engine must be one of"),
        ({"bias": -1.0}, "bias must be a finite number of at least 0"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(options, words, moons):
    with pytest.raises(InvalidProblemError, match=rf"^[^\n]*{words}[^\n]*\.$"):
        BayesianSVC(**options).fit(*moons)


def test_kernel_objects_are_taken_as_they_are(moons):
    X, y = moons
    by_name = BayesianSVC(C=2.0, gamma=0.5).fit(X, y)
    by_object = BayesianSVC(C=2.0, kernel=RBF(1.0)).fit(X, y)
    np.testing.assert_allclose(by_name.predict_proba(X), by_object.predict_proba(X), atol=1e-9)


def test_a_naive_evidence_that_prefers_a_coin_does_not_have_its_way():
    """Forty noisy rows, to which the unnormalised evidence would rather give equal odds."""
    X, y = make_moons(40, noise=0.3, random_state=0)
    coin = BayesianSVC(optimizer="evidence", evidence="naive").fit(X, y)
    assert np.ptp(coin.predict_proba(X)) < 0.1
    model = BayesianSVC(optimizer="evidence", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.85
    assert model.log_evidence().value > 40 * np.log(0.5) + 3


def test_members_of_an_average_draw_by_their_weights():
    X, y = np.random.default_rng(0).normal(size=(12, 2)), np.tile([0, 1], 6)
    engine = Billiard(draws=1000, chains=1, warmup=5)
    model = BayesianSVC(optimizer="evidence", evidence="naive", average=True, engine=engine, random_state=0).fit(X, y)
    draws = [member.posterior_.latents.shape[1] for member in model.members_]
    assert len(draws) > 4
    assert draws == [max(200, int(np.ceil(1000 * weight))) for weight in model.member_weights_]
    assert model.posterior_.latents.shape[1] == 1000


def test_an_average_leaves_rows_out_of_all_its_members():
    X, y = make_moons(30, noise=0.3, random_state=0)
    model = BayesianSVC(optimizer="evidence", evidence="naive", average=True, random_state=0).fit(X, y)
    alone = [BayesianSVC(one.C_, one.kernel_, bias=one.bias_).fit(X, y).loo_proba_ for one in model.members_]
    assert np.ptp(alone, axis=0).max() > 0.01
    np.testing.assert_allclose(model.loo_proba_, np.tensordot(model.member_weights_, alone, 1), atol=1e-4)


def test_several_classes_are_raised_to_the_power_of_left_out_labels(rng):
    """Clear clusters: one against the rest, normalised, is too modest."""
    centres = np.array([[0.0, 3.0], [3.0, -2.0], [-3.0, -2.0], [3.0, 3.0]])
    y, labels = np.repeat(np.arange(4), 15), np.repeat(np.arange(4), 100)
    X, new = (centres[part] + 0.7 * rng.standard_normal((len(part), 2)) for part in (y, labels))
    model = BayesianSVC(kernel="rbf", evidence="naive", random_state=0).fit(X, y)
    power = model.fitted_.power
    assert power > 1
    p = model.predict_proba(new)
    modest = p ** (1 / power)
    modest /= modest.sum(axis=1, keepdims=True)
    loss, before = (-np.log(table[np.arange(400), labels]).mean() for table in (p, modest))
    assert loss < before
    left_out = model.loo_proba_
    np.testing.assert_allclose(left_out.sum(axis=1), 1.0)
