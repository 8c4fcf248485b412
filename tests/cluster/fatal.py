"""Things that take their worker with them, once: the first time they run in another process than the test."""

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bayespoint import Step
from bayespoint.engines import EP, Engine


def die_once(marker, home):
    """Kill this process unless it is that of the test, or another one has died here before."""
    if os.getpid() == home:
        return
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class FatalEngine(Engine):
    """An engine whose worker dies at the first inference."""

    marker: str
    engine: Any = field(default_factory=EP)
    home: int = field(default_factory=os.getpid)

    def infer(self, problem, rng=None, *, start=None):
        die_once(self.marker, self.home)
        return self.engine.infer(problem, rng)


sweeps = 0  # of this process


@dataclass(frozen=True)
class FatalStep(Step):
    """A likelihood whose worker dies after some sweeps, when there are sites to lose."""

    marker: str = ""
    home: int = field(default_factory=os.getpid)
    after: int = 0

    def site(self, *args):
        global sweeps
        sweeps += 1
        if sweeps > self.after:
            die_once(self.marker, self.home)
        return super().site(*args)
