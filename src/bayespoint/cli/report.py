"""``bayespoint report``: a page about a model and a table."""

from __future__ import annotations

from pathlib import Path

import click

from ..files import describe
from ..files.container import written_whole
from ..uses.report import examine
from ..uses.tables import read_table
from ._data import data_argument, load_model, model_argument, options
from .pages.report import report_page

__all__ = ["report"]


@click.command(epilog="Example: bayespoint report churn.model test.csv -o report.html")
@options(model_argument, data_argument)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), default="report.html", show_default=True, help="The page."
)
@click.option("-t", "--target", help="The column with the labels; that of the model by default.")
@click.option("--top", type=click.IntRange(1, 200), default=10, show_default=True, help="How many rows to look at.")
def report(model: Path, data: Path, out: Path, target: str | None, top: int) -> None:
    """Write one page about a model: data, kernels, error, calibration, rejection, guarantee, rows to look at.

    The page needs no network and runs no script; without labels in the table it says what can be said without.
    """
    loaded, frame = load_model(model), read_table(data)
    loaded.warn_if_seen(data)
    if target is not None:
        frame.need(target)
    certificate = describe(model)["notes"].get("certificate")
    found = examine(loaded.model, frame, loaded.columns, target or loaded.target, top=top, certificate=certificate)
    with written_whole(out) as file:
        file.write(report_page(found).encode())
    click.echo(f"saved {out}")
