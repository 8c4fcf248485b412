"""Perceptrons on permutations: Algorithm 1 written out plainly, and whatever must not change the classifiers."""

import warnings

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, DotProduct

from bayespoint import Hinge, Problem, Step, readouts
from bayespoint.engines import Billiard, Perceptrons, perceptrons
from bayespoint.engines.svm import geometric_margin, hard_margin
from bayespoint.exceptions import InferenceWarning, InvalidProblemError
from bayespoint.grams import Dense, DensePoints, KernelRows, LowRank, NaturalGaussian
from bayespoint.grams import _tiles as tile_module

KERNEL = DotProduct(1.0) ** 3
LIKELIHOODS = [Step(), Step(softness=0.5)]


def data(n=120, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4 * n, 3)) / 2
    value, edges = X[:, 0] + X[:, 1] ** 2, np.array([-0.3, 0.5])
    X = X[np.abs(value[:, None] - edges).min(axis=1) > 0.1][:n]  # a margin, so that perceptrons are quick
    return X, np.digitize(X[:, 0] + X[:, 1] ** 2, edges)


X, CLASSES = data()


def problems_of(likelihood=LIKELIHOODS[0], gram=None):
    gram = KernelRows(KERNEL, X) if gram is None else gram
    return [Problem(gram, np.where(c == CLASSES, 1.0, -1.0), likelihood) for c in range(3)]


def algorithm_1(gram, y, order):
    """BPM Algorithm 1 as printed, but for the slip."""
    alpha, o = np.zeros(len(y)), np.zeros(len(y))
    while True:
        mistake = False
        for i in order:
            if y[i] * o[i] <= 0:
                alpha[i] += y[i]
                o += y[i] * gram[i]
                mistake = True
        if not mistake:
            return alpha


def permutation_of(seed, c, k, n):
    entropy = int(np.random.default_rng(seed).integers(2**63))
    return np.random.default_rng([entropy, c, k]).permutation(n)


def coefficients(posterior):
    """Mistakes with their sign: `alpha` of the paper."""
    alpha = posterior.alpha[0]
    smallest = np.where(alpha != 0, np.abs(alpha), np.inf).min(axis=1, keepdims=True)
    multiples = np.abs(alpha / smallest)
    rounded = np.rint(multiples)
    np.testing.assert_allclose(multiples, rounded, rtol=1e-9)
    return np.sign(alpha) * rounded


def same(some, others):
    for one, other in zip(some, others, strict=True):
        np.testing.assert_array_equal(one.alpha, other.alpha)
        np.testing.assert_array_equal(one.latents, other.latents)


@pytest.mark.processor
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
@pytest.mark.parametrize("kind", ["array", "lazy", "low rank"])
def test_it_is_algorithm_1(likelihood, kind):
    """A soft boundary adds its softness to the diagonal."""
    kernel = KERNEL(X)
    gram = {"array": kernel, "lazy": KernelRows(KERNEL, X), "low rank": LowRank(Dense(kernel).root())}[kind]
    walls = kernel + likelihood.softness * np.eye(len(X))
    found = Perceptrons(permutations=4).infer_all(problems_of(likelihood, gram), rng=7)
    for c, posterior in enumerate(found):
        y = posterior.problem.y
        expected = np.array([algorithm_1(walls, y, permutation_of(7, c, k, len(X))) for k in range(4)])
        unit = expected / np.sqrt(np.einsum("ki,ij,kj->k", expected, walls, expected))[:, None]
        np.testing.assert_allclose(posterior.alpha[0], np.sqrt(len(X)) * unit, rtol=1e-5)
        np.testing.assert_array_equal(posterior.info["mistakes"], np.abs(expected).sum(axis=1))
        np.testing.assert_allclose(posterior.latents[0], posterior.alpha[0] @ kernel, rtol=1e-3, atol=1e-3)
        assert np.all(y * (posterior.alpha[0] @ walls) > 0)
        assert posterior.info["separated"].all()
        assert np.all(posterior.info["epochs"] > 0)


@pytest.mark.processor
def test_one_problem_is_the_first_of_many():
    first = problems_of()[0]
    same([Perceptrons(5).infer(first, rng=1)], Perceptrons(5).infer_all(problems_of(), rng=1)[:1])


def test_permutations_lead_to_different_classifiers():
    found = Perceptrons(6).infer_all(problems_of(), rng=0)
    alphas = np.concatenate([posterior.alpha[0] for posterior in found])
    assert len(np.unique(alphas, axis=0)) == 18


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(tile_module, "_COLUMNS", 32)
    monkeypatch.setattr(tile_module, "_ROWS", 16)
    monkeypatch.setattr(perceptrons, "_SMALL", 0)


@pytest.mark.processor
@pytest.mark.parametrize("rows", [1, 2, 7, 20, 60])
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_a_small_store_finds_the_same(rows, likelihood, small_tiles):
    megabytes = rows * 4 * len(X) / 1e6
    large = Perceptrons(5).infer_all(problems_of(likelihood), rng=0)
    small = Perceptrons(5, cache_size=megabytes).infer_all(problems_of(likelihood), rng=0)
    same(large, small)
    assert small[0].info["rows_computed"] > large[0].info["rows_computed"] >= len(large[0].support)


@pytest.mark.processor
def test_a_store_holds_what_it_may(small_tiles, monkeypatch):
    stores = []
    make = perceptrons._Store.__init__
    monkeypatch.setattr(perceptrons._Store, "__init__", lambda self, *args: (stores.append(self), make(self, *args))[1])
    Perceptrons(5, cache_size=20 * 4 * len(X) / 1e6).infer_all(problems_of(), rng=0)
    (store,) = stores
    assert store.values.shape == (20, len(X))
    held = np.flatnonzero(store.slots >= 0)
    assert sorted(store.owner) == sorted(held)
    np.testing.assert_array_equal(store.values[store.slots[held]], store.gram.block(held))


@pytest.mark.processor
@pytest.mark.parametrize("engine", [Perceptrons(5, n_jobs=1), Perceptrons(5, n_jobs=3), Perceptrons(5, n_jobs=-1)])
def test_threads_find_the_same(engine, small_tiles):
    same(Perceptrons(5).infer_all(problems_of(), rng=0), engine.infer_all(problems_of(), rng=0))
    same(Perceptrons(5).infer_all(problems_of(), 0), Perceptrons(5).infer_all(problems_of(), 0, n_jobs=2))


@pytest.mark.processor
def test_groups_of_permutations_find_the_same(small_tiles):
    whole = perceptrons._run(Perceptrons(5), walls_of(), 11, np.arange(5))
    parts = [perceptrons._run(Perceptrons(5), walls_of(), 11, group) for group in np.array_split(np.arange(5), 2)]
    np.testing.assert_array_equal(whole.steps, np.concatenate([part.steps for part in parts], axis=1))
    np.testing.assert_array_equal(whole.outputs, np.concatenate([part.outputs for part in parts], axis=1))


def walls_of():
    problems = problems_of()
    return perceptrons._Walls(problems[0].gram, np.array([problem.y for problem in problems]), 0.0)


@pytest.mark.processor
def test_workers_without_shared_memory_find_the_same():
    here = Perceptrons(5).infer_all(problems_of(), rng=0)
    with parallel_config(backend="loky", n_jobs=2):
        there = Perceptrons(5).infer_all(problems_of(), rng=0)
    same(here, there)
    assert there[0].info["rows_computed"] > here[0].info["rows_computed"]  # each worker had a store of its own


@pytest.mark.processor
@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=str)
def test_more_permutations_can_be_added(likelihood):
    problems = problems_of(likelihood)
    some = Perceptrons(2).infer_all(problems, rng=0)
    more = Perceptrons(3).infer_all(problems, rng=0, start=some)
    fresh = Perceptrons(5).infer_all(problems, rng=0)
    same(more, fresh)
    for one, other in zip(more, fresh, strict=True):
        for name in ("epochs", "mistakes", "separated"):
            np.testing.assert_array_equal(one.info[name], other.info[name])
    one = Perceptrons(2).infer(problems[0], rng=0)
    np.testing.assert_array_equal(Perceptrons(3).infer(problems[0], rng=0, start=one).alpha, fresh[0].alpha)


@pytest.mark.processor
def test_sparse_inputs_find_nearly_the_same():
    sparse_gram = KernelRows(KERNEL, sparse.csr_array(X))
    for one, other in zip(
        Perceptrons(3).infer_all(problems_of(gram=sparse_gram), rng=0),
        Perceptrons(3).infer_all(problems_of(), rng=0),
        strict=True,
    ):
        np.testing.assert_array_equal(coefficients(one), coefficients(other))


def test_one_support_for_all_classes(rng):
    found = Perceptrons(3).infer_all(problems_of(), rng=0)
    assert all(posterior.support is found[0].support for posterior in found)
    used = np.any([posterior.alpha[0].any(axis=0) for posterior in found], axis=0)
    np.testing.assert_array_equal(found[0].support, np.flatnonzero(used))
    new = rng.normal(size=(9, 3))
    cross = found[0].problem.gram.new(new)
    for posterior in found:
        lazy, dense = posterior.at(cross).latent, posterior.alpha[0] @ KERNEL(new, X).T
        np.testing.assert_allclose(lazy.mean, dense.mean(axis=0), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(lazy.variance, dense.var(axis=0), rtol=1e-3, atol=1e-4)
    assert cross._kept[0] is found[0].support


def test_the_posterior_has_its_own_moments(rng):
    posterior = Perceptrons(8).infer(problems_of(Step(softness=0.2), KERNEL(X))[1], rng=0)
    new = rng.normal(size=(6, 3))
    cross, diag = KERNEL(new, X), KERNEL.diag(new)
    points = DensePoints(cross, diag)
    at = posterior.at(points)
    outputs, nothing = at.outputs, at.orthogonal
    np.testing.assert_allclose(outputs[0], posterior.alpha[0] @ cross.T)
    assert np.all(nothing < 1e-11 * diag)
    np.testing.assert_allclose(posterior.mean, posterior.latents.mean(axis=(0, 1)))
    np.testing.assert_allclose(posterior.mean_weights, posterior.alpha.mean(axis=(0, 1)))
    np.testing.assert_allclose(readouts.vote(posterior, points), (outputs[0] > 0).mean(axis=0))
    np.testing.assert_allclose(at.latent.mean, outputs.mean(axis=(0, 1)))
    np.testing.assert_allclose(at.latent.variance, outputs.var(axis=(0, 1)), rtol=1e-6)
    fewer = posterior.without(slice(2, 5))
    assert fewer.draws == 5
    np.testing.assert_array_equal(fewer.alpha[0], posterior.alpha[0][[0, 1, 5, 6, 7]])
    np.testing.assert_array_equal(fewer.latents[0], posterior.latents[0][[0, 1, 5, 6, 7]])
    assert np.all(np.isfinite(readouts.leave_one_out_probability(posterior)))


def test_draws_have_the_length_of_gaussian_ones():
    """In the feature space of the walls, which a soft boundary gives a dimension more for each row."""
    for likelihood in LIKELIHOODS:
        posterior = Perceptrons(3).infer(problems_of(likelihood)[0], rng=0)
        alpha = posterior.alpha[0]
        squares = np.einsum("ki,ij,kj->k", alpha, KERNEL(X) + likelihood.softness * np.eye(len(X)), alpha)
        np.testing.assert_allclose(squares, len(X), rtol=1e-5)


def test_votes_have_a_monte_carlo_error(rng):
    problem = problems_of()[0]
    new = problem.gram.new(rng.normal(size=(20, 3)))
    posterior = Perceptrons(200).infer(problem, rng=0)
    error = readouts.monte_carlo_error(readouts.vote, posterior, new)
    p = readouts.vote(posterior, new)
    np.testing.assert_allclose(error, np.sqrt(p * (1 - p) / 200), atol=0.01)  # permutations are independent
    with pytest.raises(InvalidProblemError, match=r"^Too short to say"):
        readouts.monte_carlo_error(readouts.vote, Perceptrons(10).infer(problem, rng=0), new)


def test_the_mean_is_near_the_bayes_point(seed):
    n = 40
    gram, y = RBF(1.0)(X[:n]) + 0.3, np.where(CLASSES[:n] == 0, 1.0, -1.0)
    problem = Problem(gram, y, Step(softness=0.3))
    ours, exact = Perceptrons(100).infer(problem, rng=seed), Billiard(draws=2000).infer(problem, rng=seed)
    cosine = readouts.bayes_point(ours) @ gram @ readouts.bayes_point(exact)
    single = ours.without(slice(1, None))
    assert cosine > 0.9
    assert readouts.bayes_point(single) @ gram @ readouts.bayes_point(exact) < cosine  # one alone is worse


# -- when it does not end well ----------------------------------------------------------------------------------------


def test_labels_that_cannot_be_separated():
    problem = Problem(np.ones((4, 4)), [1, -1, 1, 1], Step())
    match = r"^3 of 3 perceptrons had not separated their labels after 50 epochs: raise softness, [^\n]*\.$"
    with pytest.warns(InferenceWarning, match=match):
        posterior = Perceptrons(3, max_epochs=50).infer(problem, rng=0)
    assert not posterior.info["separated"].any()
    assert np.all(posterior.info["epochs"] == 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        soft = Perceptrons(3, max_epochs=50).infer(Problem(np.ones((4, 4)), [1, -1, 1, 1], Step(softness=1.0)), rng=0)
    assert soft.info["separated"].all()


@pytest.mark.parametrize(
    "gram", [np.ones((40, 40)), KernelRows(DotProduct(1.0), np.zeros((40, 1)))], ids=["array", "lazy"]
)
def test_a_time_budget_ends_the_search(gram):
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    engine = Perceptrons(2, max_epochs=10**9, time_budget=0.05)
    match = r"^The time budget of 0.05 s ended when 0 of 2 perceptrons had separated their labels\.$"
    with pytest.warns(InferenceWarning, match=match):
        posterior = engine.infer(Problem(gram, y, Step()), rng=0)
    assert np.isfinite(posterior.latents).all()
    assert posterior.info["epochs"].min() > 1


def test_perceptrons_out_of_time_are_returned_as_they_are(small_tiles):
    engine = Perceptrons(5, time_budget=0.0)
    with pytest.warns(InferenceWarning, match=r"^The time budget of 0 s ended when 0 of 15 perceptrons "):
        found = engine.infer_all(problems_of(), rng=0)
    assert all(np.isfinite(posterior.latents).all() for posterior in found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(
            Perceptrons(5, time_budget=1000.0).infer_all(problems_of(), rng=0),
            Perceptrons(5).infer_all(problems_of(), rng=0),
        )


@pytest.mark.parametrize("likelihood", [Step(0.1), Step(0.1, 0.5), Hinge(1.0)], ids=str)
def test_it_refuses_what_is_no_version_space(likelihood):
    with pytest.raises(InvalidProblemError, match=r"^Perceptrons live in version space: [^\n]*\.$"):
        Perceptrons().infer(problems_of(likelihood)[0])


def test_it_refuses_weights():
    problem = Problem(np.eye(2), [1, -1], Step(), weights=[1.0, 2.0])
    with pytest.raises(InvalidProblemError, match=r"^Rows have no weights with Perceptrons: [^\n]*\.$"):
        Perceptrons().infer(problem)


def test_it_refuses_a_prior():
    gram = LowRank(np.eye(2), NaturalGaussian(2 * np.eye(2), np.zeros(2)))
    with pytest.raises(InvalidProblemError, match=r"^Only expectation propagation takes a prior [^\n]*\.$"):
        Perceptrons().infer(Problem(gram, [1, -1], Step()))


def test_it_refuses_problems_that_do_not_belong_together():
    one, two = Problem(np.eye(2), [1, -1], Step()), Problem(2 * np.eye(2), [1, -1], Step())
    match = r"^Problems to be solved together must share [^\n]*\.$"
    with pytest.raises(InvalidProblemError, match=match):
        Perceptrons().infer_all([one, two])
    with pytest.raises(InvalidProblemError, match=match):
        Perceptrons().infer_all([one, Problem(one.gram, [1, 1], Step(softness=1.0))])
    with pytest.raises(InvalidProblemError, match=r"^There must be at least one problem"):
        Perceptrons().infer_all([])
    match = r"^start must hold an earlier result for each problem, [^\n]*\.$"
    earlier = Perceptrons(2).infer(one, rng=0)
    with pytest.raises(InvalidProblemError, match=match):
        Perceptrons().infer(Problem(one.gram, [1, 1], Step()), start=earlier)
    with pytest.raises(InvalidProblemError, match=match):
        Perceptrons().infer_all([one, one], start=[earlier])


@pytest.mark.parametrize(
    "settings", [{"permutations": 0}, {"max_epochs": 0}, {"cache_size": -1}, {"time_budget": -1.0}], ids=str
)
def test_it_refuses_bad_settings(settings):
    with pytest.raises(InvalidProblemError, match=rf"^{next(iter(settings))} must be at least [^\n]*\.$"):
        Perceptrons(**settings)


@pytest.mark.parametrize("softness", [0.0, 0.5])
def test_mistakes_stay_below_novikoffs_bound(softness, rng):
    """(R / gamma)^2 with the longest row and the margin of the support vector machine (BPM 3.2), on the walls."""
    X = rng.normal(size=(40, 3))
    problem = Problem(RBF(1.0)(X) + 0.5, np.where(X[:, 0] > 0, 1.0, -1.0), Step(softness=softness))
    margin = geometric_margin(problem, problem.y * hard_margin(problem).alpha)
    bound = (problem.diag.max() + softness) / margin**2
    mistakes = Perceptrons(permutations=50).infer(problem, rng=0).info["mistakes"]
    assert np.all(mistakes <= bound)
    assert mistakes.max() > 0.05 * bound
