"""Traces and ranks of draws: have the chains mixed?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .. import diagnostics
from .._core.typing import Array
from .._core.words import told_briefly
from ..exceptions import InvalidProblemError
from ._style import PALETTE, new_grid, own_axes

__all__ = ["TraceDisplay"]


@told_briefly()
@dataclass(eq=False, repr=False)
class TraceDisplay:
    """Draws of latents in the order they came, and histograms of their ranks by chain.

    Ranks are taken among the draws of all chains; where chains have mixed, each has its fair share of every range of
    ranks, and the histograms are flat within the grey band.

    Parameters
    ----------
    draws : ndarray of shape (n_quantities, chain, draw)
        What was drawn.
    ranks : ndarray of shape (n_quantities, chain, draw)
        Rank of each draw among all of its quantity, between 0 and 1.
    names : sequence of str
        Names of the quantities.
    diagnoses : sequence of Diagnosis
        R-hat and effective sample size of each.

    Attributes
    ----------
    axes_ : ndarray of Axes of shape (n_quantities, 2)
        Traces on the left, ranks on the right.
    ax_, figure_
        The first pair of axes and the figure.
    traces_ : list of list of Line2D
        One line for each quantity and chain.
    ranks_ : list of list of StepPatch
        One histogram for each quantity and chain.

    See Also
    --------
    bayespoint.diagnostics.diagnose : The figures alone.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import Billiard
    >>> from bayespoint.plots import TraceDisplay
    >>> posterior = Billiard(draws=200).infer(Problem(np.eye(3), [1, -1, 1], Step()), rng=0)
    >>> TraceDisplay.from_posterior(posterior, rows=[0, 2]).axes_.shape
    (2, 2)
    """

    draws: Array
    ranks: Array
    names: Sequence[str]
    diagnoses: Sequence[diagnostics.Diagnosis]

    @classmethod
    def from_posterior(
        cls, posterior: Any, *, rows: Sequence[int] | None = None, n_bins: int = 20, ax: Any = None
    ) -> Self:
        """Draw traces and ranks of latents at some training rows.

        Parameters
        ----------
        posterior : SampledPosterior
            Draws of at least two chains, such as ``model.posterior_``.
        rows : sequence of int, optional
            Training rows; by default the three whose effective sample size is smallest.
        n_bins, ax
            As for `plot`.
        """
        if not hasattr(posterior, "to_arviz"):
            raise InvalidProblemError(
                "Only draws leave a trace; this posterior is in closed form: use engine='sample'."
            )
        latents = posterior.to_arviz().posterior["latent"].to_numpy()  # (chain, draw, row)
        size = latents.shape[-1]
        if rows is None:
            rows = np.argsort(diagnostics.ess(latents))[:3].tolist()
        elif not len(rows) or np.min(rows) < 0 or np.max(rows) >= size:
            raise InvalidProblemError(f"rows must be some of 0 to {size - 1}, got {list(rows)}.")
        chosen = np.moveaxis(latents[..., list(rows)], -1, 0)
        statistics: Any = diagnostics._statistics()
        ranks = np.array([statistics.compute_ranks(values, axis=None, relative=True) for values in chosen])
        names = [f"latent of row {row}" for row in rows]
        figures = [
            diagnostics.Diagnosis(float(diagnostics.rhat(values)), float(diagnostics.ess(values))) for values in chosen
        ]
        return cls(chosen, ranks, names, figures).plot(ax=ax, n_bins=n_bins)

    def plot(self, *, ax: Any = None, n_bins: int = 20) -> Self:
        """Draw.

        Parameters
        ----------
        ax : array of 2 x n_quantities Axes, optional
            Where to draw; a new figure by default.
        n_bins : int, default=20
            Bins of the ranks.
        """
        count, chains, length = self.draws.shape
        if n_bins < 2:
            raise InvalidProblemError(f"n_bins must be at least 2, got {n_bins!r}.")
        if ax is None:
            ax = new_grid(count, 2, 9.0, 0.6 + 1.7 * count, sharex="col", width_ratios=[1.6, 1])
        self.axes_ = np.array(own_axes(ax, 2 * count, "a trace and ranks of each quantity"), dtype=object).reshape(
            -1, 2
        )
        self.traces_, self.ranks_ = [], []
        edges = np.linspace(0, 1, n_bins + 1)
        share = length / n_bins
        noise = 2 * np.sqrt(share * (1 - 1 / n_bins) * (1 - 1 / chains))  # chains share a fixed number of ranks
        for (left, right), draws, ranks, name, figures in zip(
            self.axes_, self.draws, self.ranks, self.names, self.diagnoses, strict=True
        ):
            colours = [PALETTE[k % len(PALETTE)] for k in range(chains)]
            self.traces_.append(
                [left.plot(d, lw=0.5, alpha=0.75, color=c)[0] for d, c in zip(draws, colours, strict=True)]
            )
            right.axhspan(share - noise, share + noise, color="0.9", zorder=0)
            right.axhline(share, color="0.6", lw=0.8, zorder=1)
            self.ranks_.append(
                [
                    right.stairs(np.histogram(r, edges)[0], edges, baseline=None, color=c, lw=1.3, label=f"chain {k}")
                    for k, (r, c) in enumerate(zip(ranks, colours, strict=True))
                ]
            )
            right.set_ylim(bottom=0, top=max(right.get_ylim()[1], 2 * share))
            right.set(xlim=(0, 1), ylabel="draws")
            left.set_ylabel(name)
            left.margins(x=0.01)
            left.set_title(
                f"R-hat {figures.rhat:.3f}, {figures.ess:.0f} effective of {chains * length} draws",
                fontsize="medium",
                loc="left",
            )
        self.axes_[-1, 0].set_xlabel("draw")
        self.axes_[-1, 1].set_xlabel("rank among all chains")
        self.axes_[0, 1].set_title("ranks by chain (grey: 95 % if mixed)", fontsize="medium", loc="left")
        self.ax_ = self.axes_[0, 0]
        self.figure_ = self.ax_.figure
        return self
