"""Fitted classifiers to a file and back."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from .._core.pipelines import steps_of
from .._core.telling import heard_by, nobody
from ..estimators import Fitted
from ..exceptions import ModelFileError
from .container import Archive, write_archive
from .tree import decoded, encoded

__all__ = ["describe", "load", "save"]

_FORMAT, _VERSION = "bayespoint model", 1
_UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}  # a page of that version to the next one's
_DAMAGE = (  # what parts that do not belong together run into when they meet
    *(ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError),
    *(struct.error, AssertionError, NotImplementedError),
)


def save(model: Any, path: str | Path, *, notes: Mapping[str, Any] | None = None) -> None:
    """Write a fitted classifier to a file that runs no code when it is read.

    The file is written beside its place and moved there when all of it is on disk: whatever happens, there is the old
    file or the new one.

    Parameters
    ----------
    model : BayesPointClassifier, BayesianSVC, GaussianMarginClassifier, RejectingClassifier or Pipeline
        Fitted. Steps of a pipeline may be the common transformers of scikit-learn; functions of your own are refused.
    path : str or Path
        Where to; the ending is up to you.
    notes : dict, optional
        Plain values to keep beside the model, such as the name of the target.

    Raises
    ------
    ModelFileError
        If the model is made of something that files do not know.

    See Also
    --------
    load : The way back.
    bayespoint.files.describe : What is in a file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> import bayespoint
    >>> X, y = load_iris(return_X_y=True)
    >>> model = bayespoint.BayesPointClassifier(optimizer=None).fit(X, y)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "iris.bayespoint"
    >>> bayespoint.save(model, path)
    >>> bool((bayespoint.load(path).predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    if not (isinstance(model, BaseEstimator) and is_classifier(model)):
        raise ModelFileError(f"A model file holds a fitted classifier, got {type(model).__name__}.")
    check_is_fitted(model)
    from .. import __version__

    nodes, arrays = encoded(model)
    page = {
        "format": _FORMAT,
        "version": _VERSION,
        "library": __version__,
        "made with": {"scikit-learn": sklearn.__version__, "numpy": np.__version__},
        "model": type(_innermost(model)).__name__,
        "classes": [_plain(label) for label in np.asarray(model.classes_).tolist()],
        "features": _features(model),
        "notes": {str(key): _plain_note(key, value) for key, value in (notes or {}).items()},
        "nodes": nodes,
    }
    write_archive(path, page, arrays)


def load(path: str | Path) -> Any:
    """Read a classifier from a file of `save`. Nothing in the file is run, whoever wrote it.

    Parameters
    ----------
    path : str or Path
        Where the file is.

    Returns
    -------
    estimator
        Fitted, with the same predictions bit for bit.

    Raises
    ------
    ModelFileError
        If the file is damaged, made of something unknown, or of a later version of the library.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import bayespoint
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "half"
    >>> _ = path.write_bytes(b"PK")
    >>> bayespoint.load(path)
    Traceback (most recent call last):
        ...
    bayespoint.exceptions.ModelFileError: ... cannot be read: it is no model file, or only a part of one.
    """
    with _Naming(path), Archive(path) as archive:
        nodes = _upgraded(archive.page).get("nodes")
        values = decoded(nodes, archive.array)
        model = values[-1]
        if not (isinstance(model, BaseEstimator) and is_classifier(model)):
            raise ModelFileError("what it holds is no classifier")
        if not isinstance(getattr(_innermost(model), "fitted_", None), Fitted):
            raise ModelFileError("the classifier in it is not fitted")
        for fitted in values:
            if isinstance(fitted, Fitted):
                _check_sound(fitted)
    return model


def describe(path: str | Path) -> dict[str, Any]:
    """What a model file says of itself, without the model.

    Parameters
    ----------
    path : str or Path
        Where the file is.

    Returns
    -------
    dict
        "version" of the form, "library" that wrote it, "made with", the class of the "model", its "classes", its
        "features" with their names and types ("number" or "nominal"), and "notes".

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> import bayespoint
    >>> from bayespoint.files import describe
    >>> model = bayespoint.BayesPointClassifier(optimizer=None).fit(*load_iris(return_X_y=True))
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "iris.bayespoint"
    >>> bayespoint.save(model, path, notes={"target": "species"})
    >>> about = describe(path)
    >>> about["model"], about["classes"], about["notes"]
    ('BayesPointClassifier', [0, 1, 2], {'target': 'species'})
    """
    with _Naming(path), Archive(path) as archive:
        page = _upgraded(archive.page)
        told = ("version", "library", "made with", "model", "classes", "features", "notes")
        return {key: page[key] for key in told}


class _Naming:
    """What goes wrong in a file, told with its name, in one sentence."""

    def __init__(self, path: str | Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        if not Path(self.path).exists():
            raise FileNotFoundError(f"There is no model file {str(self.path)!r}.")
        if Path(self.path).is_dir():
            raise IsADirectoryError(f"{str(self.path)!r} is a directory, not a model file.")
        self._quiet = np.errstate(all="ignore")
        self._quiet.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._quiet.__exit__(kind, error, trace)
        if isinstance(error, ModelFileError):
            raise ModelFileError(f"The model file {str(self.path)!r} cannot be read: {error}.") from None
        if isinstance(error, _DAMAGE):
            reason = "its parts do not fit together, or were made with other versions"
            raise ModelFileError(f"The model file {str(self.path)!r} cannot be read: {reason}.") from error


def _upgraded(page: dict[str, Any]) -> dict[str, Any]:
    """The page as this version would have written it."""
    version = page.get("version")
    if page.get("format") != _FORMAT or type(version) is not int or version < 1:
        raise ModelFileError("it is no model file of this library")
    if version > _VERSION:
        raise ModelFileError(
            f"it has version {version}, and this library reads up to version {_VERSION}: it was written by bayespoint "
            f"{str(page.get('library'))[:20]}, install that or a later one"
        )
    while version < _VERSION:
        page, version = _UPGRADES[version](page), version + 1
    return page


def _innermost(model: Any) -> Any:
    """The classifier of this library at the end of pipelines and inside of others."""
    last = steps_of(model)[2]
    for name in ("estimator_", "best_estimator_", "model"):
        if hasattr(last, name):
            return _innermost(getattr(last, name))
    return last


def _check_sound(fitted: Fitted) -> None:
    """A model must be able to say something finite about one of its own training points."""
    with heard_by(nobody), np.errstate(all="ignore"):
        new = fitted.at(fitted.points.X[:1])
        moments = [posterior.at(new).latent for posterior in fitted.posteriors]
    if not all(np.isfinite(np.asarray(one)).all() for pair in moments for one in pair):
        raise ModelFileError("its numbers are not finite")


def _features(model: Any) -> list[dict[str, Any]]:
    """Names and types of the inputs, as far as they are known."""
    names = getattr(model, "feature_names_in_", None)
    count = getattr(model, "n_features_in_", None)
    if names is None and count is None:
        return []
    shown = [f"column {j}" for j in range(int(count or 0))] if names is None else [str(name) for name in names]
    transformers, _, last = steps_of(model)
    table = None if transformers else getattr(getattr(last, "fitted_", None), "table", None)
    nominal = () if table is None else table.nominal
    return [{"name": name, "type": "nominal" if j in nominal else "number"} for j, name in enumerate(shown)]


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | bool | float | None) else str(value)


def _plain_note(key: Any, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain_note(key, one) for one in value]
    if isinstance(value, dict):
        return {str(name): _plain_note(key, one) for name, one in value.items()}
    if value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and np.isfinite(value)):
        return value
    raise ModelFileError(f"Notes are plain values (text, numbers, lists, dicts), and {key!r} holds {value!r}.")
