"""Benchmark data for experiments, benchmarks and tests; none of it ships with the package.

Looked for in ``../shared/data`` beside the repository, then in the directory named by BAYESPOINT_DATA (one ``name.npz``
each: ``X``, ``y`` in {-1, +1} and, where a set has customary splits, ``train_idx`` and ``test_idx``; digits have
``X_train``, ``y_train``, ``X_test``, ``y_test``), then on OpenML.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

OPENML = {  # name and version there, the labels that count as +1, and whether columns are to be standardised
    "banana": ("banana", 1, ("2",), True),
    "breast-cancer": ("breast-cancer", 1, ("recurrence-events",), True),
    "diabetis": ("diabetes", 1, ("tested_positive",), True),
    "heart": ("heart-statlog", 1, ("present",), True),
    "ionosphere": ("ionosphere", 1, ("g",), False),
    "sonar": ("sonar", 1, ("Mine",), False),
    "thyroid": ("thyroid-new", 1, ("2", "3"), True),
}
OPENML_DIGITS = {"mnist": ("mnist_784", 1, 60_000, 0), "usps": ("USPS", 2, 7291, 1)}  # rows to train on, label of a 0
GENERATED = {"waveform": 5000}
_TRAIN_SIZE = {
    "sonar": 124,
    "ionosphere": 210,
    "crabs": 80,
    "pima-ripley": 200,
    "banana": 400,
    "waveform": 400,
    "breast-cancer": 200,
    "diabetis": 468,
    "heart": 170,
    "thyroid": 140,
}


class DataNotFoundError(FileNotFoundError):
    """The set is in none of the places looked at."""


class Split(NamedTuple):
    """One division into training and test rows."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def directories() -> list[Path]:
    """Where data files may be, in the order of looking."""
    neighbour, named = Path(__file__).resolve().parents[2] / "shared" / "data", os.environ.get("BAYESPOINT_DATA")
    if named and not Path(named).is_dir():
        raise DataNotFoundError(f"BAYESPOINT_DATA is {named!r}, and there is no such directory.")
    return [Path(place) for place in (neighbour, named) if place and Path(place).is_dir()]


def at_hand(*names: str) -> bool:
    """Are all these sets here, or made on the spot?"""
    here = directories()
    return all(name in GENERATED or any((place / f"{name}.npz").is_file() for place in here) for name in names)


def load_arrays(name: str) -> dict[str, np.ndarray]:
    """All arrays of a set."""
    for place in directories():
        if (place / f"{name}.npz").is_file():
            with np.load(place / f"{name}.npz") as archive:
                return {key: archive[key] for key in archive.files}
    if name in GENERATED:
        X, y = generate(name, GENERATED[name], np.random.default_rng(20010101))
        return {"X": (X - X.mean(axis=0)) / X.std(axis=0), "y": y}
    if name in OPENML or name in OPENML_DIGITS:
        return from_openml(name)
    raise DataNotFoundError(f"No data set {name!r}: put {name}.npz into a directory and name it in BAYESPOINT_DATA.")


def from_openml(name: str) -> dict[str, np.ndarray]:
    """The set as OpenML has it, in our form."""
    from sklearn.datasets import fetch_openml

    remote, version = (OPENML_DIGITS.get(name) or OPENML[name])[:2]
    try:
        bunch = fetch_openml(remote, version=version, as_frame=True)
    except OSError as error:
        raise DataNotFoundError(
            f"No data set {name!r} here, and OpenML does not answer: put {name}.npz into a directory and name it in "
            "BAYESPOINT_DATA."
        ) from error
    return digits_of(name, bunch) if name in OPENML_DIGITS else two_classes_of(name, bunch)


def two_classes_of(name: str, bunch: Any) -> dict[str, np.ndarray]:
    _, _, positive, standardised = OPENML[name]
    data = bunch.data.dropna()  # breast-cancer has rows with missing values
    columns = [column.cat.codes if column.dtype == "category" else column for _, column in data.items()]
    X = np.column_stack(columns).astype(float)
    if standardised:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return {"X": X, "y": np.where(bunch.target[data.index].astype(str).isin(positive), 1, -1)}


def digits_of(name: str, bunch: Any) -> dict[str, np.ndarray]:
    _, _, train, zero = OPENML_DIGITS[name]
    X, y = bunch.data.to_numpy(), bunch.target.astype(int).to_numpy() - zero
    return {"X_train": X[:train], "y_train": y[:train], "X_test": X[train:], "y_test": y[train:]}


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


def random_split(name: str, share: float, index: int) -> Split:
    """A division of a binary set at random, `share` of it for training; constant columns are left out."""
    X, y = varying(name)
    order = np.random.default_rng([20010101, index]).permutation(len(y))
    train, test = order[: round(share * len(y))], order[round(share * len(y)) :]
    return Split(X[train], y[train], X[test], y[test])


def varying(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels of a binary set without constant columns (ionosphere has one)."""
    arrays = load_arrays(name)
    X = arrays["X"].astype(float)
    return X[:, X.min(axis=0) < X.max(axis=0)], arrays["y"]


def splits(name: str, count: int) -> list[Split]:
    """The first `count` customary splits of a binary set; random ones of the customary size beyond those."""
    arrays = load_arrays(name)
    X, y = varying(name)
    given = list(zip(arrays.get("train_idx", ()), arrays.get("test_idx", ()), strict=True))
    size = len(given[0][0]) if given else _TRAIN_SIZE.get(name, int(0.6 * len(y)))
    for k in range(len(given), count):
        order = np.random.default_rng([20010101, k]).permutation(len(y))
        given.append((order[:size], order[size:]))  # shuffled: some sets are sorted, which spoils folds
    return [Split(X[train], y[train], X[test], y[test]) for train, test in given[:count]]
