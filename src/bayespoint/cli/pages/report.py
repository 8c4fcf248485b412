"""A report as one page: no script, no network, readable on a phone and on paper."""

from __future__ import annotations

from typing import Any

from ... import __version__
from ...uses.evaluation import Evaluation, Interval
from ...uses.report import Findings, RowToSee
from .html import Html, document, figure, section, table, tag
from .pictures import pictures_of

__all__ = ["report_page"]

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_SHOWN = 6  # columns of a row that is to be looked at


def report_page(found: Findings) -> str:
    """The page."""
    return document(
        f"Report on {found.data}",
        tag(
            "main",
            tag("p", f"bayespoint {__version__} report", class_="soft small"),
            tag("h1", f"{found.title} on {found.data}"),
            _summary(found),
            _pictures(found),
            _scores(found),
            _guarantee(found),
            _kernels(found),
            _relevance(found),
            _rows("Most uncertain rows", _UNCERTAIN, found.uncertain, "P(predicted)"),
            _rows("Most suspicious labels", _SUSPICIOUS, found.suspicious, "P(label)"),
            _draws(found),
            _data(found),
        ),
        policy=_POLICY,
    )


_UNCERTAIN = "Where the classes are least clear: a person, or one more measurement, helps most here."
_SUSPICIOUS = "The model finds the label given to these rows improbable: look whether it is wrong."


def _summary(found: Findings) -> Html:
    cards = [figure("rows", f"{found.rows:,}", f"{len(found.columns)} columns, {len(found.classes)} classes")]
    if found.scores is not None:
        cards += [
            figure("error", f"{found.scores.error.value:.1%}", _between(found.scores.error, percent=True)),
            figure("log loss", f"{found.scores.log_loss.value:.3f}", _between(found.scores.log_loss)),
            figure("calibration error", f"{found.scores.calibration_error:.3f}", "0 is perfect"),
        ]
    elif found.unseen is not None:
        cards += [
            figure(
                "error, labels left out", f"{found.unseen.error.value:.1%}", _between(found.unseen.error, percent=True)
            ),
            figure("log loss, labels left out", f"{found.unseen.log_loss.value:.3f}", _between(found.unseen.log_loss)),
        ]
    if found.bound is not None:
        cards.append(figure("error at most", f"{found.bound.value:.1%}", "at 95 % confidence, if these rows are new"))
    return tag("div", *cards, class_="figures")


def _pictures(found: Findings) -> Html:
    try:
        drawn = pictures_of(found)
    except ImportError:
        return tag("p", "No pictures: they need matplotlib (pip install 'bayespoint[plot]').", class_="soft")
    return tag("div", *drawn, class_="pictures") if drawn else Html("")


def _scores(found: Findings) -> Html:
    listed = [("these rows", found.scores), ("training rows, each left out", found.unseen)]
    lines = [_line(name, scores) for name, scores in listed if scores is not None]
    if not lines:
        return Html("")
    head = ["", "rows", "error", "95 %", "log loss", "95 %", "calibration", "most frequent class alone"]
    inner = [table(head, lines, numbers=range(1, 8))]
    if found.rejection:
        rows = [(f"{rate:.0%}", f"{error:.2%}") for rate, error in found.rejection]
        inner += [
            tag("p", "Error of the rows that are kept if the least sure ones are handed to a person:"),
            table(["handed on", "error of the others"], rows, numbers=(0, 1)),
        ]
    return section("Error, log loss, rejection", *inner)


def _line(name: str, scores: Evaluation) -> list[Any]:
    return [
        name,
        f"{scores.rows:,}",
        f"{scores.error.value:.2%}",
        _between(scores.error, percent=True),
        f"{scores.log_loss.value:.4f}",
        _between(scores.log_loss),
        f"{scores.calibration_error:.4f}",
        f"{scores.constant_error:.1%}",
    ]


def _between(one: Interval, *, percent: bool = False) -> str:
    return f"{one.low:.1%} to {one.high:.1%}" if percent else f"{one.low:.3f} to {one.high:.3f}"


def _guarantee(found: Findings) -> Html:
    inner = []
    if found.bound is not None:
        inner.append(
            tag(
                "p",
                f"With probability 95 % the error on new rows is at most {found.bound.value:.2%}, provided that the "
                "rows of this report are independent and were not used to fit or choose the model.",
            )
        )
    if found.certificate:
        inner += [tag("p", "The certificate that was made with the model:"), tag("pre", found.certificate)]
    else:
        inner.append(
            tag("p", "For a bound from training rows alone: ", tag("code", "bayespoint certify"), class_="soft")
        )
    return section("Guarantee", *inner)


def _kernels(found: Findings) -> Html:
    rows = [
        (one["name"] or "kernel", f"{one['weight']:.2f}", _number(one["log_evidence"]), tag("code", one["kernel"]))
        for one in found.model["kernels"]
    ]
    facts = [f"{found.model['training_rows']:,} training rows", f"likelihood {found.model['likelihood']}"]
    if found.model["calibration_power"]:
        facts.append(f"probabilities raised to the power {found.model['calibration_power']:.3g}")
    if found.model["approximation"]:
        facts.append(str(found.model["approximation"]))
    return section(
        "Kernels and evidence",
        table(["name", "weight", "log-evidence", "kernel"], rows, numbers=(1, 2)),
        tag("p", "; ".join(facts), class_="soft small"),
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _relevance(found: Findings) -> Html:
    if not found.relevance:
        return Html("")
    rows = [(one.name, f"{one.share:.1%}") for one in found.relevance[:20]]
    more = len(found.relevance) - len(rows)
    note = tag("p", f"and {more} more", class_="soft small") if more > 0 else ""
    return section("Relevance of columns", table(["column", "share"], rows, numbers=(1,)), note)


def _rows(title: str, about: str, rows: list[RowToSee], measure: str) -> Html:
    if not rows:
        return Html("")
    names = list(rows[0].values)[:_SHOWN]
    lines = [
        [row.row, row.label, row.predicted, f"{row.probability:.3f}", *(_value(row.values[name]) for name in names)]
        for row in rows
    ]
    head = ["row", "label", "predicted", measure, *names]
    return section(title, tag("p", about, class_="soft"), table(head, lines, numbers=(0, 3)))


def _value(value: Any) -> Any:
    if value is None:
        return tag("span", "empty", class_="soft")
    return f"{value:.6g}" if isinstance(value, float) else value


def _draws(found: Findings) -> Html:
    if found.diagnosis is None:
        return Html("")
    poor = found.diagnosis.rhat > 1.05 or found.diagnosis.ess < 100
    said = "The chains have not mixed: take more draws." if poor else "The chains agree."
    rows = [
        ("R-hat, the largest", f"{found.diagnosis.rhat:.3f}"),
        ("effective draws, the fewest", f"{found.diagnosis.ess:.0f}"),
    ]
    return section("Sampler", tag("p", said), table(["", ""], rows, numbers=(1,)))


def _data(found: Findings) -> Html:
    rows = [(one.name, one.type, one.gaps or "", one.values) for one in found.columns]
    inner = [table(["column", "type", "empty", "values"], rows, numbers=(2,))]
    if found.class_counts is not None:
        shares = ", ".join(f"{name} {count:,}" for name, count in zip(found.classes, found.class_counts, strict=True))
        inner.insert(0, tag("p", f"Labels: {shares}."))
    return section("Data", *inner)
