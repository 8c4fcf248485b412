import json

import numpy as np
import pytest

from catalogue import HERE
from sollich2002 import toy


def test_the_set_of_the_figures_is_the_one_of_the_record():
    shown = json.loads((HERE / "results" / "sollich2002_figure4.json").read_text(encoding="utf-8"))["details"]
    data = toy.clean_set()
    assert data.x.tolist() == pytest.approx(shown["x"])
    assert data.y.tolist() == shown["y"]


@pytest.mark.parametrize(("name", "wrong"), [("clean", 0), ("corrupt", 1)])
def test_as_many_labels_look_wrong_as_the_paper_has_it(name, wrong):
    data = toy.kept(name)
    assert np.sum(data.margins < 0) == wrong
    assert len(data.x) == len(data.y) == 50
    assert data.target.shape == toy.GRID.shape
