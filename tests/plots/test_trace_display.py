"""Traces and ranks."""

import numpy as np
import pytest
from scipy.stats import rankdata

from bayespoint import Problem, Step
from bayespoint.diagnostics import ess, rhat
from bayespoint.engines import EP, Billiard
from bayespoint.plots import TraceDisplay


@pytest.fixture
def posterior():
    return Billiard(draws=100, chains=3).infer(Problem(np.eye(5), [1, -1, 1, 1, -1], Step(noise=0.2)), rng=0)


def test_traces_and_ranks_are_those_of_the_draws(posterior):
    display = TraceDisplay.from_posterior(posterior, rows=[3, 0], n_bins=10)
    assert display.axes_.shape == (2, 2)
    assert display.figure_ is display.axes_[1, 1].figure
    for k, row in enumerate([3, 0]):
        latents = posterior.latents[..., row]
        for chain in range(3):
            np.testing.assert_allclose(display.traces_[k][chain].get_ydata(), latents[chain])
        counts = np.array([steps.get_data().values for steps in display.ranks_[k]])
        np.testing.assert_array_equal(counts.sum(axis=1), 100)
        ranks = (rankdata(latents).reshape(3, 100) - 0.5) / 300
        expected = np.array([np.histogram(chain, np.linspace(0, 1, 11))[0] for chain in ranks])
        assert np.abs(counts - expected).max() <= 1  # a rank at the edge of a bin
        assert display.diagnoses[k].ess == pytest.approx(float(ess(latents)))
        assert display.diagnoses[k].rhat == pytest.approx(float(rhat(latents)))


def test_chains_that_have_not_mixed_stand_out(posterior):
    mixed = TraceDisplay.from_posterior(posterior, rows=[0])
    apart = posterior.coordinates + 3 * np.arange(3)[:, None, None]
    stuck = TraceDisplay.from_posterior(type(posterior)(posterior.problem, posterior.white, apart), rows=[0])
    spread = [np.max([steps.get_data().values for steps in d.ranks_[0]]) for d in (mixed, stuck)]
    assert spread[1] > 1.5 * spread[0]


def test_the_worst_rows_by_default(posterior):
    display = TraceDisplay.from_posterior(posterior)
    worst = np.argsort(ess(posterior.latents))[:3]
    assert list(display.names) == [f"latent of row {row}" for row in worst]


def test_given_axes_and_bad_input(posterior, plt):
    _, axes = plt.subplots(1, 2)
    assert TraceDisplay.from_posterior(posterior, rows=[1], ax=axes).ax_ is axes[0]
    with pytest.raises(ValueError, match="ax must hold 4 axes"):
        TraceDisplay.from_posterior(posterior, rows=[1, 2], ax=axes)
    with pytest.raises(ValueError, match="rows must be some of 0 to 4, got"):
        TraceDisplay.from_posterior(posterior, rows=[5])
    with pytest.raises(ValueError, match="n_bins must be at least 2"):
        TraceDisplay.from_posterior(posterior, rows=[1], n_bins=1)
    with pytest.raises(ValueError, match="closed form"):
        TraceDisplay.from_posterior(EP().infer(posterior.problem))
