"""Pools to label: rows of a table, texts or images, as people see them and as a classifier takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from .._core.typing import Array
from ..estimators import BayesPointClassifier
from ..exceptions import InvalidProblemError
from .tables import Frame

__all__ = ["IMAGES", "Pool", "image_path", "pool_of", "texts_of"]

IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}
_SIDE = 16  # of the small grey pictures that images are compared by


class Pool(NamedTuple):
    """Rows as a classifier takes them, what is shown of them, and labels that were there before."""

    rows: Any
    shown: Frame
    known: dict[int, str]
    text: str | None
    image: str | None

    def classifier(self, seed: int = 0) -> Any:
        """An unfitted classifier for these rows: quick, for it is fitted after every answer."""
        if self.text is not None:
            return make_pipeline(TfidfVectorizer(), BayesPointClassifier("linear", random_state=seed))
        return BayesPointClassifier(None, random_state=seed)


def pool_of(frame: Frame, *, target: str | None, text: str | None, image: str | None, home: Path) -> Pool:
    """A pool from a table; a column of labels may be filled in part, one of texts or images is what is learned from."""
    known: dict[int, str] = {}
    if target is not None and target in frame.columns:
        known = {i: str(label) for i, label in enumerate(frame.data[target]) if label is not None and label == label}
        frame = frame.without([target])
    if text is not None:
        return Pool(texts_of(frame, text), frame, known, text, image)
    if image is None:
        return Pool(frame.typed(), frame, known, None, None)
    paths = [image_path(frame, image, home, i) for i in range(len(frame))]
    rest = frame.without([image])
    rows = rest.typed() if rest.columns else np.stack([_small(path) for path in paths])
    return Pool(rows, frame, known, None, image)


def texts_of(frame: Frame, column: str) -> list[str]:
    """A column of texts; a gap is an empty one."""
    return ["" if value is None else str(value) for value in frame.need(column)]


def image_path(frame: Frame, column: str, home: Path, row: int) -> Path:
    """The file of a row's image: beside the pool or below, nowhere else."""
    name = frame.need(column)[row]
    path = (home / str(name)).resolve()
    if path.suffix.lower() not in IMAGES or not path.is_relative_to(home.resolve()):
        raise InvalidProblemError(
            f"Row {row + 1} names the image {str(name)!r}: images are {', '.join(IMAGES)} files beside the pool or "
            "below."
        )
    if not path.is_file():
        raise InvalidProblemError(f"Row {row + 1} names the image {str(name)!r}, which is not there.")
    return path


def _small(path: Path) -> Array:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise InvalidProblemError("To learn from images takes pillow: pip install 'bayespoint[label]'.") from None
    try:
        with Image.open(path) as picture:
            return np.asarray(picture.convert("L").resize((_SIDE, _SIDE)), dtype=np.float64).ravel() / 255
    except (UnidentifiedImageError, OSError):
        raise InvalidProblemError(f"{str(path)!r} is no image, or only a part of one.") from None
