"""`Progress`: a moving line about a fit, and its end in time."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from numbers import Real
from time import monotonic
from typing import Any

import numpy as np

from ..exceptions import InvalidProblemError
from ._forecast import Forecast, duration

__all__ = ["ITERATION", "KERNEL", "POSTERIORS", "ROOT", "Progress"]

ROOT, KERNEL, POSTERIORS, ITERATION = "fit", "kernel", "posteriors", "evidence iteration"  # names of tasks
_BLINK = 0.1  # seconds in which nobody reads a new line
_BRIEFLY = {"leave-one-out log loss": "loo loss", "log-evidence": "evidence", "iteration ": "#"}  # in few columns


class Progress:
    """A callback of scikit-learn (version 1.9 and later) that tells how a fit is going, and ends the search in time.

    One line that moves in a terminal: time passed and about how much is left, the kernel at hand, the leave-one-out
    log loss of all kernels so far, the log-evidence. Elsewhere (files, notebooks) one line for each kernel. Before
    the work begins a forecast of it. It goes to the standard error.

    ``verbose=1`` shows the same line.

    Parameters
    ----------
    time_budget : float, optional
        Seconds after which no further kernel is tried and the climb at hand stops. The fit ends with what was found,
        one kernel at the least; the posteriors on all rows are then still to be inferred.
    quiet : bool, default=False
        Whether nothing is printed.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayespoint import BayesPointClassifier, Progress
    >>> X, y = make_moons(40, noise=0.2, random_state=0)
    >>> model = BayesPointClassifier()
    >>> if hasattr(model, "set_callbacks"):
    ...     model = model.set_callbacks(Progress(time_budget=60, quiet=True))
    >>> model.fit(X, y).predict_proba(X).shape
    (40, 2)
    """

    def __init__(self, time_budget: float | None = None, *, quiet: bool = False) -> None:
        if time_budget is not None and not (isinstance(time_budget, Real) and float(time_budget) > 0):
            raise InvalidProblemError(f"time_budget must be a number of seconds above 0, got {time_budget!r}.")
        self.time_budget, self.quiet = time_budget, quiet
        self._fits: dict[int, _State] = {}  # one object may watch several fits, in threads

    def setup(self, estimator: Any, context: Any) -> None:
        """A fit begins."""
        self._fits[id(estimator)] = _State(monotonic())

    def teardown(self, estimator: Any, context: Any) -> None:
        """It has ended, or was interrupted."""
        state = self._fits.pop(id(estimator))
        if state.width:
            sys.stderr.write("\n")

    def on_fit_task_begin(self, estimator: Any, context: Any, *, metadata: Any = None) -> None:
        """A forecast, before anything is done; then each kernel's name."""
        state, about, name = self._fits[id(estimator)], metadata or {}, context.task_name
        if name == ROOT and (expected := about.get("forecast")) is not None:
            state.forecast = expected
            self._print(state, f"{expected}")
        elif name == POSTERIORS or name.startswith(KERNEL):
            state.begin_task(about.get("kernel", POSTERIORS), monotonic())
            self._show(state)

    def on_fit_task_end(self, estimator: Any, context: Any, *, metadata: Any = None) -> bool:
        """What was found; true if the time is over."""
        state, about, name = self._fits[id(estimator)], metadata or {}, context.task_name
        state.about |= about
        if name == ROOT:
            self._print(state, state.result(monotonic()))
            return False
        if name == ITERATION:
            if monotonic() >= state.shown + _BLINK:
                self._show(state)
        elif name.startswith(KERNEL):
            state.done, state.since = state.number, monotonic()
            if not _in_terminal():
                self._print(state, state.text(monotonic()))
        return self.time_budget is not None and monotonic() - state.start >= self.time_budget

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_fits": {}}  # fits in other processes are their own

    def _show(self, state: _State) -> None:
        """The moving line; where lines do not move there is none."""
        if self.quiet or not _in_terminal():
            return
        state.shown = monotonic()
        width = shutil.get_terminal_size().columns - 1
        line = _fitting(state.text(state.shown), width)
        sys.stderr.write("\r" + line.ljust(state.width))
        sys.stderr.flush()
        state.width = len(line)

    def _print(self, state: _State, line: str) -> None:
        """A line that stays."""
        if self.quiet:
            return
        sys.stderr.write(("\r" if state.width else "") + line.ljust(state.width) + "\n")
        sys.stderr.flush()
        state.width = 0


@dataclass
class _State:
    """What is known of a fit."""

    start: float
    forecast: Forecast | None = None
    at_hand: str = ""
    since: float = -np.inf  # when the kernel at hand was begun
    number: int = 0  # of the kernel at hand
    done: int = 0  # kernels
    about: dict[str, Any] = field(default_factory=dict)
    shown: float = -np.inf
    width: int = 0  # of the moving line

    def begin_task(self, name: str, now: float) -> None:
        self.at_hand, self.since, self.number = name, now, self.done + 1
        self.about = {key: value for key, value in self.about.items() if key == "loo_log_loss"}

    def left(self, now: float) -> float | None:
        """Seconds to go: as forecast, corrected by what the kernels so far took instead; they count one kernel more."""
        if self.forecast is None:
            return None
        seconds, since = np.array(self.forecast.seconds), max(self.since, self.start)
        before, rest = seconds[: self.done].sum(), seconds[self.done :].sum()
        if self.at_hand == POSTERIORS:  # perhaps after a search that was cut short
            rest = seconds[-1]
        one = seconds.mean()
        pace = (since - self.start + one) / (before + one)
        return float(max(pace * rest - (now - since), 0.0))

    def text(self, now: float) -> str:
        """The moving line: what matters most comes first, for narrow terminals."""
        left, kernels = self.left(now), 0 if self.forecast is None else len(self.forecast.kernels)
        parts = [duration(now - self.start) + ("" if left is None else f", about {duration(left)} left")]
        if self.at_hand:
            parts.append(self.at_hand if self.at_hand == POSTERIORS else f"{self.number}/{kernels} {self.at_hand}")
        return " | ".join(parts + _figures(self.about))

    def result(self, now: float) -> str:
        """The last line."""
        return " | ".join([f"fitted in {duration(now - self.start)}", *_figures(self.about | {"iteration": None})])


def _figures(about: dict[str, Any]) -> list[str]:
    loss, evidence, iteration = (about.get(name) for name in ("loo_log_loss", "log_evidence", "iteration"))
    parts = [] if loss is None else [f"leave-one-out log loss {loss:.4f}"]
    if evidence is not None:
        parts.append(f"log-evidence {evidence:.1f}" + ("" if iteration is None else f" (iteration {iteration})"))
    return parts


def _fitting(line: str, width: int) -> str:
    """In other words where the terminal is narrow; cut off in the end."""
    for words, brief in _BRIEFLY.items() if len(line) > width else ():
        line = line.replace(words, brief)
    return line[:width]


def _in_terminal() -> bool:
    """Whether a line can be written over."""
    return bool(sys.stderr.isatty())
