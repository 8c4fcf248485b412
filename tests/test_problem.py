import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Choice, Problem, Step
from bayespoint._core.random import as_generator
from bayespoint.exceptions import EmptyVersionSpaceError, InvalidProblemError
from bayespoint.grams import Dense
from bayespoint.grams.separation import separating_latents
from bayespoint.problem import Weights


def test_a_problem_keeps_plain_lists_as_arrays():
    problem = Problem([[1, 0], [0, 1]], [1, -1], Step(), [1, 2])
    assert problem.size == 2
    assert all(a.dtype == np.float64 for a in (problem.dense, problem.y))
    np.testing.assert_array_equal(problem.exponents, [1.0, 2.0])


def test_a_problem_cannot_be_changed():
    with pytest.raises(AttributeError):
        Problem(np.eye(2), [1, -1], Step()).y = np.ones(2)


@pytest.mark.parametrize(
    ("gram", "message"),
    [
        (np.ones((2, 3)), r"must be square, got shape \(2, 3\)\.$"),
        (np.ones(2), "must be square"),
        ([[1, np.nan], [np.nan, 1]], "NaN or infinite entries: check the kernel, or rescale"),
        ([[1, np.inf], [np.inf, 1]], "NaN or infinite entries"),
        ([[1, 0.5], [0.4, 1]], "not symmetric"),
        (
            [[1, 2], [2, 1]],
            r"not positive semi-definite \(lowest eigenvalue of the Gram matrix -1\): use a",
        ),
        (-np.eye(2), "not positive semi-definite"),
        (np.eye(2) * 1e160, r"Kernel values reach 1e\+160, too large to square: rescale the features"),
    ],
)
def test_a_bad_gram_matrix_is_refused(gram, message):
    with pytest.raises(InvalidProblemError, match=message):
        Problem(gram, [1, -1], Step())


@pytest.mark.parametrize("y", [[1, 0], [1, 2], [1, -1, 1], [1], [1, np.nan], [[1, -1]]])
def test_bad_labels_are_refused(y):
    with pytest.raises(InvalidProblemError, match=r"y must hold 2 labels -1 or \+1"):
        Problem(np.eye(2), y, Step())


@pytest.mark.parametrize("weights", [[1, 0], [1, -1], [1, np.nan], [1, np.inf], [1, 1, 1]])
def test_bad_weights_are_refused(weights):
    with pytest.raises(InvalidProblemError, match="weights must be 2 finite positive numbers; drop rows"):
        Problem(np.eye(2), [1, -1], Step(), weights)


def test_a_singular_gram_matrix_is_fine():
    X = np.linspace(-1, 1, 30)[:, None]
    Problem(X @ X.T, np.sign(X[:, 0] + 1e-3), Step())
    Problem(RBF(10.0)(X), np.ones(30), Step())


@pytest.mark.parametrize(
    ("gram", "y", "message"),
    [
        (np.ones((2, 2)), [1, -1], "rows 0 and 1 are the same point with different labels; raise softness"),
        (np.diag([1.0, 1.0, 0.0]), [1, -1, 1], "row 2 has kernel value zero with itself"),
        (np.outer([1, 2, 3], [1, 2, 3]), [1, -1, 1], "no function of this kernel separates the training labels"),
    ],
)
def test_an_empty_version_space_is_explained(gram, y, message):
    with pytest.raises(EmptyVersionSpaceError, match=f"^Version space is empty: {message}"):
        Problem(gram, y, Step()).raise_if_empty()
    Problem(gram, y, Step(noise=0.1)).raise_if_empty()
    Problem(gram, y, Step(softness=0.1)).raise_if_empty()


def test_exclusive_or_is_not_linearly_separable_but_separable_in_degree_two():
    X = np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]])
    y = [1, 1, -1, -1]
    with pytest.raises(EmptyVersionSpaceError):
        Problem(X @ X.T + 1, y, Step()).raise_if_empty()
    Problem((X @ X.T) ** 2, y, Step()).raise_if_empty()


def test_rounding_of_a_low_rank_kernel_separates_nothing():
    x = np.array([-1.0, 0.5, 1.0])
    with pytest.raises(EmptyVersionSpaceError, match="no function of this kernel separates"):
        Problem(np.outer(x, x) + 1, [1, -1, 1], Step()).raise_if_empty()


def test_the_duplicates_named_are_those_of_the_input_order():
    gram = np.eye(4)
    gram[1, 3] = gram[3, 1] = 1.0
    with pytest.raises(EmptyVersionSpaceError, match="rows 1 and 3"):
        Problem(gram, [1, 1, 1, -1], Step()).raise_if_empty()


def test_separating_latents_have_the_signs_of_the_labels(rng):
    X = rng.normal(size=(30, 5))
    y = np.sign(X @ rng.normal(size=5))
    latents = separating_latents(Dense(X @ X.T), y)
    assert np.all(latents * y > 0)
    np.testing.assert_allclose(X @ np.linalg.lstsq(X, latents, rcond=None)[0], latents, atol=1e-9)


def test_the_low_rank_factor_reproduces_the_gram_matrix(rng):
    X = rng.normal(size=(12, 4))
    factor = Dense(X @ X.T).root()
    assert factor.shape == (12, 4)
    np.testing.assert_allclose(factor @ factor.T, X @ X.T, atol=1e-10)


def test_generators_come_from_any_source_of_randomness():
    assert as_generator(3).random() == as_generator(3).random()
    assert as_generator(np.random.RandomState(3)).random() == as_generator(np.random.RandomState(3)).random()
    generator = np.random.default_rng(0)
    assert as_generator(generator) is generator
    assert isinstance(as_generator(None), np.random.Generator)


def test_weights_so_unequal_are_worth_fewer_rows():
    weights = np.array([6.0, 1.0, 1.0, 0.5])
    worth = Weights.of(weights).effective().total
    np.testing.assert_allclose(worth / weights, worth[0] / weights[0])
    np.testing.assert_allclose(worth.sum(), 8.5**2 / (36 + 1 + 1 + 0.25))
    np.testing.assert_allclose(Weights.of(np.full(7, 3.0)).effective().total, 1.0)


def test_rows_that_have_a_power_already_keep_their_weight():
    found = Weights.of([3.0, 0.5, 2.0], np.array([0.5, 0.5, 1.0]))
    np.testing.assert_allclose(found.total, [1.5, 0.25, 2.0])
    np.testing.assert_allclose(found.copies, [3.0, 1.0, 2.0])
    np.testing.assert_allclose(found.power, [0.5, 0.25, 1.0])


@pytest.mark.parametrize(
    ("y", "n_classes"),
    [([0, 1], 3), ([0, 1, 3], 3), ([0, 1, -1], 3), ([0, 1, 0.5], 3), ([0, 0, 0], 1), ([[0], [1], [2]], 3)],
)
def test_class_numbers_are_whole_and_below_the_number_of_classes(y, n_classes):
    with pytest.raises(InvalidProblemError, match="y must hold 3 class numbers from 0"):
        Problem(np.eye(3), y, Choice(0.1), n_classes=n_classes)


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 0.5])])
def test_rows_of_class_numbers_count_as_their_weights_say(weights, rng):
    latents = rng.normal(size=(5, 3, 3))
    problem = Problem(np.eye(3), np.array([0, 2, 1]), Choice(0.1), weights)
    largest = latents.argmax(axis=-1) == problem.y
    expected = np.log(np.where(largest, 0.9, 0.05)) * (1.0 if weights is None else weights)
    np.testing.assert_allclose(problem.log_likelihood(latents), expected, atol=1e-12)
