from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.svm import SVC

from bayespoint import Hinge, Problem, Step
from bayespoint.engines import Laplace
from bayespoint.engines.svm import (
    _add_rows,
    _Signed,
    _step_of_low_rank,
    _walk,
    geometric_margin,
    hard_margin,
    support_vectors,
)
from bayespoint.exceptions import EmptyVersionSpaceError, InferenceWarning, InvalidProblemError
from bayespoint.grams import Dense, DensePoints
from bayespoint.problem import Weights
from bayespoint.tuning import Model, infer_candidate
from witnesses import central_difference

KINDS = ["rbf", "smooth", "linear", "twice", "at odds", "with zeros"]


def labelled(kind, size, rng):
    """A Gram matrix, and labels of a tilted plane of which every fifth is wrong."""
    X = rng.normal(size=(size, 3))
    y = np.where(X @ [1.0, 0.5, -0.3] > 0, 1.0, -1.0)
    y[::5] *= -1
    half = size // 2
    if kind in ("twice", "at odds"):
        X[half : 2 * half], y[half : 2 * half] = X[:half], y[:half] * (1.0 if kind == "twice" else -1.0)
    if kind == "with zeros":
        X[:2] = 0.0
    if kind in ("linear", "with zeros"):
        return X @ X.T, y
    return RBF(10.0 if kind == "smooth" else 1.0)(X) + 0.3, y


def objective(problem, alpha):
    """The dual, to be maximised."""
    signed = problem.y * alpha
    return alpha.sum() - 0.5 * signed @ problem.dense @ signed


def duality_gap(problem, found):
    """Primal minus dual, which no mistake of the solver can make small."""
    signed = problem.y * found.alpha
    latents = problem.dense @ signed
    loss = np.clip(1 - problem.y * latents, 0.0, None)
    primal = 0.5 * signed @ latents + (problem.likelihood.C * problem.exponents) @ loss
    return primal - objective(problem, found.alpha)


def assert_optimal(problem, found, tolerance=1e-8):
    """Weights in their box, no gap, and sets that fit the margins."""
    cap = problem.likelihood.C * problem.exponents
    np.testing.assert_allclose(found.cap, cap)
    assert np.all((found.alpha >= 0) & (found.alpha <= cap))
    np.testing.assert_allclose(found.latents, problem.dense @ (problem.y * found.alpha), atol=1e-9)
    size = 1 + objective(problem, found.alpha)
    assert abs(duality_gap(problem, found)) <= tolerance * size
    margin = problem.y * found.latents
    assert np.all(margin[found.easy] > 1 - tolerance)
    np.testing.assert_allclose(margin[found.marginal], 1.0, atol=tolerance)
    assert np.all(margin[found.hard] < 1 + tolerance)
    assert sorted([*found.easy, *found.marginal, *found.hard]) == list(range(problem.size))


# -- the support vector machine --------------------------------------------------------------------------------------


@pytest.mark.processor
@pytest.mark.parametrize("C", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("kind", KINDS)
def test_the_dual_has_no_gap(kind, C, rng):
    gram, y = labelled(kind, 40, rng)
    problem = Problem(gram, y, Hinge(C))
    assert_optimal(problem, support_vectors(problem))


@pytest.mark.processor
@pytest.mark.parametrize("kind", ["rbf", "smooth"])
def test_a_huge_slope_of_full_rank(kind, rng):
    gram, y = labelled(kind, 40, rng)
    problem = Problem(gram, y, Hinge(1e3))
    assert_optimal(problem, support_vectors(problem))


@pytest.mark.processor
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_a_huge_slope_on_separable_rows_of_low_rank(dimension, rng):
    X = rng.normal(size=(40, dimension))
    problem = Problem(X @ X.T, np.sign(X[:, 0] + 0.1 * X.sum(axis=1)), Hinge(1e3))
    assert_optimal(problem, support_vectors(problem))


@pytest.mark.processor
@pytest.mark.parametrize(("size", "dimension", "C"), [(10, 3, 1e3), (40, 10, 1e3), (200, 10, 1e3), (200, 10, 30.0)])
def test_a_huge_slope_on_random_labels_of_low_rank(size, dimension, C):
    for seed in range(8):
        rng = np.random.default_rng([seed, size, dimension])
        X = rng.normal(size=(size, dimension))
        problem = Problem(X @ X.T, rng.choice([-1.0, 1.0], size), Hinge(C))
        assert_optimal(problem, support_vectors(problem))


@pytest.mark.processor
@pytest.mark.parametrize("C", [0.05, 1.0, 1e3])
@pytest.mark.parametrize("kind", ["rbf", "smooth", "linear", "twice", "at odds"])
def test_more_rows_than_are_worked_on_at_a_time(kind, C, rng):
    gram, y = labelled(kind, 700, rng)
    problem = Problem(gram, y, Hinge(C), check=False)
    found = support_vectors(problem)
    assert_optimal(problem, found, tolerance=1e-8 * max(1.0, np.abs(found.latents).max()))


def test_the_order_of_many_rows_does_not_matter(rng):
    gram, y = labelled("rbf", 700, rng)
    one = support_vectors(Problem(gram, y, Hinge(3.0), check=False))
    order = np.argsort(y)
    other = support_vectors(Problem(gram[np.ix_(order, order)], y[order], Hinge(3.0), check=False))
    np.testing.assert_allclose(other.latents, one.latents[order], atol=1e-9)


@pytest.mark.processor
def test_a_gap_tells_weights_that_are_not_optimal(rng):
    problem = Problem(*labelled("rbf", 40, rng), Hinge(2.0))
    found = support_vectors(problem)
    worse = np.clip(found.alpha * 1.001, 0.0, 2.0)
    with pytest.raises(AssertionError):
        assert_optimal(problem, found._replace(alpha=worse, latents=problem.dense @ (problem.y * worse)))


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("kind", KINDS)
def test_the_dual_is_that_of_a_quasi_newton_method(kind, C, rng):
    problem = Problem(*labelled(kind, 20, rng), Hinge(C))
    q = problem.dense * np.outer(problem.y, problem.y)
    alpha = np.full(20, 0.5 * C)
    for _ in range(30):  # it gives up early where the dual is flat
        answer = minimize(
            lambda a: (0.5 * a @ q @ a - a.sum(), q @ a - 1),
            alpha,
            jac=True,
            bounds=[(0, C)] * 20,
            method="L-BFGS-B",
            options={"maxcor": 20, "maxiter": 10_000, "ftol": 0.0, "gtol": 1e-11},
        )
        alpha = answer.x
    found = objective(problem, support_vectors(problem).alpha)
    assert found == pytest.approx(-answer.fun, rel=1e-8)
    assert found >= -answer.fun - 1e-10 * abs(found)


def by_enumeration(problem):
    """Weights for which all conditions hold, among all ways to call rows easy, marginal or hard."""
    q, cap = problem.dense * np.outer(problem.y, problem.y), problem.likelihood.C * problem.exponents
    for sets in map(np.array, product([0, 1, 2], repeat=problem.size)):
        alpha = np.where(sets == 2, cap, 0.0)
        free = sets == 1
        alpha[free] = np.linalg.solve(q[np.ix_(free, free)], 1 - q[free] @ alpha)
        margin = q @ alpha
        inside = np.all((alpha >= 0) & (alpha <= cap))
        if inside and np.all(margin[sets == 0] >= 1) and np.all(margin[sets == 2] <= 1):
            return alpha, sets
    raise AssertionError("no labelling of rows is optimal")


@pytest.mark.processor
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.05, 0.7, 5.0, 1e3])
def test_the_dual_is_that_of_enumeration(C, weighted, rng):
    for size in (1, 2, 5):
        gram, y = labelled("rbf", size, rng)
        problem = Problem(gram, y, Hinge(C), rng.gamma(2.0, size=size) if weighted else None)
        alpha, sets = by_enumeration(problem)
        found = support_vectors(problem)
        np.testing.assert_allclose(found.alpha, alpha, rtol=1e-9, atol=1e-9)
        for name, code in (("easy", 0), ("marginal", 1), ("hard", 2)):
            np.testing.assert_array_equal(getattr(found, name), np.flatnonzero(sets == code))


def test_weights_are_slopes_of_rows_and_whole_ones_are_copies(rng):
    gram, y = labelled("rbf", 15, rng)
    counts = rng.integers(1, 4, 15)
    rows = np.repeat(np.arange(15), counts)
    weighted = support_vectors(Problem(gram, y, Hinge(0.7), counts))
    repeated = support_vectors(Problem(gram[np.ix_(rows, rows)], y[rows], Hinge(0.7)))
    np.testing.assert_allclose(weighted.latents[rows], repeated.latents, atol=1e-9)
    np.testing.assert_allclose(np.bincount(rows, repeated.alpha), weighted.alpha, atol=1e-8)


def test_rows_at_odds_cancel(rng):
    """Copies of opposite labels that are both hard push the function nowhere."""
    X = rng.normal(size=(10, 2))
    gram = RBF(1.0)(np.vstack([X, X]))
    found = support_vectors(Problem(gram, np.r_[np.ones(10), -np.ones(10)], Hinge(3.0)))
    np.testing.assert_allclose(found.latents, 0.0, atol=1e-9)
    np.testing.assert_array_equal(found.hard, np.arange(20))


@pytest.mark.processor
def test_rows_of_norm_zero_are_hard():
    problem = Problem(np.diag([0.0, 4.0]), [-1, 1], Hinge(2.0))
    found = support_vectors(problem)
    assert_optimal(problem, found)
    np.testing.assert_allclose(found.alpha, [2.0, 0.25])
    nothing = support_vectors(Problem(np.zeros((2, 2)), [-1, 1], Hinge(2.0)))
    np.testing.assert_allclose(nothing.alpha, 2.0)
    np.testing.assert_allclose(nothing.latents, 0.0)


@pytest.mark.processor
@pytest.mark.parametrize("kind", KINDS)
def test_any_start_ends_at_the_same_function(kind, rng):
    gram, y = labelled(kind, 30, rng)
    problem = Problem(gram, y, Hinge(5.0))
    cold = support_vectors(problem)
    starts = [support_vectors(Problem(gram, y, Hinge(C))).alpha for C in (0.05, 1.0, 19.0)]
    for start in [*starts, rng.uniform(0, 5.0, 30), np.full(30, 99.0)]:
        before = start.copy()
        warm = support_vectors(problem, start=start)
        np.testing.assert_array_equal(start, before)
        assert_optimal(problem, warm)
        np.testing.assert_allclose(warm.latents, cold.latents, atol=1e-8)


@pytest.mark.parametrize("factor", [1e-3, 0.2, 7.0, 1e3])
def test_only_the_product_of_slope_and_kernel_matters(factor, rng):
    gram, y = labelled("rbf", 30, rng)
    one, other = (support_vectors(Problem(gram * a, y, Hinge(2.0 / a))) for a in (1.0, factor))
    np.testing.assert_allclose(other.latents, one.latents, atol=1e-8)
    np.testing.assert_allclose(factor * other.alpha, one.alpha, atol=1e-7)


def test_a_large_constant_in_the_kernel_is_a_free_bias(rng):
    """What the equality constraint of the textbook's dual stands for."""
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] > 0.7, 1.0, -1.0)
    y[:4] *= -1
    kernel, new = RBF(1.0), rng.normal(size=(50, 2))
    for C, bias in ((0.5, 1e3), (2.0, 1e3), (2.0, 3e3)):
        problem = Problem(kernel(X) + bias**2, y, Hinge(C))
        found = support_vectors(problem, tolerance=1e-7)  # rounding of bias^2
        textbook = SVC(C=C, kernel="precomputed", tol=1e-10).fit(kernel(X), y)
        alpha = np.zeros(40)
        alpha[textbook.support_] = np.abs(textbook.dual_coef_[0])
        np.testing.assert_allclose(found.alpha, alpha, atol=1e-4 * C)
        decision = textbook.decision_function(kernel(new, X))
        np.testing.assert_allclose((kernel(new, X) + bias**2) @ (y * found.alpha), decision, atol=1e-4)


def test_many_rows_with_a_large_constant_are_the_textbooks_machine(rng):
    X = rng.normal(size=(900, 3))
    y = np.where(X[:, 0] + np.square(X[:, 1]) + 0.3 * rng.normal(size=900) > 1, 1.0, -1.0)
    gram = RBF(1.0)(X)
    found = support_vectors(Problem(gram + 1e6, y, Hinge(2.0), check=False), tolerance=1e-7)
    textbook = SVC(C=2.0, kernel="precomputed", tol=1e-9).fit(gram, y)
    np.testing.assert_allclose(found.latents, textbook.decision_function(gram), atol=1e-4)


def test_a_large_constant_in_the_kernel_is_no_reason_to_warn(rng):
    gram, y = labelled("rbf", 40, rng)
    support_vectors(Problem(gram + 1e6, y, Hinge(20.0)))


def test_a_solver_that_is_stopped_tells(rng):
    gram, y = labelled("smooth", 60, rng)
    with pytest.warns(InferenceWarning, match=r"^The support vector machine stopped after 1 rounds .*\.$"):
        support_vectors(Problem(gram, y, Hinge(10.0)), max_rounds=1)


def test_other_likelihoods_are_refused():
    problem = Problem(np.eye(2), [1, -1], Step(0.1))
    for solve in (support_vectors, Laplace().infer):
        with pytest.raises(InvalidProblemError, match=r"^A support vector machine has a hinge, not .*\.$"):
            solve(problem)
    with pytest.raises(InvalidProblemError, match="max_rounds"):
        Laplace(max_rounds=0)


# -- its parts ---------------------------------------------------------------------------------------------------------


def test_sums_and_blocks_of_rows_are_those_of_plain_products(rng):
    gram, y = labelled("rbf", 30, rng)
    weights = np.where(rng.random(30) < 0.5, rng.normal(size=30), 0.0)
    total = rng.normal(size=30)
    expected = total + weights @ gram
    _add_rows(gram, weights, total)
    np.testing.assert_allclose(total, expected, atol=1e-13)
    rows = np.array([3, 4, 17])
    residual = rng.random(30)
    signed, plain = _Signed(Dense(gram), y, residual), np.outer(y, y) * gram + np.diag(residual)
    np.testing.assert_allclose(signed.block(rows), plain[np.ix_(rows, rows)])
    np.testing.assert_allclose(signed.margins(weights), plain @ weights, atol=1e-13)


def test_a_walk_ends_where_the_dual_is_lowest_on_the_bent_path(rng):
    for _ in range(20):
        block = np.cov(rng.normal(size=(6, 9)))
        cap, gap, step = rng.gamma(2.0, size=6), rng.normal(size=6), rng.normal(size=6)
        step *= np.sign(gap @ step)
        alpha = cap * rng.random(6)
        times = np.linspace(0.0, 20.0, 20_001)
        path = np.clip(alpha + times[:, None] * step, 0.0, cap)
        values = 0.5 * np.einsum("ti,ij,tj->t", path - alpha, block, path - alpha) - (path - alpha) @ gap
        falls = np.flatnonzero(np.diff(values) >= 0)
        last = falls[0] if falls.size else len(times) - 1
        end = alpha.copy()
        bends = _walk(block, gap.copy(), step.copy(), cap, end)
        np.testing.assert_allclose(end, path[last], atol=2e-3 * np.abs(step).max())
        assert bends == np.sum((end == 0) | (end == cap))


@pytest.mark.parametrize("rank", [1, 4, 12])
def test_a_step_of_low_rank_solves_or_leaves_along_flat_directions(rank, rng):
    factor = rng.normal(size=(12, rank))
    block = factor @ factor.T
    gap = block @ rng.normal(size=12)
    np.testing.assert_allclose(block @ _step_of_low_rank(block, gap), gap, atol=1e-9)
    if rank < 12:
        gap = gap + rng.normal(size=12)
        step = _step_of_low_rank(block, gap)
        assert gap @ step > 0
        assert step @ block @ step < 1e-6 * (gap @ step) * np.abs(step).max()


# -- the generalised Laplace approximation ---------------------------------------------------------------------------


def by_the_paper(problem):
    """Log-evidence (32) and covariance with dense matrices."""
    found = support_vectors(problem)
    m, weights, C = found.marginal, problem.exponents, problem.likelihood.C
    loss = np.clip(1 - problem.y * found.latents, 0.0, None)
    log_q = -0.5 * found.latents @ np.linalg.solve(problem.dense, found.latents) - C * weights @ loss
    log_q -= weights.sum() * np.log1p(np.exp(-2 * C))
    a, c = found.alpha[m], C * weights[m]
    lm = np.diag(2 * np.pi * (a * (c - a) / c) ** 2)
    curvature = np.linalg.inv(problem.dense)
    curvature[np.ix_(m, m)] += lm
    log_det = np.linalg.slogdet(np.eye(len(m)) + lm @ problem.dense[np.ix_(m, m)])[1]
    return log_q - 0.5 * log_det, np.linalg.inv(curvature)


@pytest.mark.processor
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_the_posterior_is_that_of_the_paper(C, weighted, rng):
    gram, y = labelled("rbf", 20, rng)
    problem = Problem(gram, y, Hinge(C), rng.gamma(2.0, size=20) if weighted else None)
    posterior = Laplace().infer(problem)
    log_evidence, covariance = by_the_paper(problem)
    assert posterior.log_evidence == pytest.approx(log_evidence, rel=1e-9)
    np.testing.assert_allclose(posterior.variance, np.diagonal(covariance), rtol=1e-7)
    found = posterior.info["support"]
    np.testing.assert_array_equal(posterior.mean, found.latents)
    np.testing.assert_array_equal(posterior.alpha, y * found.alpha)
    new = rng.normal(size=(5, 20)) @ gram
    np.testing.assert_allclose(posterior.at(DensePoints(new, np.full(5, 1e6))).latent.mean, new @ (y * found.alpha))


def test_a_single_row_in_closed_form():
    """theta* = min(1, C k): a marginal row has alpha = 1/k, a hard one adds no curvature."""
    for C, k in ((2.0, 3.0), (0.2, 3.0)):
        alpha = min(1 / k, C)
        peak = -0.5 * alpha**2 * k - C * (1 - alpha * k) - np.log1p(np.exp(-2 * C))
        lm = 2 * np.pi * (alpha * (C - alpha) / C) ** 2
        posterior = Laplace().infer(Problem([[k]], [-1], Hinge(C)))
        assert posterior.log_evidence == pytest.approx(peak - 0.5 * np.log1p(lm * k), abs=1e-12)
        assert posterior.mean[0] == pytest.approx(-alpha * k)
        assert posterior.variance[0] == pytest.approx(1 / (1 / k + lm))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("C", "amplitude"), [(0.3, 1.5), (1.7, 1.5), (8.0, 4.0)])
def test_the_gradient_is_that_of_differences(C, amplitude, weighted, rng):
    X = rng.normal(size=(14, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=14) > 0, 1.0, -1.0)
    weights = Weights.of(rng.choice([0.5, 1.0, 2.0], 14)) if weighted else None
    model = Model(ConstantKernel(amplitude) * RBF(0.9), Hinge(C), free=("C",))
    step, sets = 1e-5, set()

    def log_evidence(theta):
        candidate = infer_candidate(model.at(theta), X, [y], weights, Laplace())
        found = candidate.posteriors[0].info["support"]
        sets.add((*found.easy, -1, *found.marginal, -1, *found.hard))
        return candidate.log_evidence

    differences = central_difference(log_evidence, model.theta, step)
    assert len(sets) == 1, "rows change sets here: choose another point"
    found = infer_candidate(model, X, [y], weights, Laplace()).evidence_gradient()
    np.testing.assert_allclose(found, differences, rtol=1e-5, atol=1e-5)


def test_a_posterior_can_be_started_from_another(rng):
    gram, y = labelled("rbf", 30, rng)
    cold = Laplace().infer(Problem(gram, y, Hinge(3.0)))
    warm = Laplace().infer(Problem(gram, y, Hinge(3.0)), start=Laplace().infer(Problem(gram, y, Hinge(0.3))))
    assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-7)
    np.testing.assert_allclose(warm.mean, cold.mean, atol=1e-8)


# -- the largest margin ------------------------------------------------------------------------------------------------


def largest_margin(gram, y):
    """BPM (15) as printed, by a general solver: minimise |w|^2 under y_i <x_i, w> >= 1, over w = sum_i a_i x_i."""
    found = minimize(
        lambda a: 0.5 * a @ gram @ a,
        np.linalg.solve(gram, 2 * y),
        jac=lambda a: gram @ a,
        constraints={"type": "ineq", "fun": lambda a: y * (gram @ a) - 1, "jac": lambda a: y[:, None] * gram},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return min(y * (gram @ found.x)) / np.sqrt(found.x @ gram @ found.x)


@pytest.mark.parametrize("softness", [0.0, 0.3])
def test_the_largest_margin_is_that_of_a_general_solver(softness, rng):
    gram, y = labelled("rbf", 12, rng)
    problem = Problem(gram, y, Step(softness=softness))
    found = hard_margin(problem)
    assert geometric_margin(problem, y * found.alpha) == pytest.approx(
        largest_margin(gram + softness * np.eye(12), y), rel=1e-6
    )
    assert np.min(y * found.latents) == pytest.approx(1.0, abs=1e-8)  # the canonical hyperplane
    assert not len(found.hard)
    assert geometric_margin(problem, y * found.alpha) == pytest.approx(1 / np.sqrt(found.alpha.sum()))  # no gap
    assert geometric_margin(problem, y * (found.alpha + 0.01)) < geometric_margin(problem, y * found.alpha)


def test_the_margin_is_the_printed_one(rng):
    X, w = rng.normal(size=(2, 6, 3))
    y, w = np.sign(X @ w[0]), w[0]
    weights = np.linalg.pinv(X.T) @ w  # w = sum_i weights_i x_i
    printed = min(y_i * (x_i @ w) for x_i, y_i in zip(X, y, strict=True)) / np.linalg.norm(w)
    assert geometric_margin(Problem(X @ X.T, y, Step()), weights) == pytest.approx(printed)


def test_a_wide_margin_and_a_thin_one(rng):
    """Prices rise until no row pays."""
    y = np.array([1.0, -1.0, 1.0])
    for angle in (1.0, 1e-3, 1e-5):
        X = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)], [0.5, -2.0]])
        problem = Problem(X @ X.T, y, Step())
        assert geometric_margin(problem, y * hard_margin(problem).alpha) == pytest.approx(np.sin(angle / 2), rel=1e-4)


def test_no_margin_where_labels_cannot_be_separated(rng):
    problem = Problem(np.ones((2, 2)), [1, -1], Step())
    with pytest.raises(EmptyVersionSpaceError, match="same point with different labels"):
        hard_margin(problem)
    with pytest.raises(InvalidProblemError, match="use Step without noise"):
        hard_margin(Problem(np.eye(2), [1, -1], Hinge()))
