import math
import warnings
from dataclasses import replace
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Hinge, Problem, Step
from bayespoint.engines import Margin
from bayespoint.engines.margin import (
    DenseGeometry,
    FactorGeometry,
    bound_minimising,
    gaussian_margin,
    interior,
    margin_geometry,
)
from bayespoint.engines.margin.hildreth import hildreth
from bayespoint.engines.svm import support_vectors
from bayespoint.exceptions import EmptyVersionSpaceError, InferenceWarning, InvalidProblemError
from bayespoint.grams import Dense as Gram
from witnesses import central_difference

KINDS = ["separable", "slack", "robust", "prices", "scales"]


def labelled(rng, n, d, wrong=0.0):
    """Rows with a bias column, and labels of a random plane of which some are wrong."""
    X = np.c_[rng.normal(size=(n, d - 1)) * rng.uniform(0.3, 2.0, d - 1), np.ones(n)]
    y = np.where(X @ rng.normal(size=d) > 0, 1.0, -1.0)
    y[rng.random(n) < wrong] *= -1
    return X, y


def drawn(seed):
    """A random problem of one of the kinds: features, labels, phi, prices c, scales D and targets."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    n, d = int(rng.integers(4, 41)), int(rng.integers(2, 11))
    X, y = labelled(rng, n, d, 0.0 if kind == "separable" else 0.2)
    phi = float(rng.choice([0.1, 0.5, 1.0, 2.5]))
    c, scale, target = np.full(n, 10.0 ** rng.uniform(-2, 1.5)), np.ones(n), np.zeros(n)
    if kind == "separable":
        c = np.full(n, np.inf)
    if kind in ("prices", "scales"):
        c = c * rng.uniform(0.2, 5.0, n)
    if kind == "scales":
        scale = rng.uniform(0.2, 5.0, n)
    if kind == "robust":
        target = np.ones(n)
    return X, y, phi, c, scale, target


def oracle(X, y, phi, c, scale, target):
    """The optimum of the problem in the root of Sigma, (14), by a conic solver."""
    d = X.shape[1]
    mean, root, slack = cp.Variable(d), cp.Variable((d, d), PSD=True), cp.Variable(len(y), nonneg=True)
    divergence = -cp.log_det(root) + 0.5 * cp.sum_squares(root) + 0.5 * cp.sum_squares(mean) - 0.5 * d
    hard = np.isinf(c)
    price = 0.0 if hard.all() else np.where(hard, 0.0, c) @ slack
    give = np.where(hard, 0.0, scale)
    kept = [y[i] * (X[i] @ mean) >= target[i] + phi * cp.norm(root @ X[i]) - give[i] * slack[i] for i in range(len(y))]
    problem = cp.Problem(cp.Minimize(divergence + price), kept)
    return problem.solve(solver=cp.CLARABEL)


def gaussian(X, y, found):
    """Mean and covariance in feature space."""
    return X.T @ (y * found.alpha), np.linalg.inv(np.eye(X.shape[1]) + X.T @ (found.beta[:, None] * X))


def objective(mean, cov, X, y, phi, cap, target):
    """Divergence and price of slack, from first principles."""
    divergence = 0.5 * (np.trace(cov) - len(mean) - np.linalg.slogdet(cov)[1] + mean @ mean)
    slack = np.maximum(target + phi * np.sqrt(np.einsum("ij,jk,ik->i", X, cov, X)) - y * (X @ mean), 0.0)
    return divergence + np.where(np.isfinite(cap), cap, 0.0) @ slack


def optimality(X, y, phi, cap, target, found):
    """Largest violation of (16), (20), (22) and of complementarity, from the multipliers alone."""
    mean, cov = gaussian(X, y, found)
    s = np.sqrt(np.einsum("ij,jk,ik->i", X, cov, X))
    pull = target + phi * s - y * (X @ mean)
    stay = found.alpha - np.clip(found.alpha + pull, 0.0, cap)
    consistent = found.beta * s - phi * found.alpha
    return max(np.abs(stay).max(), np.abs(consistent).max()) / max(1.0, np.abs(found.alpha).max())


def assert_agrees_with_oracle(case):
    X, y, phi, c, scale, target = drawn(case)
    cap = c / scale
    found = gaussian_margin(X @ X.T, y, phi, cap, target, tolerance=1e-11)
    best = oracle(X, y, phi, c, scale, target)
    assert found.primal == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert optimality(X, y, phi, cap, target, found) < 1e-6
    factored = gaussian_margin(FactorGeometry(X), y, phi, cap, target, tolerance=1e-11)
    assert factored.primal == pytest.approx(found.primal, rel=1e-8)
    np.testing.assert_allclose(factored.latents, found.latents, atol=1e-4 * np.abs(found.latents).max())


@pytest.mark.parametrize("case", range(40))
def test_agrees_with_a_conic_solver(case):
    assert_agrees_with_oracle(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", range(40, 200))
def test_agrees_with_a_conic_solver_on_many(case):
    assert_agrees_with_oracle(case)


def test_a_wrong_solution_is_noticed():
    X, y = labelled(np.random.default_rng(1), 30, 4, 0.2)
    cap, target = np.full(30, 2.0), np.zeros(30)
    found = gaussian_margin(X @ X.T, y, 1.0, cap, target)
    assert optimality(X, y, 1.0, cap, target, found) < 1e-6
    for wrong in (found._replace(alpha=1.0001 * found.alpha), found._replace(beta=1.0001 * found.beta)):
        assert optimality(X, y, 1.0, cap, target, wrong) > 1e-5


def unfinished(steps, *args):
    """What the solver has after a few steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        return gaussian_margin(*args, max_iterations=steps)


@pytest.mark.parametrize("case", range(10))
def test_the_gap_is_a_certificate_on_the_way(case):
    X, y, phi, c, scale, target = drawn(case)
    cap = c / scale
    best = gaussian_margin(X @ X.T, y, phi, cap, target, tolerance=1e-11)
    room = 1e-9 * max(1.0, abs(best.primal))
    for steps in (0, 1, 2, 4, 100):
        found = unfinished(steps, X @ X.T, y, phi, cap, target)
        assert found.dual <= best.primal + room
        assert found.primal >= best.dual - room
        if np.isfinite(cap).all():
            assert objective(*gaussian(X, y, found), X, y, phi, cap, target) == pytest.approx(found.primal, rel=1e-9)
            assert found.primal - found.divergence == pytest.approx(cap @ found.slack)


@pytest.mark.parametrize("shape", [DenseGeometry, FactorGeometry])
def test_the_dual_is_a_lower_bound_for_any_beta(shape):
    rng = np.random.default_rng(3)
    X, y = labelled(rng, 15, 4, 0.2)
    geometry = FactorGeometry(X) if shape is FactorGeometry else DenseGeometry(X @ X.T)
    machine = interior.Machine(geometry, y, np.full(15, 1.5), np.ones(15), np.zeros(15))
    best = gaussian_margin(geometry, y, 1.5, 1.0, tolerance=1e-12)
    without = []
    for _ in range(50):
        beta = best.beta * np.exp(rng.normal(size=15))
        point = interior.evaluate(machine, best.alpha, beta)
        assert point.dual <= best.primal
        mismatch = point.covariance.mismatch(1.5 * best.alpha / point.covariance.deviations - beta)
        without.append(point.dual + 0.5 * mismatch)
    assert max(without) > best.primal  # so the correction is needed


def settled(geometry, alpha, phi):
    """The fixed point beta = phi alpha / s, to rounding."""
    beta = phi * alpha / np.sqrt(geometry.diag)
    for _ in range(80):
        beta = phi * alpha / geometry.covariance(beta).deviations
    return beta


def dual(X, y, phi, target, alpha):
    """W(alpha) as in the design, with the inner minimum by its fixed point."""
    beta = settled(DenseGeometry(X @ X.T), alpha, phi)
    log_det = np.linalg.slogdet(np.eye(X.shape[1]) + X.T @ (beta[:, None] * X))[1]
    mean = X.T @ (y * alpha)
    return target @ alpha - 0.5 * mean @ mean + 0.5 * (log_det + ((phi * alpha) ** 2 / beta).sum())


@pytest.mark.parametrize("shape", [DenseGeometry, FactorGeometry])
def test_slope_and_curvature_of_the_dual(shape):
    rng = np.random.default_rng(5)
    n, phi = 9, rng.uniform(0.5, 2.0, 9)
    X, y = labelled(rng, n, 4, 0.2)
    target, alpha, barrier = rng.normal(size=n), rng.uniform(0.1, 2.0, n), 10.0 ** rng.uniform(-6, 1, n)
    geometry = FactorGeometry(X) if shape is FactorGeometry else DenseGeometry(X @ X.T)

    def slope(alpha):
        point = interior.evaluate(
            interior.Machine(geometry, y, phi, np.full(n, 9.0), target), alpha, settled(geometry, alpha, phi)
        )
        assert point.dual == pytest.approx(dual(X, y, phi, target, alpha), rel=1e-12)
        return point.violations

    by_hand = central_difference(lambda a: dual(X, y, phi, target, a), alpha)
    np.testing.assert_allclose(slope(alpha), by_hand, rtol=1e-6, atol=1e-7)
    curvature = central_difference(slope, alpha).T
    solve, respond = geometry.covariance(settled(geometry, alpha, phi)).newton(phi, y, barrier)
    right = rng.normal(size=n)
    step = solve(right)
    np.testing.assert_allclose(barrier * step - curvature @ step, right, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        respond(phi * right), -curvature @ right - y * (X @ (X.T @ (y * right))), rtol=1e-3, atol=1e-5
    )


@pytest.mark.parametrize("cap", [0.05, 1.0, np.inf])
def test_without_deviations_it_is_the_support_vector_machine(cap):
    X, y = labelled(np.random.default_rng(0), 30, 5, 0.0 if np.isinf(cap) else 0.2)
    found = gaussian_margin(X @ X.T, y, 0.0, cap, 1.0, tolerance=1e-12)
    machine = support_vectors(Problem(X @ X.T, y, Hinge(min(cap, 1e5))))
    np.testing.assert_allclose(found.latents, machine.latents, atol=1e-4)
    assert not found.beta.any()


def test_a_kernel_matrix_of_full_rank_and_its_cholesky_factor_agree():
    X, y = labelled(np.random.default_rng(2), 60, 4, 0.1)
    gram = RBF(1.0)(X)
    assert isinstance(margin_geometry(Gram(gram)), DenseGeometry)
    one = gaussian_margin(gram, y, 1.0, 3.0, tolerance=1e-12)
    other = gaussian_margin(FactorGeometry(np.linalg.cholesky(gram + 1e-13 * np.eye(60))), y, 1.0, 3.0, tolerance=1e-12)
    assert other.primal == pytest.approx(one.primal, rel=1e-8)
    np.testing.assert_allclose(other.latents, one.latents, atol=1e-5)
    np.testing.assert_allclose(other.deviations, one.deviations, atol=1e-5)


def test_low_rank_is_noticed():
    X, _ = labelled(np.random.default_rng(2), 40, 4)
    geometry = margin_geometry(Gram(X @ X.T))
    assert isinstance(geometry, FactorGeometry)
    assert geometry.factor.shape == (40, 4)
    np.testing.assert_allclose(geometry.factor @ geometry.factor.T, X @ X.T, atol=1e-12)


@pytest.mark.processor
@pytest.mark.parametrize(("wrong", "cap"), [(0.1, 1.0), (0.0, np.inf)])
@pytest.mark.parametrize("shape", [DenseGeometry, FactorGeometry])
def test_many_rows_are_solved_on_few(wrong, cap, shape, monkeypatch):
    X, y = labelled(np.random.default_rng(4), 300, 4, wrong)
    geometry = FactorGeometry(X) if shape is FactorGeometry else DenseGeometry(RBF(3.0)(X) + 1.0)
    whole = gaussian_margin(geometry, y, 1.0, cap)
    monkeypatch.setattr(interior, "_FEW", 50)
    sizes = []
    plain = interior._interior_point
    monkeypatch.setattr(
        interior, "_interior_point", lambda part, *rest: sizes.append(len(part.y)) or plain(part, *rest)
    )
    found = gaussian_margin(geometry, y, 1.0, cap)
    assert found.gap <= 1e-9
    assert found.primal == pytest.approx(whole.primal, rel=3e-9)
    assert max(sizes) < 300
    again = gaussian_margin(geometry, y, 1.0, cap, start=found.alpha)
    assert again.primal == pytest.approx(whole.primal, rel=3e-9)


@pytest.mark.processor
@pytest.mark.parametrize("price", [0.02, 0.5, 30.0])
def test_a_similar_machine_tells_which_rows_to_look_at(price, monkeypatch):
    """The optimum is that of all rows, the steps are made on few of them."""
    X, y = labelled(np.random.default_rng(7), 400, 4, 0.05)
    geometry = FactorGeometry(X)
    cold, other = gaussian_margin(geometry, y, 1.5, price), gaussian_margin(geometry, y, 1.5, 3 * price)
    sizes = []
    plain = interior._interior_point
    monkeypatch.setattr(
        interior, "_interior_point", lambda part, *rest: sizes.append(len(part.y)) or plain(part, *rest)
    )
    warm = gaussian_margin(geometry, y, 1.5, price, start=other.alpha)
    assert warm.gap <= 1e-9
    assert warm.primal == pytest.approx(cold.primal, rel=3e-9)
    assert price < 0.1 or max(sizes) < 400


@pytest.mark.processor
def test_rows_of_the_same_point_and_large_scales():
    X, y = labelled(np.random.default_rng(6), 20, 3, 0.2)
    twice = gaussian_margin(np.kron(np.ones((2, 2)), X @ X.T), np.r_[y, y], 1.0, 0.5)
    once = gaussian_margin(X @ X.T, y, 1.0, 1.0)
    assert twice.primal == pytest.approx(once.primal, rel=1e-8)
    for size in (1e-4, 1e4):
        scaled = gaussian_margin(size**2 * X @ X.T, y, 1.0, 1.0 / size)
        assert scaled.gap <= 1e-9
        assert scaled.iterations < 30


@pytest.mark.processor
def test_easy_rows_have_no_multiplier_and_hard_rows_the_largest():
    X, y = labelled(np.random.default_rng(7), 100, 3, 0.2)
    found = gaussian_margin(X @ X.T, y, 1.0, 0.3)
    assert np.all(found.alpha[found.violations < -1e-3] == 0)
    assert np.all(found.alpha[found.violations > 1e-3] == 0.3)
    between = (found.alpha > 0) & (found.alpha < 0.3)
    np.testing.assert_allclose(found.violations[between], 0.0, atol=1e-6)
    np.testing.assert_array_equal(found.support, np.flatnonzero(found.alpha))


def test_a_tiny_price_puts_all_rows_at_their_cap():
    X, y = labelled(np.random.default_rng(7), 20, 3, 0.2)
    found = gaussian_margin(X @ X.T, y, 1.0, 1e-9)
    np.testing.assert_array_equal(found.alpha, 1e-9)
    nothing = gaussian_margin(X @ X.T, y, 0.0, 1.0)
    assert abs(nothing.primal) < 1e-9


def test_rows_of_norm_zero():
    X, y = labelled(np.random.default_rng(8), 20, 3, 0.2)
    gram = np.zeros((21, 21))
    gram[1:, 1:] = X @ X.T
    labels = np.r_[1.0, y]
    plain = gaussian_margin(X @ X.T, y, 1.0, 2.0)
    found = gaussian_margin(gram, labels, 1.0, 2.0)
    assert found.alpha[0] == found.deviations[0] == found.latents[0] == found.violations[0] == 0
    assert found.primal == pytest.approx(plain.primal, rel=1e-9)
    robust = gaussian_margin(gram, labels, 1.0, 2.0, 1.0)
    assert robust.alpha[0] == 2.0
    assert robust.slack[0] == 1.0
    assert robust.primal == pytest.approx(gaussian_margin(X @ X.T, y, 1.0, 2.0, 1.0).primal + 2.0, rel=1e-8)
    with pytest.raises(EmptyVersionSpaceError, match=r"^Row 0 has kernel value zero .* use a finite C\.$"):
        gaussian_margin(gram, labels, 1.0, np.inf, 1.0)


def test_nothing_but_rows_of_norm_zero():
    for geometry in (DenseGeometry(np.zeros((2, 2))), FactorGeometry(np.zeros((2, 3)))):
        found = gaussian_margin(geometry, [1, -1], 1.0, 2.0, [0.0, 1.0])
        np.testing.assert_array_equal(found.alpha, [0.0, 2.0])
        assert found.primal == found.dual == 2.0


def exact_variances(X, beta):
    """``x_i' Sigma x_i`` and ``log det Sigma^-1`` by elimination in rational numbers."""
    rows, weights = [[Fraction(value) for value in x] for x in X], [Fraction(value) for value in beta]
    d = range(X.shape[1])
    table = [[sum(w * x[j] * x[k] for w, x in zip(weights, rows, strict=True)) + (j == k) for k in d] for j in d]
    table = [line + [x[j] for x in rows] for j, line in enumerate(table)]
    variances, log_det = [Fraction(0)] * len(rows), 0.0
    for j in d:
        pivot, right = table[j][j], table[j][len(d) :]
        variances = [v + b * b / pivot for v, b in zip(variances, right, strict=True)]
        log_det += math.log(pivot)
        for k in range(j + 1, len(d)):
            share = table[k][j] / pivot
            table[k] = [a - share * b for a, b in zip(table[k], table[j], strict=True)]
    return np.array([float(v) for v in variances]), log_det


@pytest.mark.processor
@pytest.mark.parametrize("tight", [0, 3, 10, 40])
def test_variances_survive_heavy_weights_on_rows_of_low_rank(tight):
    """Rows of six dimensions, some in a plane, with weights up to 1e14; the witness is rational."""
    rng = np.random.default_rng(12)
    X = rng.integers(-9, 10, size=(40, 6)).astype(float)
    X[:10, 2:] = 0.0
    beta = 10.0 ** rng.uniform(-3, 1, 40)
    beta[:tight] = 10.0 ** rng.uniform(6, 14, tight)
    found = DenseGeometry(X @ X.T).covariance(beta)
    variances, log_det = exact_variances(X, beta)
    np.testing.assert_allclose(found.deviations**2, variances, rtol=1e-7)
    assert found.log_det == pytest.approx(log_det, rel=1e-12)


@pytest.mark.processor
@pytest.mark.parametrize("shape", [DenseGeometry, FactorGeometry])
@pytest.mark.parametrize("cap", [1e3, 1e6])
def test_high_prices(shape, cap):
    X, y = labelled(np.random.default_rng(11), 50, 4, 0.5)
    found = gaussian_margin(
        FactorGeometry(X) if shape is FactorGeometry else DenseGeometry(X @ X.T), y, 2.0, cap, 1.0, tolerance=1e-8
    )
    assert found.gap <= 1e-8


@pytest.mark.parametrize("shape", [DenseGeometry, FactorGeometry])
@pytest.mark.parametrize("target", [0.0, 1.0])
@pytest.mark.parametrize("few", [10, 1000])
def test_labels_that_cannot_be_kept_are_refused(shape, target, few, monkeypatch):
    monkeypatch.setattr(interior, "_FEW", few)
    X, y = labelled(np.random.default_rng(9), 100, 3, 0.1)
    geometry = FactorGeometry(X) if shape is FactorGeometry else DenseGeometry(X @ X.T)
    with pytest.raises(EmptyVersionSpaceError, match=r"^No function of this kernel .* use a finite C\.$"):
        gaussian_margin(geometry, y, 1.0, np.inf, target)


@pytest.mark.processor
def test_a_gap_that_is_left_is_told():
    X, y = labelled(np.random.default_rng(9), 30, 3, 0.3)
    with pytest.warns(InferenceWarning, match=r"^The Gaussian margin machine stopped after 2 iterations .*\.$"):
        found = gaussian_margin(X @ X.T, y, 1.0, 1.0, max_iterations=2)
    assert found.gap > 1e-9
    with pytest.warns(InferenceWarning, match=r"^The sweeps of the Gaussian margin machine stopped after 1 .*\.$"):
        found = hildreth(X @ X.T, y, 1.0, 1.0, tolerance=1e-9, max_sweeps=1)
    assert all(np.isfinite(a).all() for a in found)


@pytest.mark.processor
@pytest.mark.parametrize("case", range(15))
def test_sweeps_agree_with_newton(case):
    X, y, phi, c, scale, target = drawn(case)
    found = hildreth(X @ X.T, y, phi, c / scale, target, tolerance=1e-4, max_sweeps=100_000)
    newton = gaussian_margin(X @ X.T, y, phi, c / scale, target)
    assert found.gap <= 1e-4
    assert found.primal == pytest.approx(newton.primal, rel=2e-4, abs=2e-4)
    assert newton.primal <= found.primal + 1e-8 * max(1.0, found.primal)


def bound_objective(mean, cov, X, y, phi, price):
    """``KL + sum_i c_i max(0, phi - z_i)``, from first principles."""
    s = np.sqrt(np.einsum("ij,jk,ik->i", X, cov, X))
    return objective(mean, cov, X, y, phi, price / s, np.zeros(len(y)))


def test_scales_that_follow_the_deviations_never_raise_the_objective():
    rng = np.random.default_rng(10)
    X, y = labelled(rng, 60, 4, 0.1)
    price = rng.uniform(0.1, 1.0, 60)
    with pytest.warns(
        InferenceWarning, match=r"^The Gaussian margin machine with slack in deviations was left after .*\.$"
    ):
        found = [bound_minimising(FactorGeometry(X), y, 1.5, price, max_rounds=k) for k in (1, 2, 3, 5)]
    found.append(bound_minimising(FactorGeometry(X), y, 1.5, price))
    values = [bound_objective(*gaussian(X, y, one), X, y, 1.5, price) for one in found]
    assert np.all(np.diff(values) <= 1e-9)
    assert values[-1] < values[0] - 1e-2
    fixed = gaussian_margin(FactorGeometry(X), y, 1.5, price / np.sqrt(FactorGeometry(X).diag))
    assert values[0] == pytest.approx(bound_objective(*gaussian(X, y, fixed), X, y, 1.5, price))
    assert [one.rounds for one in found[:4]] == [1, 2, 3, 5]
    assert found[-1].is_local
    assert not fixed.is_local
    assert found[-1].rounds < 50


def test_slack_in_deviations_ends_after_so_many_iterations():
    X, y = labelled(np.random.default_rng(10), 60, 4, 0.1)
    problem = Problem(X @ X.T, y, Step())
    engine = Margin(C=0.5, slack="deviation")
    with pytest.warns(InferenceWarning, match=r"was left after \d+ rounds and \d+ iterations.*\.$"):
        found = replace(engine, max_iterations=3).infer(problem).found
    assert found.rounds < engine.infer(problem).found.rounds


def test_slack_in_deviations_needs_a_price():
    with pytest.raises(InvalidProblemError, match="finite C"):
        bound_minimising(np.eye(2), [1, -1], 1.0, np.inf)
