"""The table engine x likelihood x Gram matrix x weights.

What works gives a posterior with the shared methods, the same as on a plain Gram matrix; what does not says so.
"""

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr

from bayespoint import Choice, Hinge, Logistic, Problem, Step, engines, readouts
from bayespoint.engines import (
    EP,
    Billiard,
    ClassicBilliard,
    Corners,
    EllipticalSlice,
    GibbsSampler,
    Laplace,
    Margin,
    Perceptrons,
)
from bayespoint.exceptions import EmptyVersionSpaceError, InvalidProblemError
from bayespoint.grams import LowRank, NaturalGaussian
from bayespoint.likelihoods import SquaredHinge
from grams import GRAMS, SIZE, THREE, WEIGHTS, at_new, dense_problem_of, new_points, problem_of, spanned
from witnesses import mcse

LIKELIHOODS = {
    "hard": Step(),
    "noise": Step(0.1),
    "soft": Step(0.0, 0.5),
    "soft noise": Step(0.1, 0.5),
    "hinge": Hinge(2.0),
    "logistic": Logistic(2.0),
    "squared hinge": SquaredHinge(2.0),
}
ENGINES = {
    "EP": EP(),
    "Billiard": Billiard(draws=2000),
    "EllipticalSlice": EllipticalSlice(draws=2000, chains=8, warmup=500),
    "GibbsSampler": GibbsSampler(draws=3000),
    "ClassicBilliard": ClassicBilliard(tolerance=1e-3),
    "Corners": Corners(),
    "Laplace": Laplace(),
    "Margin": Margin(C=np.inf),
    "Perceptrons": Perceptrons(permutations=50),
}
TABLE = {  # columns in the order of LIKELIHOODS
    "EP": [True, True, True, True, True, True, True],
    "Billiard": [True, True, True, True, True, False, False],
    "EllipticalSlice": [True, True, True, True, True, True, True],
    "GibbsSampler": [True, True, True, True, False, False, False],
    "ClassicBilliard": [True, False, True, False, False, False, False],
    "Corners": [True, False, True, False, False, False, False],
    "Laplace": [False, False, False, False, True, False, True],
    "Margin": [True, False, False, False, False, False, False],
    "Perceptrons": [True, False, True, False, False, False, False],
}
CHOICES = {"hard": Choice(), "noise": Choice(0.1), "soft": Choice(0.0, 0.5), "soft noise": Choice(0.1, 0.5)}
CLASSES = {  # class numbers instead of signs, columns in the order of CHOICES; engines that are not here take none
    "Billiard": [True, True, True, True],
    "GibbsSampler": [True, True, True, True],
    "EP": [True, True, True, True],
}
CELLS = [(engine, kind, works) for engine, row in TABLE.items() for kind, works in zip(LIKELIHOODS, row, strict=True)]
WORKING = [(engine, kind) for engine, kind, works in CELLS if works]
EXACT = ["Billiard", "EllipticalSlice", "GibbsSampler"]
QUICK = ENGINES | {  # few draws, where only their form matters
    "EP": EP(tolerance=1e-10),
    "Billiard": Billiard(draws=20, chains=2, warmup=5),
    "EllipticalSlice": EllipticalSlice(draws=20, chains=2),
    "GibbsSampler": GibbsSampler(draws=20, chains=2, warmup=20),
    "ClassicBilliard": ClassicBilliard(tolerance=1e-2, draws=20),
    "Margin": Margin(C=2.0),
    "Perceptrons": Perceptrons(permutations=5),
}
WALLS = ["Billiard", "GibbsSampler", "ClassicBilliard", "Corners"]  # draw what rows have of their own


def works(engine, kind, gram, weights):
    """The table: what an engine takes of Gram matrices and weights beside the likelihoods it takes."""
    if not TABLE[engine][list(LIKELIHOODS).index(kind)]:
        return False
    if engine == "Perceptrons":  # know neither residuals nor weights
        return gram != "residual" and weights == "none"
    if engine == "Corners" and kind == "hard" and gram == "factor":  # needs full rank
        return False
    if engine in WALLS and weights != "none":  # a weight acts on one draw of the noise, which is not what it means
        return "soft" not in kind and not (gram == "residual" and weights == "whole")
    return True


FULL = [(*cell, works(*cell)) for cell in product(TABLE, LIKELIHOODS, GRAMS, WEIGHTS)]
IN_FULL = [cell[:4] for cell in FULL if cell[4]]
DETERMINISTIC = ["EP", "Laplace", "Margin", "Corners"]


@cache
def infer(engine, kind, seed=0):
    return ENGINES[engine].infer(problem_of("dense", LIKELIHOODS[kind]), rng=seed), new_points("dense")


def quick(engine, kind, gram, weights):
    return QUICK[engine].infer(problem_of(gram, LIKELIHOODS[kind], weights), rng=0)


def test_the_table_names_every_engine():
    assert sorted([*TABLE, "Engine"]) == sorted([*ENGINES, "Engine"]) == sorted(engines.__all__)


def test_every_engine_can_be_imported_by_name():
    for name in engines.__all__:
        assert getattr(engines, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Pinball'"):
        _ = engines.Pinball


@pytest.mark.parametrize(("engine", "kind", "gram", "weights"), [cell[:4] for cell in FULL if not cell[4]])
def test_a_false_cell_raises_in_one_sentence(engine, kind, gram, weights):
    with pytest.raises(InvalidProblemError, match=r"^[A-Z][^\n]*\.$"):
        quick(engine, kind, gram, weights)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", CHOICES)
def test_engines_that_do_not_take_classes_say_so(engine, kind):
    if CLASSES.get(engine, [False] * 4)[list(CHOICES).index(kind)]:
        return
    with pytest.raises(InvalidProblemError, match=r"^[A-Z][^\n]*\.$"):
        QUICK[engine].infer(Problem(GRAMS["dense"], THREE, CHOICES[kind]), rng=0)


@pytest.mark.parametrize(("gram", "weights"), list(product(GRAMS, WEIGHTS)))
@pytest.mark.parametrize(("engine", "kind"), [("EP", kind) for kind in CHOICES])
def test_engines_of_several_classes_take_every_gram_matrix_and_weight(engine, kind, gram, weights):
    """Or say why not; and the form of the Gram matrix changes nothing. Draws are in `test_draws_of_classes`."""
    if not CLASSES[engine][list(CHOICES).index(kind)]:
        return
    if weights == "fractional" and "soft" in kind:
        with pytest.raises(InvalidProblemError, match=r"^Of several classes a soft boundary [^\n]*\.$"):
            Problem(GRAMS[gram], THREE, CHOICES[kind], WEIGHTS[weights])
        return
    points = new_points(gram)
    found = QUICK[engine].infer(Problem(GRAMS[gram], THREE, CHOICES[kind], WEIGHTS[weights]), rng=0)
    assert found.mean.shape == found.variance.shape == (SIZE, 3)
    at = found.at(points)
    assert at.mean.shape == at.variance.shape == (3, 3)
    assert at.covariance.shape == (3, 3, 3)
    for table in (at.probabilities, at.votes, found.leave_one_out_probabilities, found.true_probabilities):
        np.testing.assert_allclose(table.sum(axis=1), 1.0)
    assert np.all(at.conditional_entropy >= 0)
    together = points.together(np.diag(points.diag) + 5.0)
    assert found.at(together).functions(4, np.random.default_rng(0)).shape == (4, 3, 3)
    assert np.all((found.disagreement() >= 0) & (found.disagreement() <= 1))
    if engine == "EP" and gram != "dense":
        plain, plain_points = dense_problem_of(gram, CHOICES[kind], weights, labels=THREE)
        expected = QUICK[engine].infer(plain)
        np.testing.assert_allclose(at.probabilities, expected.at(plain_points).probabilities, atol=1e-6)
        assert found.log_evidence == pytest.approx(expected.log_evidence, rel=1e-6)


@pytest.mark.parametrize(("engine", "kind", "gram", "weights"), IN_FULL)
def test_a_true_cell_gives_a_posterior_that_every_readout_reads(engine, kind, gram, weights):
    posterior, points = quick(engine, kind, gram, weights), new_points(gram)
    check_shared_methods(posterior, gram, points)
    check_readouts(posterior, gram, points)
    no_walls = engine in ("EP", "Margin") or gram == "residual"
    if kind != "hard" or no_walls:
        p = readouts.leave_one_out_probability(posterior)
        assert p.shape == (SIZE,)
        assert np.all((p > 0) & (p < 1))
    else:
        with pytest.raises(InvalidProblemError, match=r"^Draws inside hard walls .*\.$"):
            readouts.leave_one_out_probability(posterior)


def check_shared_methods(posterior, gram, points):
    rounding = {"atol": 1e-4 if gram == "rows" else 1e-6}  # perceptrons compute rows in single precision
    assert posterior.mean.shape == posterior.variance.shape == (SIZE,)
    assert np.all(posterior.variance > 0)
    assert posterior.log_evidence is None or posterior.log_evidence < 0
    assert hasattr(posterior, "info")
    assert posterior.alpha.shape[-1] == SIZE
    latents = getattr(posterior, "latents", posterior.mean)
    np.testing.assert_allclose(posterior.alpha @ spanned(gram), latents, **rounding)
    at = posterior.at(points)
    mean, variance = at.latent
    np.testing.assert_array_equal(at.mean, mean)
    np.testing.assert_array_equal(at.variance, variance)
    assert np.all((variance > 0) & (variance < 8 * points.diag))
    np.testing.assert_allclose(mean, at_new(posterior.mean_weights, gram), **rounding)
    first = at.expectation(lambda mean, var: mean + 0 * var)
    assert first.shape == mean.shape
    share = at.expectation(lambda m, v: ndtr(m / np.sqrt(v)))
    assert np.all((share >= 0) & (share <= 1))
    together = points.together(np.diag(points.diag) + 5.0)
    functions = posterior.at(together).functions(4, np.random.default_rng(0))
    assert functions.shape == (4, 3)


def check_readouts(posterior, gram, points):
    mean, _ = readouts.latent(posterior, points)
    point = at_new(readouts.bayes_point(posterior), gram)
    assert point @ mean == pytest.approx(np.linalg.norm(point) * np.linalg.norm(mean), rel=1e-6)  # the same direction
    for readout in (readouts.class_probability, readouts.vote, readouts.entropy, readouts.mutual_information):
        values = readout(posterior, points)
        assert values.shape == (3,)
        assert np.all((values >= 0) & (values <= 1))
    flips = readouts.flip_probability(posterior)
    assert flips.shape == (SIZE,)
    assert np.all((flips >= 0) & (flips <= 1))


@pytest.mark.parametrize(
    ("engine", "kind", "gram", "weights"),
    [cell for cell in IN_FULL if cell[0] in DETERMINISTIC and cell[2] != "dense"],
)
def test_the_form_of_the_gram_matrix_changes_nothing(engine, kind, gram, weights):
    """The same model on a plain Gram matrix ``M M' + diag(residual)``; copies of a row have a residual each."""
    likelihood = LIKELIHOODS[kind]
    found = QUICK[engine].infer(problem_of(gram, likelihood, weights))
    leave_out = engine == "Margin"  # whose margins are those of the coordinates
    plain, points = dense_problem_of(gram, likelihood, weights, residual=not leave_out)
    expected = QUICK[engine].infer(plain)
    close = {"rtol": 1e-5, "atol": 1e-6}
    (mean, variance), (plain_mean, plain_variance) = (
        found.at(new_points(gram)).latent,
        expected.at(points).latent,
    )
    np.testing.assert_allclose(mean, plain_mean, **close)
    if gram == "residual" and (engine == "Corners" or (engine == "Laplace" and weights == "whole")):
        return  # the spread of corners is no variance, and the curvature of a kink is not that of its copies
    np.testing.assert_allclose(variance, plain_variance, **close)
    if gram != "residual":
        np.testing.assert_allclose(found.mean, expected.mean, **close)
        np.testing.assert_allclose(found.variance, expected.variance, **close)
    if engine in ("EP", "Laplace"):
        assert found.log_evidence == pytest.approx(expected.log_evidence, rel=1e-6)


@pytest.mark.parametrize("engine", EXACT)
@pytest.mark.parametrize("kind", ["hard", "noise", "soft", "hinge"])
@pytest.mark.parametrize("gram", ["factor", "residual"])
def test_draws_of_any_form_of_the_gram_matrix_agree(engine, kind, gram, seed):
    if not works(engine, kind, gram, "none"):
        return
    likelihood, points = LIKELIHOODS[kind], new_points(gram)
    plain, plain_points = dense_problem_of(gram, likelihood, "none")
    one = ENGINES[engine].infer(problem_of(gram, likelihood), rng=seed).at(points)
    two = Billiard(draws=2000).infer(plain, rng=seed + 1).at(plain_points)
    assert_same_moments(one, two)


@pytest.mark.parametrize("weights", ["whole", "fractional"])
@pytest.mark.parametrize("kind", ["noise", "soft", "hinge"])
def test_draws_count_weights_of_rows_with_residuals(kind, weights, seed):
    likelihood, points = LIKELIHOODS[kind], new_points("residual")
    plain, plain_points = dense_problem_of("residual", likelihood, weights)
    two = EllipticalSlice(draws=400).infer(plain, rng=seed).at(plain_points)
    for name, engine in (("EllipticalSlice", EllipticalSlice(draws=400)), ("Billiard", Billiard())):
        if works(name, kind, "residual", weights):
            problem = problem_of("residual", likelihood, weights)
            assert_same_moments(engine.infer(problem, rng=seed + 1).at(points), two)


def assert_same_moments(one, two):
    """First and second moments of the latents, given what a draw says of new points: means and a common variance."""
    squares = [at.outputs**2 + at.orthogonal for at in (one, two)]
    for a, b in ((one.outputs, two.outputs), squares):
        z = (a.mean(axis=(0, 1)) - b.mean(axis=(0, 1))) / np.hypot(mcse(a), mcse(b))
        assert np.all(np.abs(z) < 5)


def test_a_residual_left_out_would_be_noticed(seed):
    """The control of the two tests above."""
    likelihood = LIKELIHOODS["noise"]
    plain, plain_points = dense_problem_of("residual", likelihood, "none")
    two = Billiard(draws=2000).infer(plain, rng=seed).at(plain_points)
    without = problem_of("factor", likelihood)
    one = Billiard(draws=2000).infer(without, rng=seed + 1).at(new_points("residual"))
    with pytest.raises(AssertionError):
        assert_same_moments(one, two)


@pytest.mark.parametrize("gram", GRAMS)
@pytest.mark.parametrize("kind", ["hard", "noise", "soft", "hinge"])
def test_the_billiard_starts_from_given_latents(gram, kind):
    problem = problem_of(gram, LIKELIHOODS[kind])
    start = np.array(Billiard(draws=1, chains=1).infer(problem, rng=0).latents[0, 0])
    again = Billiard(draws=3, chains=1, warmup=0).infer(problem, rng=0, start=start)
    assert again.latents.shape == (1, 3, SIZE)
    if kind == "hard" and gram != "residual":
        with pytest.raises(InvalidProblemError, match=r"^The start is not in version space"):
            Billiard().infer(problem, rng=0, start=-start)


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "EP"])
def test_only_expectation_propagation_takes_another_prior(engine):
    kind = next(kind for name, kind in WORKING if name == engine)
    told = NaturalGaussian(2.0 * np.eye(2), np.ones(2))
    problem = Problem(LowRank(np.eye(2) + 0.5, told), [1, -1], LIKELIHOODS[kind])
    with pytest.raises(InvalidProblemError, match=r"^Only expectation propagation takes a prior [^\n]*\.$"):
        QUICK[engine].infer(problem, rng=0)


@pytest.mark.parametrize("engine", ["EP", "Billiard", "EllipticalSlice", "GibbsSampler", "ClassicBilliard"])
def test_hard_walls_and_residuals_side_by_side(engine):
    """A row without a residual is a hard wall, whatever others have: two at one place with two labels leave nothing."""
    factor, y = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), [1, -1, 1]
    posterior = QUICK[engine].infer(Problem(LowRank(factor, residual=[0.0, 1.0, 0.5]), y, Step()), rng=0)
    latents = getattr(posterior, "latents", posterior.mean)
    assert np.all(latents[..., 0] > 0)
    factor, y = factor[[2, 0, 1]], [1, 1, -1]
    with pytest.raises(EmptyVersionSpaceError, match=r"^Version space is empty: rows 1 and 2 are the same [^\n]*\.$"):
        QUICK[engine].infer(Problem(LowRank(factor, residual=[0.5, 0.0, 0.0]), y, Step()), rng=0)


@pytest.mark.parametrize("kind", LIKELIHOODS)
def test_exact_engines_agree(kind, seed):
    """Everyone reports the same f, whatever the engine carries inside."""
    found = [infer(engine, kind, seed + 10)[0] for engine in EXACT if TABLE[engine][list(LIKELIHOODS).index(kind)]]
    for power in (1, 2):
        values = [posterior.latents**power for posterior in found]
        for other in values[1:]:
            z = (values[0].mean(axis=(0, 1)) - other.mean(axis=(0, 1))) / np.hypot(mcse(values[0]), mcse(other))
            assert np.all(np.abs(z) < 5)


@pytest.mark.parametrize(("engine", "kind"), [cell for cell in WORKING if cell[0] in EXACT])
def test_expectation_propagation_is_near_the_draws(engine, kind):
    draws, points = infer(engine, kind)
    gaussian, _ = infer("EP", kind)
    scale = np.sqrt(draws.problem.diag)
    assert np.abs(draws.mean - gaussian.mean).max() < 0.1 * scale.max()
    np.testing.assert_allclose(
        readouts.class_probability(draws, points),
        readouts.class_probability(gaussian, points),
        atol=0.03,
    )
    np.testing.assert_allclose(readouts.flip_probability(draws), readouts.flip_probability(gaussian), atol=0.04)
    np.testing.assert_allclose(
        readouts.mutual_information(draws, points),
        readouts.mutual_information(gaussian, points),
        atol=0.2,
    )
    if kind != "hard":
        np.testing.assert_allclose(
            readouts.leave_one_out_probability(draws), readouts.leave_one_out_probability(gaussian), atol=0.2
        )


@pytest.mark.parametrize("engine", ["ClassicBilliard", "Corners", "Perceptrons"])
@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_approximate_engines_point_the_same_way(engine, kind):
    found, exact = infer(engine, kind)[0], infer("Billiard", kind)[0]
    cosine = readouts.bayes_point(found) @ found.problem.dense @ readouts.bayes_point(exact)
    assert cosine > 0.85


@pytest.mark.parametrize("engine", [name for name, kind in WORKING if kind == "hard" and name != "Perceptrons"])
def test_an_empty_version_space_is_refused_by_all(engine):
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    expected = InvalidProblemError if engine == "Corners" else EmptyVersionSpaceError
    with pytest.raises(expected, match=r"^(Version space|No function) [^\n]*\.$"):
        ENGINES[engine].infer(Problem(X @ X.T, [1, 1, 1], Step()), rng=0)


@pytest.mark.parametrize("engine", ENGINES)
def test_settings_are_frozen_and_inference_leaves_them_alone(engine):
    before = repr(QUICK[engine])
    quick(engine, next(kind for name, kind in WORKING if name == engine), "dense", "none")
    assert repr(QUICK[engine]) == before
    with pytest.raises((AttributeError, TypeError)):
        QUICK[engine].draws = 3


@pytest.mark.processor
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", [lambda: 3, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)])
def test_any_source_of_randomness_will_do(engine, make):
    problem = problem_of("dense", LIKELIHOODS[next(kind for name, kind in WORKING if name == engine)])
    one, two = (QUICK[engine].infer(problem, rng=make()).mean for _ in range(2))
    np.testing.assert_array_equal(one, two)
