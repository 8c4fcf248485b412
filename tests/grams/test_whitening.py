import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Hinge, Problem, Step
from bayespoint.grams import DensePoints
from bayespoint.grams.dense import PivotedRoot


def gram_of(kind, rng, size=20):
    X = rng.normal(size=(size, 3))
    if kind == "full":
        return RBF(0.5)(X) + 0.1
    if kind == "linear":
        return X @ X.T
    if kind == "smooth":
        return RBF(30.0)(X)  # of full rank on paper only
    X[3] = X[7] = 0.0
    X[5] = X[11]
    return X @ X.T  # zero and repeated rows


KINDS = ["full", "linear", "smooth", "degenerate"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("softness", [0.0, 0.5])
def test_the_factor_is_a_root_of_the_gram_matrix(kind, softness, rng):
    gram = gram_of(kind, rng)
    white = Problem(gram, np.ones(20), Step(0.1, softness)).whitened()
    np.testing.assert_allclose(white.factor @ white.factor.T, gram, atol=1e-12 * gram.max())
    triangle = white.factor[white.root.pivots]
    np.testing.assert_array_equal(triangle, np.tril(triangle))
    assert len(white.root.pivots) == white.rank == white.factor.shape[1]
    assert len(set(white.root.pivots)) == white.rank


@pytest.mark.parametrize(("kind", "rank"), [("full", 20), ("linear", 3), ("degenerate", 3)])
def test_the_rank_is_the_true_one(kind, rank, rng):
    gram = gram_of(kind, rng)
    hard, soft = (Problem(gram, np.ones(20), Step(softness=s)).whitened() for s in (0.0, 0.5))
    assert hard.rank == hard.dimension == soft.rank == rank
    assert soft.dimension == rank + 20


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 130])
def test_any_number_of_rows_will_do(size, rng):
    gram = RBF(0.3)(rng.normal(size=(size, 4))) + 0.5 * np.eye(size)
    white = Problem(gram, np.ones(size), Step()).whitened()
    assert white.rank == size
    np.testing.assert_allclose(white.factor @ white.factor.T, gram, atol=1e-13 * size)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1), st.floats(-6, 6))
@settings(deadline=None, max_examples=60, derandomize=True)
def test_any_factor_is_found_again(size, rank, seed, exponent):
    root = np.random.default_rng(seed).normal(size=(size, rank)) * 10.0**exponent
    gram = root @ root.T
    white = Problem(gram, np.ones(size), Step(0.1)).whitened()
    assert white.rank <= min(size, rank)
    np.testing.assert_allclose(white.factor @ white.factor.T, gram, atol=1e-12 * gram.max())


def test_a_zero_matrix_has_no_coordinates():
    white = Problem(np.zeros((3, 3)), np.ones(3), Step(0.1)).whitened()
    assert white.rank == 0
    np.testing.assert_array_equal(white.latents(np.empty((5, 0))), np.zeros((5, 3)))


def test_the_gram_matrix_is_left_alone(rng):
    gram = gram_of("full", rng)
    before = gram.copy()
    Problem(gram, np.ones(20), Step()).whitened()
    np.testing.assert_array_equal(gram, before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("likelihood", [Step(), Step(softness=0.5), Hinge(1.0)], ids=str)
def test_latents_are_outputs_of_the_weights(kind, likelihood, rng):
    gram = gram_of(kind, rng)
    white = Problem(gram, np.ones(20), likelihood).whitened()
    position = rng.standard_normal((4, 6, white.dimension))
    f = position[..., : white.rank] @ white.factor.T
    alpha = white.weights(position)
    assert alpha.shape == (4, 6, 20)
    tolerance = 1e-6 if kind == "smooth" else 1e-9
    np.testing.assert_allclose(alpha @ gram, f, atol=tolerance)
    np.testing.assert_allclose(
        white.features(DensePoints(gram, np.diagonal(gram))) @ position[0, 0, : white.rank], f[0, 0], atol=tolerance
    )
    np.testing.assert_allclose(white.weights(position[1, 2]), alpha[1, 2], atol=1e-9 * np.abs(alpha).max())
    others = np.setdiff1d(np.arange(20), white.root.pivots)
    assert np.all(alpha[..., others] == 0)


def test_softness_is_a_coordinate_for_each_row(rng):
    gram = gram_of("linear", rng)
    white = Problem(gram, np.ones(20), Step(softness=0.25)).whitened()
    position = rng.standard_normal((5, white.dimension))
    h = white.latents(position)
    np.testing.assert_allclose(h, position[:, :3] @ white.factor.T + 0.5 * position[:, 3:])
    jacobian = white.latents(np.eye(white.dimension))
    np.testing.assert_allclose(jacobian.T @ jacobian, gram + 0.25 * np.eye(20), atol=1e-12)


@pytest.mark.parametrize("softness", [0.0, 0.5])
def test_pull_is_the_transpose_of_latents(softness, rng):
    white = Problem(gram_of("linear", rng), np.ones(20), Step(0.1, softness)).whitened()
    position, impulse = rng.standard_normal((3, white.dimension)), rng.standard_normal((3, 20))
    left = (white.latents(position) * impulse).sum(axis=1)
    right = (position * white.pull(impulse)).sum(axis=1)
    np.testing.assert_allclose(left, right)


def test_pull_takes_some_of_the_rows(rng):
    white = Problem(gram_of("linear", rng), np.ones(20), Step(0.1)).whitened()
    rows, impulse = np.array([2, 5, 11]), rng.standard_normal((4, 3))
    all_rows = np.zeros((4, 20))
    all_rows[:, rows] = impulse
    np.testing.assert_allclose(white.pull(impulse, rows), white.pull(all_rows), atol=1e-12)


def test_features_are_the_projection_of_new_points(rng):
    X, new = rng.normal(size=(8, 2)), rng.normal(size=(5, 2))
    gram, cross = RBF(1.0)(X), RBF(1.0)(new, X)
    features = Problem(gram, np.ones(8), Step()).whitened().features(DensePoints(cross, np.ones(5)))
    np.testing.assert_allclose(features @ features.T, cross @ np.linalg.solve(gram, cross.T), atol=1e-8)


def test_a_row_brings_a_coordinate_if_the_others_do_not_determine_it(rng):
    gram = gram_of("full", rng, 5)
    root = PivotedRoot(np.linalg.cholesky(gram[:4, :4]), np.arange(4))
    features = np.linalg.solve(root.factor, gram[:4, 4])
    grown = root.with_row(features, gram[4, 4] - features @ features)
    np.testing.assert_allclose(grown.factor @ grown.factor.T, gram, atol=1e-12)
    np.testing.assert_allclose(grown.coordinates(grown.factor @ np.arange(5.0)), np.arange(5.0), atol=1e-9)
    known = root.with_row(root.factor[2], 0.0)  # the third row again
    assert known.factor.shape == (5, 4)
    np.testing.assert_array_equal(known.pivots, root.pivots)
    np.testing.assert_allclose(
        known.factor @ known.factor.T, gram[np.ix_([0, 1, 2, 3, 2], [0, 1, 2, 3, 2])], atol=1e-12
    )
