"""What commands have in common: their options, and models and tables from files."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from .._core.pipelines import steps_of
from ..estimators import Progress
from ..exceptions import InvalidProblemError
from ..files import describe, load
from ..uses.pools import texts_of
from ..uses.tables import Column, Frame, inputs_for, labels_of, read_table, warn_of_names

__all__ = ["Loaded", "as_json", "data_argument", "json_option", "labelled", "load_model", "options", "tell", "watched"]

TABLE = click.Path(path_type=Path)
json_option = click.option("--json", "as_json_", is_flag=True, help="Print JSON.")
data_argument = click.argument("data", type=TABLE)
model_argument = click.argument("model", type=TABLE)
target_option = click.option("-t", "--target", required=True, help="The column with the labels.")
drop_option = click.option("--drop", multiple=True, metavar="COLUMN", help="Leave a column out; may be given again.")
seed_option = click.option("--seed", type=int, default=0, show_default=True, help="Source of all randomness.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress.")
out_option = click.option("-o", "--out", type=TABLE, help="Write to this file.")


def options(*several: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several decorators as one, in the order they are read."""

    def decorate(command: Any) -> Any:
        for one in reversed(several):
            command = one(command)
        return command

    return decorate


def labelled(path: Path, target: str, drop: Sequence[str] = ()) -> tuple[Frame, Any]:
    """Rows of a table that have a label, and these."""
    frame, labels = labels_of(read_table(path).without(list(drop)), target)
    frame = frame.typed()
    warn_of_names(frame)
    return frame, labels


class Loaded(NamedTuple):
    """A model from a file, and what the file says of it."""

    model: Any
    columns: list[Column]
    target: str | None
    data: str | None = None
    text: str | None = None

    def warn_if_seen(self, path: Path) -> None:
        """The rows of a fit flatter it."""
        if self.data == path.name:
            warnings.warn(
                f"{path.name} is the name of the file that the model was fitted to: figures on rows that it has seen "
                "flatter it, those of labels left out (bayespoint evidence) do not.",
                stacklevel=2,
            )

    def inputs(self, frame: Frame) -> Any:
        """Rows as the model takes them."""
        if self.text is not None:
            return texts_of(frame, self.text)
        return inputs_for(self.model, frame, self.columns)

    def the_target(self, given: str | None) -> str:
        """The name of the column with labels."""
        name = given or self.target
        if name is None:
            raise InvalidProblemError("The model does not say which column it predicts: give --target.")
        return name


def load_model(path: Path) -> Loaded:
    """A model with the names of its columns."""
    model, about = load(path), describe(path)
    listed = about["notes"].get("columns") or about["features"]
    columns = [Column(one["name"], one["type"]) for one in listed]
    return Loaded(model, columns, *(about["notes"].get(key) for key in ("target", "data", "text")))


def watched(estimator: Any, *, quiet: bool, time_budget: float | None = None) -> Any:
    """With a moving line that tells how a fit is going."""
    classifier = steps_of(estimator)[2]
    if hasattr(classifier, "set_callbacks"):
        classifier.set_callbacks(Progress(time_budget, quiet=quiet))
    elif time_budget is not None:
        raise InvalidProblemError("A time budget needs scikit-learn 1.9 or later.")
    elif hasattr(classifier, "verbose"):
        classifier.verbose = 0 if quiet else 1
    return estimator


def tell(quiet: bool) -> Callable[[str], None]:
    """Lines about what is being done, on the standard error."""
    return lambda line: None if quiet else click.echo(line, err=True)


def as_json(value: Any) -> str:
    """Plain data as JSON: no NaN, numbers of numpy as those of Python."""
    return json.dumps(_plain(value), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
