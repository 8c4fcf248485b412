"""Benchmark data for experiments, benchmarks and tests; none of it ships with the package.

Looked for in the directory named by BAYESPOINT_DATA, then in ``../shared/data`` beside the repository (one
``name.npz`` each with ``X``, ``y`` in {-1, +1} and, where a set has customary splits, ``train_idx`` and ``test_idx``),
then on OpenML.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

_OPENML = {  # name there, and the label that counts as +1
    "banana": ("banana", "2"),
    "breast-cancer": ("breast-cancer", "recurrence-events"),
    "diabetis": ("diabetes", "tested_positive"),
    "heart": ("heart-statlog", "present"),
    "ionosphere": ("ionosphere", "g"),
    "sonar": ("sonar", "Mine"),
}
_TRAIN_SIZE = {"sonar": 124, "ionosphere": 210, "crabs": 80, "pima-ripley": 200}


class DataNotFoundError(FileNotFoundError):
    """The set is in none of the places looked at."""


class Split(NamedTuple):
    """One division into training and test rows."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def directory() -> Path | None:
    """Where data files are, or None."""
    places = [os.environ.get("BAYESPOINT_DATA"), Path(__file__).resolve().parents[2] / "shared" / "data"]
    return next((Path(place) for place in places if place and Path(place).is_dir()), None)


def load_arrays(name: str) -> dict[str, np.ndarray]:
    """All arrays of a set."""
    here = directory()
    if here is not None and (here / f"{name}.npz").is_file():
        with np.load(here / f"{name}.npz") as archive:
            return {key: archive[key] for key in archive.files}
    if name not in _OPENML:
        raise DataNotFoundError(
            f"No data set {name!r}: put {name}.npz into a directory and name it in BAYESPOINT_DATA."
        )
    from sklearn.datasets import fetch_openml

    remote, positive = _OPENML[name]
    bunch = fetch_openml(remote, version=1, as_frame=True)
    X = np.column_stack(
        [column.cat.codes if column.dtype == "category" else column for _, column in bunch.data.items()]
    )
    return {"X": X.astype(float), "y": np.where(bunch.target.astype(str) == positive, 1, -1)}


def generate(name: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows of Breiman's artificial problems: waveform (first class against the others), ringnorm and twonorm."""
    if name == "waveform":
        hats = [np.maximum(6 - np.abs(np.arange(1, 22) - centre), 0) for centre in (11, 15, 7)]
        first, second = np.array([hats[0], hats[0], hats[1]]), np.array([hats[1], hats[2], hats[2]])
        which, share = rng.integers(0, 3, n), rng.random((n, 1))
        X = share * first[which] + (1 - share) * second[which] + rng.normal(size=(n, 21))
        return X, np.where(which == 0, 1, -1)
    y = rng.choice([-1, 1], n)
    noise, shift = rng.normal(size=(n, 20)), 2 / np.sqrt(20)
    if name == "ringnorm":
        return np.where(y[:, None] > 0, 2 * noise, noise + shift), y
    if name == "twonorm":
        return noise + shift * y[:, None], y
    raise DataNotFoundError(f"No artificial problem {name!r}: there are waveform, ringnorm and twonorm.")


def digits(name: str, pair: tuple[int, int]) -> Split:
    """Two digits of usps or mnist, the first as +1, with pixel values divided by the largest possible one."""
    arrays = load_arrays(name)
    parts = []
    for part in ("train", "test"):
        rows = np.isin(arrays[f"y_{part}"], pair)
        X = arrays[f"X_{part}"][rows].astype(float) / (255 if name == "mnist" else 1)
        parts += [X, np.where(arrays[f"y_{part}"][rows] == pair[0], 1, -1)]
    return Split(*parts)


def splits(name: str, count: int) -> list[Split]:
    """The first `count` customary splits of a binary set; random ones of the customary size beyond those."""
    arrays = load_arrays(name)
    X, y = arrays["X"].astype(float), arrays["y"]
    X = X[:, X.min(axis=0) < X.max(axis=0)]  # ionosphere has a constant column
    given = list(zip(arrays.get("train_idx", ()), arrays.get("test_idx", ()), strict=True))
    size = len(given[0][0]) if given else _TRAIN_SIZE.get(name, int(0.6 * len(y)))
    for k in range(len(given), count):
        order = np.random.default_rng([20010101, k]).permutation(len(y))
        given.append((order[:size], order[size:]))  # shuffled: some sets are sorted, which spoils folds
    return [Split(X[train], y[train], X[test], y[test]) for train, test in given[:count]]
