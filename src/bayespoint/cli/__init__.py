"""The command line: ``bayespoint demo`` and ``bayespoint reproduce``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from .. import __version__

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, with the arguments of the process by default, and return its exit status."""
    parser = argparse.ArgumentParser(prog="bayespoint", description="Bayesian kernel classifiers.")
    parser.add_argument("--version", action="version", version=f"bayespoint {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="fit on an embedded data set, print figures, save a picture")
    demo.add_argument(
        "--picture", default="bayespoint-demo.png", help="where to save the picture (default: %(default)s)"
    )
    commands.add_parser(
        "reproduce", help="tables and figures of the papers (in a checkout of the repository)", add_help=False
    )
    options, rest = parser.parse_known_args(argv)
    if options.command == "reproduce":
        from .reproduce import run as run_experiments

        return run_experiments(rest)
    if rest:
        demo.error(f"unrecognized arguments: {' '.join(rest)}")

    from .demo import run

    return run(options.picture)
