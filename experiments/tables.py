"""Small tables as people have them: 16 with text, numbers and gaps, and the ten numeric sets of `datasets`.

A table is a file ``tables/name.csv`` in one of the directories of `datasets`: a header line, the class in the column
``target``, an empty field where a value is missing. Every other set is chosen by, the rest only reported: whoever sets
something by these figures looks at the first half alone.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

import datasets
from datasets import DataNotFoundError

CHOOSING = (  # every second name of the sorted list, from the first
    "banana",
    "car",
    "diabetis",
    "heart",
    "horse-colic",
    "ilpd",
    "mushroom",
    "online-shoppers",
    "pima-ripley",
    "soybean",
    "thyroid",
    "transfusion",
    "waveform",
)
REPORTING = (  # and the others
    "breast-cancer",
    "crabs",
    "eucalyptus",
    "hepatitis",
    "house-votes-84",
    "ionosphere",
    "oil-spill",
    "penguins",
    "sonar",
    "telco-churn",
    "tic-tac-toe",
    "vehicle",
    "yeast",
)
NUMERIC = (
    "banana",
    "breast-cancer",
    "crabs",
    "diabetis",
    "heart",
    "ionosphere",
    "pima-ripley",
    "sonar",
    "thyroid",
    "waveform",
)
MOST_TRAINED, SHARE_TRAINED, MOST_TESTED = 1000, 0.7, 3000
SEED = 20010101


class Division(NamedTuple):
    """One division of a table into rows to learn from and rows to be tested on."""

    X_train: pd.DataFrame
    y_train: np.ndarray
    X_test: pd.DataFrame
    y_test: np.ndarray


def place_of(name: str) -> Path | None:
    """The file of a table, if there is one."""
    files = (place / "tables" / f"{name}.csv" for place in datasets.directories())
    return next((file for file in files if file.is_file()), None)


def at_hand(*names: str) -> bool:
    """Are all these sets here, tables or not?"""
    return all(place_of(name) is not None or datasets.at_hand(name) for name in names)


@lru_cache(maxsize=2)
def read(file: Path) -> tuple[pd.DataFrame, np.ndarray]:
    table = pd.read_csv(file)
    return table.drop(columns="target"), table["target"].to_numpy(dtype=str)


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns and labels of a table."""
    file = place_of(name)
    if file is None:
        raise DataNotFoundError(
            f"No table {name!r}: put {name}.csv into the folder tables of a directory and name that in BAYESPOINT_DATA."
        )
    return read(file)


def division(name: str, index: int) -> Division:
    """Division number `index`: the customary one of a numeric set, else a stratified one of at most 1,000 rows."""
    if name in NUMERIC:
        one = datasets.splits(name, index + 1)[index]
        return Division(framed(one.X_train), one.y_train, framed(one.X_test), one.y_test)
    X, y = load(name)
    train = min(MOST_TRAINED, int(SHARE_TRAINED * len(y)))
    test = min(MOST_TESTED, len(y) - train)
    rows, others = train_test_split(
        np.arange(len(y)), train_size=train, test_size=test, stratify=y, random_state=SEED + index
    )
    return Division(X.iloc[rows], y[rows], X.iloc[others], y[others])


def framed(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])


def nominal(X: pd.DataFrame) -> list[str]:
    """Names of the columns that hold no numbers."""
    return list(X.select_dtypes(exclude="number").columns)
