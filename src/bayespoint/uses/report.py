"""All that a report on a model shows, worked out: figures, curves, rows to look at. Who draws it computes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr

from .._core.pipelines import last_step
from .._core.typing import Array
from ..bounds import Bound, binomial_bound
from ..diagnostics import Diagnosis, diagnose
from ..estimators import FeatureRelevance
from ..exceptions import InvalidProblemError
from ..posteriors import SampledPosterior
from .evaluation import Evaluation, evaluate
from .overview import left_out, overview
from .tables import Column, Frame, inputs_for, labels_for

__all__ = ["ColumnSummary", "Findings", "RowToSee", "examine", "rejection_table"]

_DELTA = 0.05
_RATES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)


class ColumnSummary(NamedTuple):
    """One column of the data in a few words."""

    name: str
    type: str
    gaps: int
    values: str


class RowToSee(NamedTuple):
    """A row that a person should look at; rows are counted from 1."""

    row: int
    label: str | None
    predicted: str
    probability: float  # of the predicted class; for doubtful labels that of the label
    values: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Findings:
    """What there is to say of a model and a table."""

    title: str
    data: str
    rows: int
    classes: list[str]
    class_counts: list[int] | None
    columns: list[ColumnSummary]
    model: dict[str, Any]
    unseen: Evaluation | None  # leave-one-out, on the training rows
    scores: Evaluation | None  # on the labelled rows of the table
    bound: Bound | None
    certificate: str | None
    relevance: list[FeatureRelevance]
    uncertain: list[RowToSee]
    suspicious: list[RowToSee]
    rejection: list[tuple[float, float]]
    diagnosis: Diagnosis | None
    truth: Any = field(default=None, repr=False)
    proba: Array | None = field(default=None, repr=False)
    labels: Any = field(default=None, repr=False)


def examine(
    model: Any,
    frame: Frame,
    columns: Sequence[Column],
    target: str | None,
    *,
    top: int = 10,
    certificate: str | None = None,
) -> Findings:
    """Look at a fitted model and a table, with labels or without."""
    proba = np.asarray(model.predict_proba(inputs_for(model, frame, columns)))
    names = [column.name for column in columns]
    known, truth = (None, None) if target is None or target not in frame.columns else labels_for(model, frame, target)
    classes = [str(label) for label in model.classes_]
    scores = counts = bound = None
    rejection: list[tuple[float, float]] = []
    if truth is not None:
        codes = np.searchsorted(model.classes_, truth)
        scores, counts = (
            evaluate(truth, proba[known], model.classes_),
            np.bincount(codes, minlength=len(classes)).tolist(),
        )
        bound = binomial_bound(int(np.sum(proba[known].argmax(axis=1) != codes)), len(codes), _DELTA)
        rejection = rejection_table(codes, proba[known])
    return Findings(
        title=type(last_step(model)[0]).__name__,
        data=Path(frame.path).name,
        rows=len(frame),
        classes=classes,
        class_counts=counts,
        columns=[_summary(column, frame.like([column]).data[column.name]) for column in columns],
        model=overview(model),
        unseen=left_out(model),
        scores=scores,
        bound=bound,
        certificate=certificate,
        relevance=_relevance(model, names),
        uncertain=_uncertain(frame, names, classes, proba, known, truth, top),
        suspicious=_suspicious(frame, names, model.classes_, proba, known, truth, top),
        rejection=rejection,
        diagnosis=_diagnosis(model),
        truth=truth,
        proba=proba if known is None else proba[known],
        labels=model.classes_,
    )


def rejection_table(codes: Any, proba: Array) -> list[tuple[float, float]]:
    """Error of the rows that are kept when a share of the least sure ones is not."""
    order = np.argsort(-proba.max(axis=1), kind="stable")
    wrong = (proba.argmax(axis=1) != codes)[order]
    kept = [max(round((1 - rate) * len(wrong)), 1) for rate in _RATES]
    return [(rate, float(wrong[:n].mean())) for rate, n in zip(_RATES, kept, strict=True)]


def _summary(column: Column, values: Any) -> ColumnSummary:
    if values.dtype == object:
        present = [value for value in values if value is not None]
        names, counts = np.unique(np.array(present, dtype=str), return_counts=True)
        order = np.argsort(-counts, kind="stable")[:3]
        often = ", ".join(f"{names[i]} ({counts[i]})" for i in order)
        return ColumnSummary(column.name, "text", len(values) - len(present), f"{len(names)} values: {often}")
    finite = values[np.isfinite(values)]
    gaps = len(values) - len(finite)
    if not len(finite):
        return ColumnSummary(column.name, "number", gaps, "empty")
    low, middle, high = np.quantile(finite, [0, 0.5, 1])
    return ColumnSummary(column.name, "number", gaps, f"{low:.4g} to {high:.4g}, median {middle:.4g}")


def _relevance(model: Any, names: Sequence[str]) -> list[FeatureRelevance]:
    classifier, _ = last_step(model)
    if classifier is not model or not hasattr(classifier, "get_feature_relevance"):
        return []
    try:
        found = classifier.get_feature_relevance()
    except InvalidProblemError:  # no kernel with length scales
        return []
    own = getattr(classifier, "feature_names_in_", [f"x{j}" for j in range(classifier.n_features_in_)])
    shown = dict(zip(map(str, own), names, strict=False))
    return [FeatureRelevance(shown.get(one.name, one.name), one.share) for one in found]


def _seen(frame: Frame, names: Sequence[str], i: int, label: Any, predicted: str, p: float) -> RowToSee:
    values = frame.row(i)
    return RowToSee(i + 1, None if label is None else str(label), predicted, p, {name: values[name] for name in names})


def _uncertain(
    frame: Frame, names: Sequence[str], classes: list[str], proba: Array, known: Any, truth: Any, top: int
) -> list[RowToSee]:
    """Rows whose class is least clear, the least first."""
    given: dict[int, Any] = {} if truth is None else dict(zip(np.flatnonzero(known).tolist(), truth, strict=True))
    order = np.argsort(-entr(proba).sum(axis=1), kind="stable")[:top].tolist()
    return [_seen(frame, names, i, given.get(i), classes[proba[i].argmax()], float(proba[i].max())) for i in order]


def _suspicious(
    frame: Frame, names: Sequence[str], labels: Any, proba: Array, known: Any, truth: Any, top: int
) -> list[RowToSee]:
    """Rows whose label is least probable, where some other is more so."""
    if truth is None:
        return []
    rows, codes = np.flatnonzero(known), np.searchsorted(labels, truth)
    own = proba[rows, codes]
    order = [k for k in np.argsort(own, kind="stable").tolist() if proba[rows[k]].argmax() != codes[k]][:top]
    return [
        _seen(frame, names, int(rows[k]), truth[k], str(labels[proba[rows[k]].argmax()]), float(own[k])) for k in order
    ]


def _diagnosis(model: Any) -> Diagnosis | None:
    """Of draws, where there are any and arviz is installed: the worst over classes."""
    drawn = [p for p in last_step(model)[0].fitted_.posteriors if isinstance(p, SampledPosterior)]
    try:
        found = [diagnose(posterior) for posterior in drawn]
    except (ImportError, InvalidProblemError):
        return None
    return Diagnosis(max(one.rhat for one in found), min(one.ess for one in found)) if found else None
