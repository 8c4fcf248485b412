"""``bayespoint`` and its commands: errors in one sentence; exit status 0 (done), 2 (cannot be done), 130 (stopped)."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import click
from click.shell_completion import get_completion_class

from .. import __version__
from .commands import certify, clean, compare, evaluate, evidence, fit, predict, query
from .demo import demo
from .label import label
from .report import report
from .reproduce import reproduce

__all__ = ["main"]

_OURS = (ValueError, FileNotFoundError, IsADirectoryError, PermissionError, FileExistsError, OSError)

_EPILOG = """\b
Examples:
  bayespoint fit churn.csv --target churn -o churn.model
  bayespoint predict churn.model new.csv -o predictions.csv
  bayespoint report churn.model test.csv -o report.html
"""


@click.group(epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="bayespoint %(version)s")
def app() -> None:
    """Bayesian kernel classifiers: probabilities, evidence and error guarantees for your tables."""


@app.command(epilog="Example: bayespoint completion bash >> ~/.bashrc")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script by which the shell completes commands and options."""
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(app, {}, "bayespoint", "_BAYESPOINT_COMPLETE").source())


for _command in (fit, predict, evaluate, compare, certify, evidence, query, clean, report, label, demo, reproduce):
    app.add_command(_command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, with the arguments of the process by default, and return its exit status."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.filterwarnings("ignore", message="X does not have valid feature names")  # chosen by name here
            warnings.showwarning = _show
            done = app.main(None if argv is None else list(argv), prog_name="bayespoint", standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:  # whoever reads has seen enough
        sys.stderr.close()
        return 0
    except _OURS as error:
        click.echo(f"bayespoint: {_sentence(error)}", err=True)
        return 2
    return done if isinstance(done, int) else 0


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    return " ".join(str(error).split())


def _show(message: Any, *_: Any, **__: Any) -> None:
    """Warnings as notes to people: without the line of code they came from."""
    click.echo(f"note: {' '.join(str(message).split())}", err=True)
