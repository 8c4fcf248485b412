"""Pictures of displays as text that goes into a page."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any

from ...plots import FeatureRelevanceDisplay, RejectionCurveDisplay, ReliabilityDisplay
from ...uses.report import Findings
from .html import Html, tag

__all__ = ["pictures_of"]


def pictures_of(found: Findings) -> list[Html]:
    """Reliability, rejection and relevance, as far as there are any; none without matplotlib."""
    drawn: list[tuple[str, Callable[[Any], Any]]] = []
    if found.truth is not None and found.proba is not None:
        truth, proba, labels = found.truth, found.proba, found.labels
        predicted, confidence = labels[proba.argmax(axis=1)], proba.max(axis=1)
        bins = max(4, min(10, len(truth) // 20))
        drawn += [
            (
                "Reliability: predicted probabilities against what came true",
                lambda ax: ReliabilityDisplay.from_predictions(truth, proba, classes=labels, n_bins=bins, ax=ax),
            ),
            (
                "Rejection: error of the rows kept when the least sure ones are not",
                lambda ax: RejectionCurveDisplay.from_predictions(truth, predicted, confidence, ax=ax),
            ),
        ]
    if found.relevance:
        shown = found.relevance[:12]
        drawn.append(("Relevance of the columns", lambda ax: FeatureRelevanceDisplay(shown).plot(ax=ax)))
    return [tag("figure", _image(draw, caption), tag("figcaption", caption)) for caption, draw in drawn]


def _image(draw: Callable[[Any], Any], caption: str) -> Html:
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    picture, raw = Figure(figsize=(5.0, 4.0), layout="constrained"), io.BytesIO()
    FigureCanvasSVG(picture)
    with rc_context({"text.parse_math": False, "svg.hashsalt": "bayespoint"}):  # names with dollar signs are names
        draw(picture.subplots())
        picture.savefig(raw, format="svg", metadata={"Date": None})
    source = "data:image/svg+xml;base64," + base64.b64encode(raw.getvalue()).decode()
    return Html(f'<img alt="{caption}" src="{source}">')
