"""Makes the file of the first version that later libraries must read: ``python tests/files/golden.py``.

It is made anew only before a version is released; from then on `bayespoint.files` brings old files up to date.
"""

from pathlib import Path

import numpy as np

import bayespoint
from bayespoint.uses.tables import Frame

PATH = Path(__file__).parent / "version-1.bayespoint"


def rows():
    word = np.array(["a", "b", None, "a", "b", "a", "b", "a"], dtype=object)
    return Frame({"x": np.array([-2.0, -1.5, -1.0, -0.5, 0.5, np.nan, 1.5, 2.0]), "word": word})


def fitted():
    labels = np.array(["no", "no", "no", "yes", "no", "yes", "yes", "yes"])
    return bayespoint.BayesPointClassifier(None, optimizer=None).fit(rows(), labels)


if __name__ == "__main__":
    bayespoint.save(fitted(), PATH, notes={"target": "y"})
