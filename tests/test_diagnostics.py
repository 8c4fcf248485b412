import sys
import warnings

import numpy as np
import pytest
from arviz_stats.base import array_stats

from bayespoint import Problem, Step
from bayespoint.diagnostics import diagnose, ess, mcse, rhat, warn_if_poor
from bayespoint.engines import Billiard, ClassicBilliard
from bayespoint.exceptions import InferenceWarning, InvalidProblemError
from bayespoint.posteriors import SampledPosterior


@pytest.fixture
def good():
    return Billiard(draws=500).infer(Problem(np.eye(4) + 0.3, [1, 1, -1, -1], Step()), rng=0)


def shifted(posterior, shift):
    """Chains that sit in different places."""
    coordinates = posterior.coordinates.copy()
    coordinates[0] += shift
    return SampledPosterior(posterior.problem, posterior.white, coordinates)


def autoregression(rng, memory, shape):
    x = np.empty(shape)
    x[:, 0] = rng.standard_normal(x[:, 0].shape)
    for t in range(1, shape[1]):
        x[:, t] = memory * x[:, t - 1] + np.sqrt(1 - memory**2) * rng.standard_normal(x[:, 0].shape)
    return x


def test_figures_are_those_of_arviz(good):
    for ours, theirs, options in (
        (ess, array_stats.ess, {"method": "bulk"}),
        (rhat, array_stats.rhat, {}),
        (mcse, array_stats.mcse, {"method": "mean"}),
    ):
        np.testing.assert_allclose(ours(good.latents), theirs(good.latents, chain_axis=0, draw_axis=1, **options))
        assert ours(good.latents).shape == (4,)


def test_a_correlated_chain_has_fewer_draws(rng):
    memory = 0.8
    values = autoregression(rng, memory, (4, 5000, 3))
    expected = 20_000 * (1 - memory) / (1 + memory)
    np.testing.assert_allclose(ess(values), expected, rtol=0.25)
    np.testing.assert_allclose(mcse(values), 1 / np.sqrt(expected), rtol=0.25)
    np.testing.assert_allclose(rhat(values), 1.0, atol=0.02)


def test_one_quantity_gives_one_figure(rng):
    values = rng.normal(size=(4, 500))
    for figure in (ess, rhat, mcse):
        assert np.ndim(figure(values)) == 0


@pytest.mark.parametrize("figure", [ess, rhat, mcse])
@pytest.mark.parametrize("shape", [(4, 7), (4, 0), (10,), (0, 100)])
def test_too_short_a_chain_is_refused(figure, shape):
    with pytest.raises(InvalidProblemError, match=r"^Too short to say: need at least .*\.$"):
        figure(np.zeros(shape))


def test_one_chain_has_no_rhat(rng):
    with pytest.raises(InvalidProblemError, match=r"^Too short to say: need at least 2 chains of 8 draws, .*\.$"):
        rhat(rng.normal(size=(1, 500)))
    assert ess(rng.normal(size=(1, 500))) > 200


def test_the_diagnosis_is_the_worst_of_all(good):
    found = diagnose(good)
    radius = np.linalg.norm(good.coordinates, axis=-1)
    assert found.rhat == pytest.approx(max(rhat(good.latents).max(), rhat(radius)))
    assert found.ess == pytest.approx(min(ess(good.latents).min(), ess(radius)))


def test_many_rows_are_diagnosed_by_some_of_them(rng):
    size = 100
    posterior = Billiard(draws=100).infer(Problem(np.eye(size), rng.choice([-1, 1], size), Step(0.2)), rng=0)
    assert np.isfinite(diagnose(posterior)).all()


def test_a_good_run_is_silent(good):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_poor(good)


@pytest.mark.parametrize("shift", [1.0, 10.0])
def test_chains_in_different_places_are_told(good, shift):
    with pytest.warns(InferenceWarning, match=r"^The chains have not mixed \(R-hat \d.*\): take more draws .*\.$"):
        warn_if_poor(shifted(good, shift))


def test_few_effective_draws_are_told(good):
    short = good.without(slice(15, None))
    with pytest.warns(InferenceWarning, match="effective sample size"):
        warn_if_poor(short)


def test_chains_that_cannot_be_judged_are_left_alone(good):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_poor(good.without(slice(5, None)))
        warn_if_poor(ClassicBilliard(tolerance=1e-2).infer(good.problem, rng=0))


@pytest.mark.parametrize("shift", [0.0, 10.0])
def test_a_row_that_is_always_zero_hides_nothing(shift):
    gram = np.diag([1.0, 0.0, 2.0])
    posterior = Billiard(draws=500).infer(Problem(gram, [1, 1, -1], Step(0.1)), rng=0)
    found = diagnose(shifted(posterior, shift))
    assert np.isfinite(found).all()
    assert (found.rhat > 1.05) == (shift > 0)


def test_without_arviz_there_is_no_warning_but_a_clear_error(good, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_stats.base", None)
    monkeypatch.setitem(sys.modules, "arviz_stats", None)
    warn_if_poor(shifted(good, 10.0))
    with pytest.raises(ImportError, match=r"Diagnostics need arviz-stats: install bayespoint\[report\]\."):
        ess(good.latents)
