"""The table engine x likelihood: what works gives a posterior with the shared methods, what does not says so."""

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.gaussian_process.kernels import RBF

from bayespoint import Hinge, Logistic, Problem, Step, engines, readouts
from bayespoint.diagnostics import mcse
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

LIKELIHOODS = {
    "hard": Step(),
    "noise": Step(0.1),
    "soft": Step(0.0, 0.5),
    "soft noise": Step(0.1, 0.5),
    "hinge": Hinge(2.0),
    "logistic": Logistic(2.0),
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
    "EP": [True, True, True, True, True, True],
    "Billiard": [True, True, True, True, True, False],
    "EllipticalSlice": [True, True, True, True, True, True],
    "GibbsSampler": [True, True, True, True, False, False],
    "ClassicBilliard": [True, False, True, False, False, False],
    "Corners": [True, False, True, False, False, False],
    "Laplace": [False, False, False, False, True, False],
    "Margin": [True, False, False, False, False, False],
    "Perceptrons": [True, False, True, False, False, False],
}
CELLS = [(engine, kind, works) for engine, row in TABLE.items() for kind, works in zip(LIKELIHOODS, row, strict=True)]
WORKING = [(engine, kind) for engine, kind, works in CELLS if works]
EXACT = ["Billiard", "EllipticalSlice", "GibbsSampler"]
SIZE = 8


def problem_of(kind):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(SIZE + 3, 2))
    y = np.where(X[:SIZE, 0] > 0, 1.0, -1.0)
    gram = 1.5 * RBF(1.0)(X) + 0.3
    points = gram[SIZE:, :SIZE], np.diagonal(gram)[SIZE:]
    return Problem(gram[:SIZE, :SIZE], y, LIKELIHOODS[kind]), points


def infer(engine, kind, seed=0):
    problem, points = problem_of(kind)
    return ENGINES[engine].infer(problem, rng=seed), points


def test_the_table_names_every_engine():
    assert sorted(TABLE) == sorted(ENGINES) == sorted(engines.__all__)


def test_every_engine_can_be_imported_by_name():
    for name in engines.__all__:
        assert getattr(engines, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Pinball'"):
        _ = engines.Pinball


@pytest.mark.parametrize(("engine", "kind"), [cell[:2] for cell in CELLS if not cell[2]])
def test_a_false_cell_raises_in_one_sentence(engine, kind):
    problem, _ = problem_of(kind)
    with pytest.raises(InvalidProblemError, match=r"^[A-Z][^\n]*\.$"):
        ENGINES[engine].infer(problem, rng=0)


@pytest.mark.parametrize(("engine", "kind"), WORKING)
def test_every_posterior_has_the_shared_methods(engine, kind):
    posterior, (cross, diag) = infer(engine, kind)
    problem = posterior.problem
    assert posterior.problem.likelihood == LIKELIHOODS[kind]
    assert posterior.mean.shape == posterior.variance.shape == posterior.mean_weights.shape == (SIZE,)
    assert np.all(posterior.variance > 0)
    assert posterior.log_evidence is None or posterior.log_evidence < 0
    assert hasattr(posterior, "info")
    mean, variance = posterior.latent(cross, diag)
    assert np.all((variance > 0) & (variance < 3 * diag))
    np.testing.assert_allclose(mean, cross @ posterior.mean_weights, atol=1e-7)
    np.testing.assert_allclose(posterior.mean, problem.gram @ posterior.mean_weights, atol=1e-7)
    first = posterior.expectation(lambda mean, var: mean + 0 * var, cross, diag)
    assert first.shape == mean.shape
    for share in (posterior.disagreement(), posterior.expectation(lambda m, v: ndtr(m / np.sqrt(v)), cross, diag)):
        assert np.all((share >= 0) & (share <= 1))


@pytest.mark.parametrize(("engine", "kind"), WORKING)
def test_every_readout_reads_every_posterior(engine, kind):
    posterior, points = infer(engine, kind)
    alpha = readouts.bayes_point(posterior)
    assert alpha @ posterior.problem.gram @ alpha == pytest.approx(1.0)
    for readout in (readouts.class_probability, readouts.vote, readouts.entropy, readouts.mutual_information):
        values = readout(posterior, *points)
        assert values.shape == (3,)
        assert np.all((values >= 0) & (values <= 1))
    assert np.all(readouts.flip_probability(posterior) <= 1)
    if kind == "hard" and engine not in ("EP", "Margin"):
        with pytest.raises(InvalidProblemError, match=r"^Draws inside hard walls .*\.$"):
            readouts.leave_one_out_probability(posterior)
    else:
        p = readouts.leave_one_out_probability(posterior)
        assert np.all((p > 0) & (p < 1))


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
    scale = np.sqrt(np.diagonal(draws.problem.gram))
    assert np.abs(draws.mean - gaussian.mean).max() < 0.1 * scale.max()
    np.testing.assert_allclose(
        readouts.class_probability(draws, *points), readouts.class_probability(gaussian, *points), atol=0.03
    )
    np.testing.assert_allclose(readouts.flip_probability(draws), readouts.flip_probability(gaussian), atol=0.04)
    np.testing.assert_allclose(
        readouts.mutual_information(draws, *points), readouts.mutual_information(gaussian, *points), atol=0.2
    )
    if kind != "hard":
        np.testing.assert_allclose(
            readouts.leave_one_out_probability(draws), readouts.leave_one_out_probability(gaussian), atol=0.2
        )


@pytest.mark.parametrize("engine", ["ClassicBilliard", "Corners", "Perceptrons"])
@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_approximate_engines_point_the_same_way(engine, kind):
    found, exact = infer(engine, kind)[0], infer("Billiard", kind)[0]
    cosine = readouts.bayes_point(found) @ found.problem.gram @ readouts.bayes_point(exact)
    assert cosine > 0.85


@pytest.mark.parametrize("engine", [name for name, kind in WORKING if kind == "hard" and name != "Perceptrons"])
def test_an_empty_version_space_is_refused_by_all(engine):
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    expected = InvalidProblemError if engine == "Corners" else EmptyVersionSpaceError
    with pytest.raises(expected, match=r"^(Version space|No function) [^\n]*\.$"):
        ENGINES[engine].infer(Problem(X @ X.T, [1, 1, 1], Step()), rng=0)


@pytest.mark.parametrize("engine", ENGINES)
def test_settings_are_frozen_and_inference_leaves_them_alone(engine):
    before = repr(ENGINES[engine])
    infer(engine, next(kind for name, kind in WORKING if name == engine))
    assert repr(ENGINES[engine]) == before
    with pytest.raises((AttributeError, TypeError)):
        ENGINES[engine].draws = 3


@pytest.mark.processor
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", [lambda: 3, lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)])
def test_any_source_of_randomness_will_do(engine, make):
    problem, _ = problem_of(next(kind for name, kind in WORKING if name == engine))
    one, two = (ENGINES[engine].infer(problem, rng=make()).mean for _ in range(2))
    np.testing.assert_array_equal(one, two)
