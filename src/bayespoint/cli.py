"""The command line: ``bayespoint demo``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from . import __version__

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process by default.

    Returns
    -------
    int
        Exit status.

    Examples
    --------
    >>> from bayespoint.cli import main
    >>> main(["demo", "--help"])
    Traceback (most recent call last):
        ...
    SystemExit: 0
    """
    parser = argparse.ArgumentParser(prog="bayespoint", description="Bayesian kernel classifiers.")
    parser.add_argument("--version", action="version", version=f"bayespoint {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="fit on an embedded data set, print figures, save a picture")
    demo.add_argument(
        "--picture", default="bayespoint-demo.png", help="where to save the picture (default: %(default)s)"
    )
    options = parser.parse_args(argv)

    from .demo import run

    return run(options.picture)
