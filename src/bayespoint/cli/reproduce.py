"""``bayespoint reproduce``: the papers' tables and figures, run from a checkout of the repository."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

__all__ = ["experiments_directory", "reproduce", "run"]

_RUNNER = "runner.py"


def experiments_directory() -> Path:
    """The directory named by BAYESPOINT_EXPERIMENTS; else ``experiments`` in the working directory or above it.

    Else beside the sources of an editable install: the experiments live beside the package, not in it.
    """
    here, named = Path.cwd(), os.environ.get("BAYESPOINT_EXPERIMENTS")
    homes = [
        *(home / "experiments" for home in (here, *here.parents)),
        Path(__file__).resolve().parents[3] / "experiments",
    ]
    for place in [Path(named)] if named else homes:
        if all((place / module).is_file() for module in (_RUNNER, "catalogue.py", "findings.py")):
            return place
    if named:
        raise FileNotFoundError(f"BAYESPOINT_EXPERIMENTS is {named!r}, and the experiments are not there.")
    raise FileNotFoundError(
        "The experiments are part of the repository, not of the installed package: run this in a checkout of it, or "
        "name its experiments directory in BAYESPOINT_EXPERIMENTS."
    )


def run(arguments: Sequence[str]) -> int:
    """Hand the arguments to the runner of the experiments, and return its exit status."""
    try:
        directory = experiments_directory()
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    with subprocess.Popen([sys.executable, str(directory / _RUNNER), *arguments]) as runner:
        while True:
            try:
                return runner.wait()
            except KeyboardInterrupt:
                continue  # the terminal has told the runner, too: let it put its things in order


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    epilog="Example: bayespoint reproduce --list",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def reproduce(arguments: tuple[str, ...]) -> int:
    """Tables and figures of the papers, in a checkout of the repository."""
    return run(arguments)
