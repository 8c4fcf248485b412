"""Expectation propagation for several classes, beside two classes, orthants, brute-force draws and differences."""

from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from bayespoint import Choice, Problem, Step, readouts
from bayespoint.engines import EP
from bayespoint.engines.ep.classes import ClassRows, evaluate_classes, means_ahead
from bayespoint.engines.ep.sites import Sites
from bayespoint.exceptions import EmptyVersionSpaceError
from bayespoint.grams import Dense, DensePoints, FeaturePoints, LowRank
from bayespoint.grams.classes import site_precision
from bayespoint.likelihoods.choice import largest_of
from bayespoint.likelihoods.comparisons import above_all
from bayespoint.tuning import Model, infer_candidate
from witnesses import central_difference, orthant_probability

EXACT = EP(tolerance=1e-10)
KINDS = {"hard": Choice(), "noise": Choice(0.1), "soft": Choice(0.0, 0.5), "soft noise": Choice(0.1, 0.5)}


def gram_of(X):
    return 2.0 * RBF(1.0)(X) + 0.5 + 0.05 * np.eye(len(X))


def some_problem(kind, n, n_classes, seed=0, weights=None):
    rng = np.random.default_rng([seed, n, n_classes])
    X, y = rng.normal(size=(n, 2)), rng.integers(n_classes, size=n)
    return Problem(gram_of(X), y, KINDS[kind], weights, n_classes=n_classes)


# -- two classes are the binary model


@pytest.mark.parametrize(
    ("kind", "weights"), [*((kind, None) for kind in KINDS), ("hard", [1, 2] * 10), ("soft", [1, 3] * 10)]
)
def test_two_classes_are_a_step_on_the_difference(kind, weights):
    """Gram matrix and softness twice as large; to 1e-8 in all that is read from a posterior."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(23, 2))
    y = (X[:20, 0] + 0.3 * X[:20, 1] > 0).astype(int)
    if kind != "hard":
        y[:3] = 1 - y[:3]
    whole, likelihood = gram_of(X), KINDS[kind]
    gram, cross, diag = whole[:20, :20], whole[20:, :20], np.diagonal(whole)[20:]
    joint = EXACT.infer(Problem(gram, y, likelihood, weights))
    step = Step(likelihood.noise, 2 * likelihood.softness)
    binary = EXACT.infer(Problem(2 * gram, 2 * y - 1, step, weights))
    close = {"rtol": 1e-8, "atol": 1e-8}
    np.testing.assert_allclose(joint.log_evidence, binary.log_evidence, **close)
    np.testing.assert_allclose(joint.mean[:, 1] - joint.mean[:, 0], binary.mean, **close)
    np.testing.assert_allclose(
        joint.at(DensePoints(cross, diag)).probabilities[:, 1],
        readouts.class_probability(binary, DensePoints(2 * cross, 2 * diag)),
        **close,
    )
    np.testing.assert_allclose(
        joint.leave_one_out_probabilities[:, 1], readouts.leave_one_out_probability(binary), **close
    )
    one, two = joint.evidence_gradient, binary.evidence_gradient
    np.testing.assert_allclose(one.by_gram(), 2 * two.by_gram(), **close)
    for name in ("noise", "softness"):
        np.testing.assert_allclose(one.likelihood[name], two.likelihood[name], **close)


# -- against the truth


def orthant(problem, noisy=()):
    """P(all labels are those of the largest h), rows in `noisy` left out."""
    n, n_classes = problem.size, problem.n_classes
    rows, walls = np.arange(n), []
    for i in rows:
        for c in range(n_classes):
            if c != problem.y[i] and i not in noisy:
                wall = np.zeros((n, n_classes))
                wall[i, problem.y[i]], wall[i, c] = 1.0, -1.0
                walls.append(wall.ravel())
    if not walls:
        return 1.0
    prior = np.kron(problem.dense + problem.likelihood.softness * np.eye(n), np.eye(n_classes))
    cov = np.array(walls) @ prior @ np.array(walls).T
    return orthant_probability(cov, 0, abseps=1e-7, releps=1e-7, maxpts=2_000_000)


def true_log_evidence(problem):
    """A sum over which labels are free of noise."""
    high, low = problem.likelihood.levels(problem.n_classes)
    total = 0.0
    for flags in product([False, True], repeat=problem.size):
        factor = np.prod([low if flag else high - low for flag in flags])
        if factor:
            total += factor * orthant(problem, np.flatnonzero(flags))
    return np.log(total)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2])
def test_the_evidence_of_one_and_two_rows_of_three_classes(kind, n):
    problem = some_problem(kind, n, 3)
    assert EXACT.infer(problem).log_evidence == pytest.approx(true_log_evidence(problem), abs=0.015)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "n_classes"), [(4, 3), pytest.param(6, 4, marks=pytest.mark.slow)])
def test_moments_and_evidence_beside_draws_of_the_prior(kind, n, n_classes, seed):
    """Within expectation propagation's own error: .15 nat, .15 prior standard deviations, a third of a variance."""
    problem = some_problem(kind, n, n_classes, seed)
    posterior, likelihood = EXACT.infer(problem), problem.likelihood
    rng, total, parts = np.random.default_rng(seed), 4_000_000 if n > 4 else 400_000, []
    root = np.linalg.cholesky(problem.dense)
    for _ in range(total // 200_000):
        f = np.einsum("ij,djc->dic", root, rng.standard_normal((200_000, n, n_classes)))
        h = f + np.sqrt(likelihood.softness) * rng.standard_normal(f.shape)
        high, low = likelihood.levels(n_classes)
        w = np.where(h.argmax(axis=2) == problem.y, high, low).prod(axis=1)
        parts.append([w.sum(), (w**2).sum(), np.tensordot(w, f, 1), np.tensordot(w, f**2, 1)])
    weight, squares, first, second = (sum(part) for part in zip(*parts, strict=True))
    effective = weight**2 / squares
    mean = first / weight
    assert posterior.log_evidence == pytest.approx(np.log(weight / total), abs=0.15 + 5 / np.sqrt(effective))
    assert np.abs(posterior.mean - mean).max() < (0.15 + 5 / np.sqrt(effective)) * np.sqrt(problem.diag.max())
    ratio = posterior.variance / (second / weight - mean**2)
    assert np.abs(ratio - 1).max() < 0.34 + 10 / np.sqrt(effective)


def test_one_above_all_others_beside_draws_and_a_wrong_correlation(rng):
    mean, root = rng.normal(size=4), rng.normal(size=(4, 4))
    cov, draws = root @ root.T, 200_000
    largest = (mean + rng.standard_normal((draws, 4)) @ root.T).argmax(axis=1)
    share = np.bincount(largest, minlength=4) / draws
    found, wrong = (largest_of(mean[None], one[None], np.zeros(1))[0] for one in (cov, np.diag(np.diag(cov))))
    assert np.abs(found - share).max() < 0.015  # that of expectation propagation
    assert np.abs(wrong - share).max() > 0.03


def test_independent_latents_are_the_quadrature(rng):
    mean, variance = rng.normal(size=(20, 5)), rng.uniform(0.5, 3.0, (20, 5))
    found = largest_of(mean, np.einsum("ic,cd->icd", variance, np.eye(5)), np.zeros(20))
    np.testing.assert_allclose(found, readouts.largest_probabilities(mean, variance), atol=5e-3)


# -- derivatives


@pytest.mark.parametrize("form", ["dense", "factor", "residual"])
@pytest.mark.parametrize("kind", ["noise", "soft", "soft noise"])
def test_the_gradient_is_that_of_the_evidence(kind, form):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(12, 3)), rng.integers(3, size=12)
    weights, likelihood = np.array([1, 2, 1, 1] * 3), KINDS[kind]

    def infer(theta):
        scale, noise, softness = np.exp(theta)
        step = Choice(noise if likelihood.noise else 0.0, softness if likelihood.softness else 0.0)
        return EP(tolerance=1e-11, max_sweeps=400).infer(Problem(gram(scale), y, step, weights))

    def gram(scale):
        if form == "dense":
            return gram_of(scale * X)
        return LowRank(scale * X, residual=None if form == "factor" else scale**2 * np.linspace(0.1, 0.5, 12))

    theta = np.log([1.3, 0.1, 0.5])
    gradient = infer(theta).evidence_gradient
    h = 1e-6
    if form == "dense":
        slope = (gradient.by_gram() * (gram_of(1.3 * np.exp(h) * X) - gram_of(1.3 * np.exp(-h) * X))).sum() / (2 * h)
    else:
        slope = (gradient.by_factor() * 1.3 * X).sum()
        if form == "residual":  # by_factor has it that residuals fall as the factor grows
            by_residual = gradient.by_residual
            slope += (2 * by_residual * (1.3**2) * ((X**2).sum(axis=1) + np.linspace(0.1, 0.5, 12))).sum()
    expected = central_difference(lambda t: infer(t).log_evidence, theta, 1e-3)
    found = [slope, gradient.likelihood["noise"], gradient.likelihood["softness"]]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_the_climb_has_the_gradient_of_all_parameters():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 2)), rng.integers(3, size=15)
    model = Model(ConstantKernel(2.0) * RBF(1.0) + ConstantKernel(0.5), Choice(0.1, 0.5), ("noise", "softness"))

    def candidate(theta):
        return infer_candidate(model.at(theta), X, [y], None, EP(tolerance=1e-11, max_sweeps=400))

    found = candidate(model.theta).evidence_gradient()
    expected = central_difference(lambda theta: candidate(theta).log_evidence, model.theta, 1e-3)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


# -- the algebra


@pytest.mark.parametrize("form", ["dense", "factor"])
def test_sites_of_several_classes_by_explicit_matrices(form, rng):
    """Very different precisions, one that is nothing and one below zero."""
    n, n_classes = 6, 3
    factor = rng.normal(size=(n, n))
    gram = factor @ factor.T
    pi, nu = rng.uniform(0.01, 2.0, (n, n_classes)), rng.normal(size=(n, n_classes))
    pi[:, 0], pi[2, 1], pi[4, 1], pi[3, 2] = 1e12, 1e-9, 0.0, -0.01
    nu -= nu.mean(axis=1, keepdims=True)
    sites, prior = np.zeros((n, n_classes, n, n_classes)), np.kron(gram, np.eye(n_classes))
    sites[np.arange(n), :, np.arange(n), :] = site_precision(pi)
    sites = sites.reshape(n * n_classes, -1)
    cov = np.linalg.solve(np.eye(n * n_classes) + prior @ sites, prior)
    mean = cov @ nu.ravel()
    found = (Dense(gram) if form == "dense" else LowRank(factor)).conditioned_classes(pi, nu)
    np.testing.assert_allclose(found.mean.ravel(), mean, rtol=1e-9)
    blocks = cov.reshape(n, n_classes, n, n_classes)[np.arange(n), :, np.arange(n), :]
    np.testing.assert_allclose(found.covariance, blocks, rtol=1e-9, atol=1e-12)
    log_det = np.linalg.slogdet(np.eye(n * n_classes) + prior @ sites)[1]
    assert found.log_ratio == pytest.approx(0.5 * nu.ravel() @ mean - 0.5 * log_det, rel=1e-9)
    change = np.linalg.inv(prior) - np.linalg.inv(prior) @ cov @ np.linalg.inv(prior)
    expected = np.einsum("icjc->ij", change.reshape(n, n_classes, n, n_classes))
    np.testing.assert_allclose(found.precision_change(), expected, rtol=1e-6, atol=1e-8)
    pushed = rng.normal(size=nu.shape)
    pushed -= pushed.mean(axis=1, keepdims=True)
    moved = found.mean_under(Dense(gram), pushed)
    np.testing.assert_allclose(moved.ravel(), cov @ pushed.ravel(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("weights", [None, [1, 3] * 10])
@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_means_that_go_ahead_stand_still_where_sites_do(kind, weights):
    """The targets of settled sites are these sites, by either way; elsewhere those of soft walls are nearer to them."""
    problem = some_problem(kind, 20, 4, weights=weights)
    settled, rows = EXACT.infer(problem), ClassRows.of(problem)
    sites = Sites(settled.tau.ravel(), settled.nu.ravel())
    for found, same in zip(means_ahead(rows, evaluate_classes(rows, sites)).target, sites, strict=True):
        np.testing.assert_allclose(found, same, rtol=1e-6, atol=1e-6)
    early = evaluate_classes(rows, rows.first())
    far = [np.abs(state.target.nu - sites.nu).sum() for state in (early, means_ahead(rows, early))]
    assert far[1] < 0.9 * far[0] or kind == "hard"


def test_sites_settle_where_means_that_go_ahead_lead_astray():
    """Steep walls between classes that overlap; the means alone never settle there."""
    rng = np.random.default_rng(0)
    X, y = load_iris(return_X_y=True)
    rows = rng.permutation(len(y))[:120]
    gram = 10 * RBF(0.5)(X[rows] / X.max()) + 1
    assert EP().infer(Problem(gram, y[rows], Choice(softness=0.01))).error < 1e-6


@pytest.mark.parametrize("form", ["dense", "factor"])
def test_marginals_at_new_points_are_those_of_all_points_jointly(form, rng):
    X, y = rng.normal(size=(14, 3)), rng.integers(3, size=10)
    whole = X @ X.T + np.eye(14)
    if form == "dense":
        problem = Problem(whole[:10, :10], y, Choice(0.0, 1.0), n_classes=3)
        new = DensePoints(whole[10:, :10], np.diagonal(whole)[10:], whole[10:, 10:])
    else:
        problem = Problem(LowRank(X[:10]), y, Choice(0.0, 1.0), n_classes=3)
        new = FeaturePoints(X[10:])
    at = EXACT.infer(problem).at(new)
    mean, covariance = at.posterior.gaussian.jointly_at(new)
    np.testing.assert_allclose(mean, at.mean, atol=1e-10)
    blocks = covariance.reshape(4, 3, 4, 3)[np.arange(4), :, np.arange(4), :]
    np.testing.assert_allclose(blocks, at.covariance, atol=1e-8)
    drawn = at.functions(20_000, rng)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.1)
    np.testing.assert_allclose(np.cov(drawn.reshape(20_000, -1).T), covariance, atol=0.25)


# -- symmetry, and what cannot be


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_classes_do_not_matter(kind):
    problem = some_problem(kind, 10, 4)
    order = np.array([2, 0, 3, 1])
    other = Problem(problem.gram, order[problem.y], problem.likelihood, n_classes=4)
    one, two = EXACT.infer(problem), EXACT.infer(other)
    assert one.log_evidence == pytest.approx(two.log_evidence, rel=1e-9)
    np.testing.assert_allclose(two.mean[:, order], one.mean, atol=1e-7)
    np.testing.assert_allclose(two.leave_one_out_probabilities[:, order], one.leave_one_out_probabilities, atol=1e-7)


def test_a_class_without_rows_has_a_latent_too():
    problem = Problem(np.eye(3), [0, 1, 0], Choice(), n_classes=3)
    assert EXACT.infer(problem).log_evidence == pytest.approx(3 * np.log(1 / 3), abs=0.02)


def test_leaving_a_row_out_is_inference_without_it():
    problem = some_problem("soft", 12, 3)
    keep = np.arange(1, 12)
    without = EXACT.infer(Problem(problem.gram.part(keep), problem.y[keep], problem.likelihood, n_classes=3))
    point = DensePoints(problem.dense[:1, 1:], problem.diag[:1])
    np.testing.assert_allclose(
        EXACT.infer(problem).leave_one_out_probabilities[0], without.at(point).probabilities[0], atol=0.05
    )


def test_which_class_a_wrong_label_should_be():
    """Label noise, in closed form by Bayes' rule for one row: what its neighbours say against what it says."""
    gram = np.full((7, 7), 0.99) + 0.01 * np.eye(7)
    posterior = EXACT.infer(Problem(gram, [2, 2, 2, 2, 2, 2, 0], Choice(0.1), n_classes=3))
    shares = posterior.true_probabilities
    assert shares[6].argmax() == 2
    assert posterior.disagreement()[6] == pytest.approx(1 - shares[6, 0])
    left_out = largest_of(*posterior.leave_one_out, np.zeros(7))[6] * np.array([0.9, 0.05, 0.05])
    np.testing.assert_allclose(shares[6], left_out / left_out.sum())


def test_entropy_that_no_data_remove():
    """Soft boundaries, two classes: that of the step."""
    whole = gram_of(np.random.default_rng(0).normal(size=(9, 2)))
    y, new = np.array([0, 1, 0, 1, 1, 0]), DensePoints(whole[6:, :6], np.diagonal(whole)[6:])
    joint = EXACT.infer(Problem(whole[:6, :6], y, Choice(0.1, 0.5))).at(new)
    binary = EXACT.infer(Problem(2 * whole[:6, :6], 2 * y - 1, Step(0.1, 1.0)))
    doubled = binary.at(DensePoints(2 * new.cross, 2 * new.diag))
    expected = doubled.expectation(binary.problem.likelihood.conditional_entropy)
    np.testing.assert_allclose(joint.conditional_entropy, expected, atol=0.01)
    np.testing.assert_allclose(joint.votes[:, 1], ndtr(doubled.mean / np.sqrt(doubled.variance)), atol=1e-8)


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_entropy_of_label_noise_alone(noise):
    """Where boundaries are hard it is that of a label whose class leads, whichever that is."""
    problem = Problem(np.eye(3), [0, 1, 2], Choice(noise))
    at = EXACT.infer(problem).at(DensePoints([[0.5, 0.0, 0.0]], [1.0]))
    levels = np.array([1 - noise, noise / 2, noise / 2])
    np.testing.assert_allclose(at.conditional_entropy, -np.sum(levels * np.log(np.maximum(levels, 1e-300))), atol=1e-12)
    told = readouts.mutual_information(at.posterior, DensePoints([[0.5, 0.0, 0.0]], [1.0]))
    assert 0.5 < told[0] <= np.log2(3)


def test_an_empty_version_space_is_refused():
    x = np.array([[1.0], [2.0], [3.0]])
    with pytest.raises(EmptyVersionSpaceError, match=r"^Version space is empty: [^\n]*\.$"):
        EP().infer(Problem(x @ x.T, [0, 1, 2], Choice()))


def test_a_hard_row_without_a_latent_leaves_no_version_space():
    with pytest.raises(EmptyVersionSpaceError, match="kernel value zero with itself"):
        EP().infer(Problem(np.diag([1.0, 0.0, 1.0]), [1, 0, 2], Choice()))


# -- what a sweep begins with


def test_comparisons_are_found_again_from_the_sites_they_made(rng):
    rows = ClassRows.of(Problem(np.eye(6), [0, 1, 2, 3, 0, 1], Choice(softness=0.7)))
    root = rng.normal(size=(6, 4, 4))
    site = rows.matched(rng.normal(size=(6, 4)), root @ np.swapaxes(root, 1, 2) + np.eye(4), None, 1e-6)
    tau, nu = rows.walls(rows.strung(site))
    np.testing.assert_allclose(tau, site.walls.tau, rtol=1e-9)
    np.testing.assert_allclose(nu, site.walls.nu, rtol=1e-9)
    assert np.all(rows.walls(Sites(*np.full((2, 18), 2.0)))[0] == 0)  # more than what `own` leaves is no comparison's


def test_rows_are_compared_each_on_its_own_and_as_closely_as_asked(rng):
    mean, root = rng.normal(size=(300, 3)), rng.normal(size=(300, 3, 3))
    cov = root @ np.swapaxes(root, 1, 2) + 0.1 * np.eye(3)
    found, rough = above_all(mean, cov), above_all(mean, cov, None, 1e-2)
    for k in (0, 255, 256, 299):  # in either block
        alone = above_all(mean[k : k + 1], cov[k : k + 1])
        np.testing.assert_allclose(found.log_z[k], alone.log_z[0], rtol=1e-9)
        np.testing.assert_allclose(found.tau[k], alone.tau[0], rtol=1e-7, atol=1e-12)
    off = np.abs(rough.mean - found.mean).max()
    assert 1e-6 < off < 0.1
    again = above_all(mean, cov, (rough.tau, rough.nu))
    np.testing.assert_allclose(again.log_z, found.log_z, atol=1e-9)
