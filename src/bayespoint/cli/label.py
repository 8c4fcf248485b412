"""``bayespoint label``: a page on this machine for active labelling."""

from __future__ import annotations

import signal
import webbrowser
from pathlib import Path
from typing import Any

import click

from ..exceptions import InvalidProblemError
from ..files import save
from ..files.container import written_whole
from ..uses.journal import Journal, digest_of
from ..uses.labelling import Session
from ..uses.pools import Pool, pool_of
from ..uses.tables import Frame, read_table
from ._data import drop_option, options, seed_option
from .commands import csv_text
from .server import LabelServer

__all__ = ["label"]


@click.command(epilog="Example: bayespoint label pool.csv --classes spam,ham --annotators anna,ben")
@click.argument("pool", type=click.Path(path_type=Path))
@click.option("--classes", help="The labels there are, with commas between them.")
@click.option("-t", "--target", help="A column of the pool that is filled in part: what is there is known already.")
@click.option("--text", help="A column of texts to learn from and to show in full.")
@click.option("--image", help="A column with names of image files, beside the pool or below.")
@click.option("--annotators", default="me", show_default=True, help="Who answers, with commas between names.")
@click.option("--journal", type=click.Path(path_type=Path), help="Where answers are kept; beside the pool by default.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Labels to write; beside the pool by default.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to listen; any free one by default.")
@click.option("--open", "show", is_flag=True, help="Open the page in a browser.")
@click.option("--export", "only_export", is_flag=True, help="Write labels and model of the journal, without a page.")
@options(drop_option, seed_option)
def label(
    pool: Path,
    classes: str | None,
    target: str | None,
    text: str | None,
    image: str | None,
    annotators: str,
    journal: Path | None,
    out: Path | None,
    port: int,
    show: bool,
    only_export: bool,
    drop: tuple[str, ...],
    seed: int,
) -> None:
    """Label a pool on a page: the row whose label tells most, keys to answer, skip and undo.

    Every answer is on disk before the next question; start it again to go on where you were. The page is for this
    machine alone, behind a token in its address. Several people may answer at once, and see where they disagree.
    """
    frame = read_table(pool).without(list(drop))
    ready = pool_of(frame, target=target, text=text, image=image, home=pool.absolute().parent)
    names = _classes(classes, ready)
    about = {"pool": pool.name, "rows": len(frame), "digest": digest_of(pool), "classes": names}
    kept = Journal(journal or pool.with_name(pool.name + ".journal"), about)
    session = Session(ready.rows, len(frame), names, kept, lambda: ready.classifier(seed), known=ready.known, seed=seed)
    out = out or pool.with_name(pool.stem + ".labels.csv")

    def export() -> str:
        return _export(session, ready, out, target or "label")

    if only_export:
        click.echo(export())
        return
    people = [name.strip() for name in annotators.split(",") if name.strip()]
    if not people:
        raise InvalidProblemError("annotators must name somebody.")
    server = LabelServer(session, ready, pool.name, pool.absolute().parent, export, port)
    before = len(session.labels())
    click.echo(f"{len(frame)} rows, {before} labels so far, answers go to {kept.path}")
    for name in people:
        click.echo(f"{name}: {server.url(name)}")
    click.echo("Ctrl-C ends; nothing that was answered is lost.", err=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if show:
        webbrowser.open(server.url(people[0]))
    try:
        server.serve()
    except KeyboardInterrupt:
        click.echo(f"\n{len(session.labels())} labels in {kept.path}; write them out with --export", err=True)
    finally:
        kept.close()


def _classes(given: str | None, pool: Pool) -> list[str]:
    named = [] if given is None else [name.strip() for name in given.split(",") if name.strip()]
    found = named or sorted(set(pool.known.values()))
    if len(found) < 2 or len(set(found)) < len(found):
        raise InvalidProblemError("Say what the labels are: --classes spam,ham, at least two, each once.")
    strange = next((name for name in pool.known.values() if name not in found), None)
    if strange is not None:
        raise InvalidProblemError(f"The pool has the label {strange!r}, which is not among --classes.")
    return found


def _export(session: Session, pool: Pool, out: Path, target: str) -> str:
    """Labels as CSV, and the model of them if there is one."""
    labels, opinions = session.labels(), session.opinions()
    people = sorted({by for said in opinions.values() for by in said})
    rows = [_line(pool.shown, row, labels.get(row), opinions.get(row, {}), people) for row in range(session.size)]
    told = [line for line in rows if line is not None]
    with written_whole(out) as file:
        file.write(csv_text(["row", *pool.shown.columns, target, *(f"by {name}" for name in people)], told).encode())
    session.learn()
    words = f"{len(labels)} labels in {out}"
    if session.model is None:
        return f"{words}; no model before two classes have a label"
    model = out.with_suffix(".model")
    notes: dict[str, Any] = {"target": target, "text": pool.text, "data": out.name}
    if isinstance(pool.rows, Frame):
        notes["columns"] = [column._asdict() for column in pool.rows.types]
    save(session.model, model, notes=notes)
    return f"{words}, the model in {model}"


def _line(frame: Frame, row: int, agreed: str | None, said: dict[str, str], people: list[str]) -> list[Any] | None:
    if agreed is None and not said:
        return None
    return [row + 1, *frame.row(row).values(), agreed, *(said.get(name) for name in people)]
