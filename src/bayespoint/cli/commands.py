"""Commands on tables and models: each reads, calls one function below, and prints what it returns."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from textwrap import shorten
from typing import Any

import click
import numpy as np

from ..estimators import BayesPointClassifier
from ..files import describe, save
from ..files.container import written_whole
from ..uses import certify as prove
from ..uses import evaluation, find_label_errors, utilities
from ..uses import query as ask
from ..uses.evaluation import Evaluation, Interval
from ..uses.fitting import ESTIMATORS, estimator_named, inputs_of
from ..uses.overview import overview
from ..uses.tables import labels_for, read_table
from ._data import (
    as_json,
    data_argument,
    drop_option,
    json_option,
    labelled,
    load_model,
    model_argument,
    options,
    out_option,
    quiet_option,
    seed_option,
    target_option,
    tell,
    watched,
)

__all__ = ["certify", "clean", "compare", "evaluate", "evidence", "fit", "predict", "query"]


@click.command(epilog="Example: bayespoint fit churn.csv --target churn -o churn.model")
@options(data_argument, target_option)
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="The model file to write.")
@click.option(
    "--estimator",
    type=click.Choice(list(ESTIMATORS)),
    default="bayes-point",
    show_default=True,
    help="bayes-point takes tables as they are; svc and margin take numbers.",
)
@click.option("--kernel", help="auto, rbf, linear, poly or laplacian; the default tries several and weights them.")
@click.option("--noise", help="Share of wrong labels below 0.5, or 'evidence' to find it.")
@click.option("--time-budget", type=click.FloatRange(min=0, min_open=True), help="Seconds to search for kernels.")
@options(drop_option, seed_option, quiet_option, json_option)
def fit(
    data: Path,
    target: str,
    out: Path,
    estimator: str,
    kernel: str | None,
    noise: str | None,
    time_budget: float | None,
    drop: tuple[str, ...],
    seed: int,
    quiet: bool,
    as_json_: bool,
) -> None:
    """Fit a classifier to a table and write it to a file.

    CSV or parquet, with text and missing values as they come; dates are refused by name.
    """
    X, y = labelled(data, target, drop)
    if not out.absolute().parent.is_dir():  # before the work, not after it
        raise FileNotFoundError(f"There is no directory {str(out.parent)!r} to write {out.name!r} to.")
    model = estimator_named(estimator, kernel=kernel, noise=noise, seed=seed)
    rows = inputs_of(estimator, X)
    fitted = watched(model, quiet=quiet or as_json_, time_budget=time_budget).fit(rows, y)
    columns = [column._asdict() for column in X.types]
    save(fitted, out, notes={"target": target, "columns": columns, "data": data.name, "rows": len(X)})
    found = overview(fitted)
    if as_json_:
        click.echo(as_json({"model": str(out), "rows": len(X), "columns": columns, **found}))
        return
    gaps = f", {X.gaps} empty cells" if X.gaps else ""
    click.echo(f"{len(X)} rows, {len(columns)} columns{gaps}, classes {', '.join(map(str, fitted.classes_))}")
    _print_overview(found)
    click.echo(f"saved {out}")


@click.command(epilog="Example: bayespoint predict churn.model new.csv -o predictions.csv")
@options(model_argument, data_argument, out_option, json_option)
def predict(model: Path, data: Path, out: Path | None, as_json_: bool) -> None:
    """Class and probabilities of every row of a table, as CSV."""
    loaded, frame = load_model(model), read_table(data)
    proba = loaded.model.predict_proba(loaded.inputs(frame))
    classes = loaded.model.classes_
    labels = classes[proba.argmax(axis=1)]
    if as_json_:
        rows = [
            {"prediction": label, "probabilities": dict(zip(map(str, classes), p, strict=True))}
            for label, p in zip(labels.tolist(), proba.tolist(), strict=True)
        ]
        text = as_json(rows) + "\n"
    else:
        text = csv_text(
            ["prediction", *(f"p({label})" for label in classes)],
            ([label, *(f"{p:.6g}" for p in row)] for label, row in zip(labels.tolist(), proba.tolist(), strict=True)),
        )
    _write(text, out)


@click.command(epilog="Example: bayespoint evaluate churn.model test.csv")
@options(model_argument, data_argument)
@click.option("-t", "--target", help="The column with the labels; that of the model by default.")
@json_option
def evaluate(model: Path, data: Path, target: str | None, as_json_: bool) -> None:
    """Error, log loss and calibration of a model on labelled rows that it has not seen, with 95 % intervals."""
    loaded, frame = load_model(model), read_table(data)
    loaded.warn_if_seen(data)
    known, y = labels_for(loaded.model, frame, loaded.the_target(target))
    proba = loaded.model.predict_proba(loaded.inputs(frame[known]))
    found = evaluation.evaluate(y, proba, loaded.model.classes_)
    if as_json_:
        click.echo(as_json(found))
        return
    _print_evaluation(found)


@click.command(epilog="Example: bayespoint compare churn.csv --target churn --rows 1000")
@options(data_argument, target_option)
@click.option("--folds", type=click.IntRange(2, 50), default=5, show_default=True, help="Splits of the rows.")
@click.option("--rows", type=click.IntRange(20), help="Compare on so many rows, chosen at random.")
@options(drop_option, seed_option, quiet_option, json_option)
def compare(
    data: Path,
    target: str,
    folds: int,
    rows: int | None,
    drop: tuple[str, ...],
    seed: int,
    quiet: bool,
    as_json_: bool,
) -> None:
    """The default classifier beside SVC with calibration, logistic regression, and CatBoost if installed.

    All on the same splits. The last column is the difference in log loss to the first line, on the same rows: a rival
    is clearly worse (or better) where its interval is above (or below) zero.
    """
    X, y = labelled(data, target, drop)
    if rows is not None and rows < len(y):
        part = np.random.default_rng(seed).permutation(len(y))[:rows]
        X, y = X[part], y[part]
    found = evaluation.compare(X, y, folds=folds, seed=seed, tell=tell(quiet or as_json_))
    if as_json_:
        click.echo(as_json(found))
        return
    click.echo(f"{len(y)} rows, {folds} splits, 95 % intervals\n")
    click.echo(f"{'':22s}{'error':>24s}{'log loss':>26s}{'calibration':>13s}{'core s':>8s}   against the first")
    for one in found:
        versus = "" if one.versus_first is None else _signed(one.versus_first)
        click.echo(
            f"{one.name:22s}{_percent(one.error):>24s}{_plain(one.log_loss):>26s}{one.calibration_error:13.3f}"
            f"{one.seconds:8.1f}   {versus}"
        )


@click.command(epilog="Example: bayespoint certify churn.csv --target churn --delta 0.05")
@options(data_argument, target_option)
@click.option("--delta", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True)
@click.option(
    "--method",
    type=click.Choice(["auto", "held-out", "disintegrated", "pac-bayes"]),
    default="auto",
    show_default=True,
    help="How; auto takes what a pilot on the prior's rows expects to be tightest.",
)
@click.option(
    "--prior-fraction",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Share of the rows that kernel and prior are learned on; the bound is on the others.",
)
@click.option("--test", type=click.Path(path_type=Path), help="Labelled rows for the bound of a test set beside it.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the certified model to this file.")
@options(drop_option, seed_option, json_option)
def certify(
    data: Path,
    target: str,
    delta: float,
    method: str,
    prior_fraction: float | None,
    test: Path | None,
    out: Path | None,
    drop: tuple[str, ...],
    seed: int,
    as_json_: bool,
) -> None:
    """Fit a classifier and prove a bound on its error that holds with probability 1 - delta.

    No test rows are needed. The rows must be as drawn: nothing may have been learned from them before.
    """
    X, y = labelled(data, target, drop)
    model = BayesPointClassifier(None, decision="one-vs-rest", random_state=seed)
    held_out: dict[str, Any] = {}
    if test is not None:
        frame, labels = labelled(test, target, drop)
        held_out = {"X_test": frame.like(X.types), "y_test": labels}
    share = "auto" if prior_fraction is None else prior_fraction
    found = prove(model, X, y, method=method, delta=delta, prior_fraction=share, random_state=seed, **held_out)
    if out is not None:
        columns = [column._asdict() for column in X.types]
        save(found.classifier, out, notes={"target": target, "columns": columns, "certificate": str(found)})
    if as_json_:
        told = {
            "bound": found.bayes_point.value,
            "kind": found.kind,
            "delta": found.delta,
            "rows": found.n,
            "rests on": found.basis,
            "takes on trust": found.assumes,
            "constant error": found.constant_error,
            "held out": None if found.held_out is None else found.held_out.value,
        }
        click.echo(as_json(told))
        return
    click.echo(str(found))


@click.command(epilog="Example: bayespoint evidence churn.model --exact")
@model_argument
@click.option("--exact", is_flag=True, help="Estimate the evidence by sampling, with a standard error.")
@json_option
def evidence(model: Path, exact: bool, as_json_: bool) -> None:
    """Kernels of a model, their weights and evidence, and what left-out labels say of it."""
    loaded = load_model(model)
    found = overview(loaded.model, exact=exact)
    about = {key: value for key, value in describe(model).items() if key in ("library", "version", "model", "classes")}
    if as_json_:
        click.echo(as_json(about | found))
        return
    click.echo(f"{about['model']}, written by bayespoint {about['library']}")
    _print_overview(found)


@click.command(epilog="Example: bayespoint query churn.model pool.csv -n 10")
@options(model_argument, click.argument("pool", type=click.Path(path_type=Path)))
@click.option("-n", "--number", type=click.IntRange(1), default=10, show_default=True, help="How many rows.")
@click.option(
    "--strategy", type=click.Choice(["bald", "entropy", "vote", "batch-bald"]), default="bald", show_default=True
)
@options(seed_option, json_option)
def query(model: Path, pool: Path, number: int, strategy: str, seed: int, as_json_: bool) -> None:
    """Rows of a pool whose labels would tell most, with the bits that each is worth."""
    loaded, frame = load_model(model), read_table(pool)
    rows = loaded.inputs(frame)
    found = ask(loaded.model, rows, min(number, len(frame)), strategy, random_state=seed)
    gains = utilities(loaded.model, rows[found], "bald" if strategy == "batch-bald" else strategy)
    if as_json_:
        click.echo(as_json([{"row": int(i) + 1, "bits": gain} for i, gain in zip(found, gains, strict=True)]))
        return
    names = [column.name for column in loaded.columns]
    click.echo(
        csv_text(
            ["row", "bits", *names],
            (
                [int(i) + 1, f"{gain:.4f}", *(frame.row(int(i))[name] for name in names)]
                for i, gain in zip(found, gains, strict=True)
            ),
        ),
        nl=False,
    )


@click.command(epilog="Example: bayespoint clean churn.csv --target churn --top 20")
@options(data_argument, target_option)
@click.option("--threshold", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="Smallest P(wrong).")
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, help="How many rows to print.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the rows that are left to this CSV.")
@options(drop_option, seed_option, quiet_option, json_option)
def clean(
    data: Path,
    target: str,
    threshold: float,
    top: int,
    out: Path | None,
    drop: tuple[str, ...],
    seed: int,
    quiet: bool,
    as_json_: bool,
) -> None:
    """Rows whose label is probably wrong, the most doubtful first; rows are counted from 1, the header apart."""
    X, y = labelled(data, target, drop)
    model = BayesPointClassifier(None, noise="evidence", random_state=seed)
    errors = find_label_errors(watched(model, quiet=quiet or as_json_).fit(X, y))
    doubtful = errors.mask(threshold)
    if out is not None:
        kept = X[~doubtful]
        rows = ([kept.row(i)[name] for name in X.columns] + [label] for i, label in enumerate(y[~doubtful].tolist()))
        _write(csv_text([*X.columns, target], rows), out)
    if as_json_:
        listed = [
            {"row": int(row) + 1, "given": str(given), "suggested": str(suggested), "probability": p}
            for row, given, suggested, p in zip(
                errors.rows, errors.given, errors.suggested, errors.probability, strict=True
            )
            if p >= threshold
        ]
        click.echo(
            as_json(
                {
                    "expected_errors": errors.expected_errors,
                    "rows": errors.n_rows,
                    "noise": errors.noise,
                    "doubtful": listed,
                }
            )
        )
        return
    click.echo(counted_from_one(errors).report(top))
    if out is not None:
        click.echo(f"saved {int(np.sum(~doubtful))} of {len(y)} rows to {out}")


def counted_from_one(errors: Any) -> Any:
    """Rows as people count them."""
    return replace(errors, rows=errors.rows + 1)


def csv_text(header: list[str], rows: Any) -> str:
    """Lines of CSV; a gap is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def _write(text: str, out: Path | None) -> None:
    if out is None:
        click.echo(text, nl=False)
        return
    with written_whole(out) as file:
        file.write(text.encode())


def _percent(one: Interval) -> str:
    return f"{one.value:.2%} ({one.low:.1%} to {one.high:.1%})"


def _plain(one: Interval) -> str:
    return f"{one.value:.4f} ({one.low:.3f} to {one.high:.3f})"


def _signed(one: Interval) -> str:
    return f"{one.value:+.4f} ({one.low:+.3f} to {one.high:+.3f})"


def _print_evaluation(found: Evaluation) -> None:
    click.echo(f"{found.rows} rows, 95 % intervals")
    click.echo(f"error              {_percent(found.error)}, {found.constant_error:.2%} by the most frequent class")
    click.echo(f"log loss           {_plain(found.log_loss)}, {found.constant_log_loss:.4f} by the shares of classes")
    click.echo(f"calibration error  {found.calibration_error:.4f}")
    click.echo(f"rejection area     {found.rejection_area:.4f}")


def _print_overview(found: dict[str, Any]) -> None:
    for one in found["kernels"]:
        evidence_ = "" if one["log_evidence"] is None else f", log-evidence {one['log_evidence']:.2f}"
        name = f"{one['name']}: " if one["name"] else ""
        shown = shorten(one["kernel"], 90, placeholder=" ...")
        click.echo(f"kernel, weight {one['weight']:.2f}  {name}{shown}{evidence_}")
    click.echo(f"likelihood           {found['likelihood']}, bias {found['bias']:.3g}")
    if found["approximation"]:
        click.echo(f"approximation        {found['approximation']}")
    if found["calibration_power"]:
        click.echo(f"calibration          probabilities to the power {found['calibration_power']:.3g}")
    if "leave_one_out_log_loss" in found:
        error, loss = found["leave_one_out_error"], found["leave_one_out_log_loss"]
        click.echo(
            f"labels left out      error {error:.2%}, log loss {loss:.4f} ({found['training_rows']} rows, no refit)"
        )
    if "sampled_log_evidence" in found:
        click.echo(
            f"log-evidence         {found['sampled_log_evidence']:.3f} +- {found['standard_error']:.3f} (sampled)"
        )
