import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, RationalQuadratic

from bayespoint import Hinge, Problem, Step
from bayespoint.engines import EP, Laplace
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import Exact, Landmarks, Linear, LowRank, pivoted_cholesky
from bayespoint.grams.views import approximation, as_view
from bayespoint.kernels import contract_gradient, kernel_values, make_kernel, with_bias
from bayespoint.problem import Weights
from bayespoint.tuning import Model, infer_candidate, maximise_evidence
from witnesses import central_difference

KERNELS = [
    ConstantKernel(2.0) * RBF(1.5),
    ConstantKernel(2.0) * RBF([1.5, 0.8, 3.0]) + ConstantKernel(0.5),
    ConstantKernel(0.7) * Matern(2.0, nu=1.5),
    (0.3 * DotProduct(1.2)) ** 2 + RBF(1.0),
    RationalQuadratic(1.0, 2.0) * RBF(4.0),
]


@pytest.fixture
def data(rng):
    X = rng.standard_normal((80, 3))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(80) > 0, 1.0, -1.0)
    return X, y


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_gradient_between_two_sets_of_points(kernel, rng):
    X, Z = rng.standard_normal((7, 3)), rng.standard_normal((5, 3))
    g = rng.standard_normal((7, 5))

    def total(theta):
        return np.vdot(g, kernel.clone_with_theta(theta)(X, Z))

    numeric = approx_fprime(kernel.theta, total, 1e-6)
    np.testing.assert_allclose(contract_gradient(kernel, X, g, Z), numeric, atol=2e-4)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_pivoted_cholesky_measures_what_it_leaves_out(kernel, rng):
    X = rng.standard_normal((300, 3))
    gram = kernel(X)
    found = pivoted_cholesky(kernel, X, max_rank=40, tolerance=1e-3, rng=0)
    left = gram - found.factor @ found.factor.T
    np.testing.assert_allclose(np.diagonal(left), found.residual, atol=1e-9 * gram.max())
    assert np.linalg.eigvalsh(left).min() > -1e-9 * gram.max()
    rank = len(found.pivots)
    assert rank == 40 or np.trace(left) <= 1e-3 * np.trace(gram)
    best = np.linalg.eigvalsh(gram)[:-rank].sum()
    assert np.trace(left) < 12 * best + 1e-9 * np.trace(gram)
    assert np.abs(np.triu(found.factor[found.pivots], 1)).max() == 0


def test_pivots_are_drawn_as_if_one_at_a_time():
    """Three points, two of them nearly the same: the second landmark is drawn by the variance that is left."""
    X = np.array([[0.0], [0.1], [2.0]])
    kernel = RBF(1.0)
    gram = kernel(X)
    counts = np.zeros((3, 3))
    rng = np.random.default_rng(0)
    for _ in range(1000):
        first, second = pivoted_cholesky(kernel, X, max_rank=2, tolerance=0.0, rng=rng).pivots
        counts[first, second] += 1
    for i in range(3):
        left = 1 - gram[i] ** 2
        expected = left / left.sum()
        share = counts[i] / counts[i].sum()
        error = np.sqrt(expected * (1 - expected) / counts[i].sum())
        assert np.all(np.abs(share - expected) <= 4 * error + 1e-12)


def test_pivots_of_copies_are_found_once(rng):
    X = np.repeat(rng.standard_normal((5, 2)), 20, axis=0)
    found = pivoted_cholesky(RBF(1.0), X, tolerance=0.0, rng=1)
    assert len(found.pivots) == 5
    assert found.residual.max() < 1e-10


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("likelihood", [Step(softness=1.0), Step(noise=0.1, softness=0.5), Hinge(1.5)], ids=str)
@pytest.mark.parametrize("keeps_residual", [True, False])
def test_slope_of_the_evidence_by_landmarks(kernel, likelihood, keeps_residual, data):
    X, y = data
    basis = Landmarks(X, X[:12], keeps_residual)
    engine = EP(tolerance=1e-10)

    def evidence(theta):
        model = Model(kernel.clone_with_theta(theta), likelihood)
        return infer_candidate(model, basis, [y, -y], None, engine).log_evidence

    candidate = infer_candidate(Model(kernel, likelihood), basis, [y, -y], None, engine)
    steps = 1e-4 * np.eye(kernel.n_dims)
    numeric = [(evidence(kernel.theta + h) - evidence(kernel.theta - h)) / 2e-4 for h in steps]
    np.testing.assert_allclose(candidate.evidence_gradient(), numeric, atol=2e-5)


@pytest.mark.parametrize("engine", [EP(tolerance=1e-10), Laplace()], ids=["ep", "laplace"])
def test_slope_of_the_evidence_of_a_linear_kernel_is_the_exact_one(engine, data):
    X, y = data
    kernel = with_bias(make_kernel("linear", X), 0.7, tuned=True)
    likelihood = Hinge(1.5) if isinstance(engine, Laplace) else Step(softness=1.0)
    slow, fast = (infer_candidate(Model(kernel, likelihood), b, [y], None, engine) for b in (Exact(X), Linear(X)))
    assert fast.log_evidence == pytest.approx(slow.log_evidence, abs=1e-7)
    np.testing.assert_allclose(fast.evidence_gradient(), slow.evidence_gradient(), atol=1e-6)


def test_all_points_as_landmarks_are_exact(data):
    X, y = data
    model = Model(ConstantKernel(2.0) * RBF(1.5), Step(softness=1.0))
    exact, low = (infer_candidate(model, basis, [y], None, EP()) for basis in (X, Landmarks(X, X)))
    assert low.log_evidence == pytest.approx(exact.log_evidence, abs=1e-6)
    np.testing.assert_allclose(low.evidence_gradient(), exact.evidence_gradient(), atol=1e-5)
    new = X[:5] + 0.3
    moments = [
        one.posteriors[0].at(as_view(b).new(model.kernel)(new)).latent
        for one, b in ((exact, X), (low, Landmarks(X, X)))
    ]
    np.testing.assert_allclose(*moments, atol=1e-6)


def test_a_climb_on_landmarks_ends_where_the_exact_one_does(data):
    X, y = data
    model = Model(ConstantKernel(1.0) * RBF(1.0), Step(softness=1.0))
    exact = maximise_evidence(model, X, [y])
    low = maximise_evidence(model, Landmarks.among(X, model.kernel, tolerance=1e-9, rng=0), [y])
    np.testing.assert_allclose(low.model.theta, exact.model.theta, atol=1e-3)


def test_what_is_left_out_is_measured(data):
    X, _ = data
    kernel = ConstantKernel(3.0) * RBF(0.7)
    basis = Landmarks.among(X, kernel, max_rank=15, rng=0)
    said = approximation(basis, kernel)
    m = basis.gram(kernel).factor
    left = np.diagonal(kernel_values(kernel, X) - m @ m.T)
    assert said.rank == 15
    assert said.rows == 80
    assert said.left_out == pytest.approx(left.sum() / 240, rel=1e-6)
    assert said.largest == pytest.approx(left.max() / 3, rel=1e-6)
    assert "rank 15 for 80 rows" in str(said)


def test_residuals_are_a_softness_of_each_row_s_own(data):
    """A row's residual and its softness are one variance: equal residuals under a hard boundary are a soft one."""
    X, y = data
    soft = EP(tolerance=1e-9).infer(Problem(LowRank(X), y, Step(noise=0.1, softness=0.7)))
    own = EP(tolerance=1e-9).infer(Problem(LowRank(X, residual=np.full(80, 0.4)), y, Step(noise=0.1, softness=0.3)))
    np.testing.assert_allclose(own.mean_weights, soft.mean_weights, rtol=1e-6)
    assert own.log_evidence == pytest.approx(soft.log_evidence, abs=1e-7)
    np.testing.assert_allclose(own.leave_one_out.variance, soft.leave_one_out.variance + 0.4, rtol=1e-6)
    whole = own.evidence_gradient.by_residual.sum() * 0.7
    assert soft.evidence_gradient.likelihood["softness"] == pytest.approx(whole, rel=1e-4)


@pytest.mark.parametrize("likelihood", [Step(noise=0.1, softness=0.5), Hinge(1.5)], ids=str)
def test_slopes_under_weights(likelihood, data):
    """Copies and powers: the slope in a row's residual, and that in the kernel, which a residual takes part in."""
    X, y = (part[:30] for part in data)
    weights = np.resize([0.4, 1.0, 3.0, 2.5], 30)
    engine, kernel, basis = EP(tolerance=1e-11), ConstantKernel(2.0) * RBF(1.5), Landmarks(X, X[:6])

    def by_residual(values):
        residual = np.r_[values, np.linspace(0.2, 1.0, 26)]
        return engine.infer(Problem(LowRank(X, residual=residual), y, likelihood, weights))

    first = np.array([0.3, 0.6, 0.9, 1.2])  # one row of each weight
    numeric = central_difference(lambda values: by_residual(values).log_evidence, first, step=1e-3)
    np.testing.assert_allclose(by_residual(first).evidence_gradient.by_residual[:4], numeric, atol=1e-6)

    def by_kernel(theta):
        model = Model(kernel.clone_with_theta(theta), likelihood)
        return infer_candidate(model, basis, [y], Weights.of(weights), engine)

    numeric = central_difference(lambda theta: by_kernel(theta).log_evidence, kernel.theta, step=1e-3)
    np.testing.assert_allclose(by_kernel(kernel.theta).evidence_gradient(), numeric, atol=1e-5)


def test_residuals_by_dense_algebra(data):
    """All independent: the Gram matrix with the residuals on its diagonal, where each row is seen once."""
    X, y = data
    residual = np.linspace(0.0, 2.0, 80)
    low = EP(tolerance=1e-9).infer(Problem(LowRank(X, residual=residual), y, Hinge(1.5)))
    dense = EP(tolerance=1e-9).infer(Problem(X @ X.T + np.diag(residual), y, Hinge(1.5)))
    assert low.log_evidence == pytest.approx(dense.log_evidence, abs=1e-6)
    np.testing.assert_allclose(low.leave_one_out.mean, dense.leave_one_out.mean, atol=1e-5)
    np.testing.assert_allclose(low.leave_one_out.variance, dense.leave_one_out.variance, rtol=1e-5)


@pytest.mark.parametrize("residual", [[0.1], [-1.0] * 80, [np.nan] * 80])
def test_bad_residuals_are_refused(residual, data):
    with pytest.raises(InvalidProblemError, match="residual must be 80 variances"):
        LowRank(data[0], residual=residual)


def test_a_factor_grows_as_far_as_it_must(rng):
    X = rng.uniform(0, 30, size=(700, 2))
    found = pivoted_cholesky(RBF(0.3), X, tolerance=0.0, rng=0)
    assert found.factor.shape[1] == len(found.pivots) > 600
    np.testing.assert_allclose(found.factor @ found.factor.T, RBF(0.3)(X), atol=1e-8)


@pytest.mark.parametrize(("left", "rank"), [(3e-13, 2), (1e-13, 1)])
def test_what_is_left_of_two_points_is_rounding_below_two_in_ten_to_the_thirteen(left, rank):
    X = np.array([[1.0, 0.0], [0.0, np.sqrt(left)]])
    assert pivoted_cholesky(DotProduct(sigma_0=0.0), X, tolerance=0.0, rng=0).factor.shape == (2, rank)
