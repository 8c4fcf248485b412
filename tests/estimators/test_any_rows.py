"""Rows in every container, of every scale and shape: the right answer or one sentence. `make soak` sees many more."""

import numpy as np
import pytest
from hostile_rows import DENSE, MODELS, SPARSE, TABLES, container, judged, rows
from hypothesis import HealthCheck, given, settings
from sklearn.base import clone

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(MODELS.filter(lambda model: getattr(model, "tune", None) is None), rows(most=12, widest=200))
def test_the_right_answer_or_one_sentence(model, case):
    assert judged(model, clone(model), case) in ("fitted", "refused")


FIXED = [BayesPointClassifier("rbf", optimizer=None), BayesianSVC(), GaussianMarginClassifier()]


@pytest.mark.parametrize("name", [*DENSE, *SPARSE, *TABLES])
@pytest.mark.parametrize("model", FIXED, ids=lambda model: type(model).__name__)
def test_the_container_of_rows_does_not_show(model, name, blobs):
    if name in TABLES:
        pytest.importorskip("pyarrow" if name == "arrow" else name)
    X, y = blobs
    form, plain = container(name, X)
    assert judged(clone(model), clone(model), (form, plain, y, None, False)) == "fitted"


def test_a_container_that_holds_other_rows_shows(blobs):
    X, y = blobs
    with pytest.raises(AssertionError):
        judged(BayesianSVC(), BayesianSVC(), (X.tolist(), X[::-1], y, None, False))


@pytest.mark.parametrize("name", ["plain", "csr_array", "coo_matrix", "pandas"])
def test_rows_that_are_all_the_same_are_refused(name):
    with pytest.raises(ValueError, match="All features are constant"):
        BayesianSVC().fit(container(name, np.tile([1.0, 0.0, 3.0], (4, 1)))[0], [0, 1, 0, 1])


def test_a_row_of_the_grid_that_cannot_be_solved_is_given_up(monkeypatch, rng):
    """Rows of size 1e30 on one landmark: no machine of any price is solved, each takes all its iterations."""
    from bayespoint.estimators import _margin

    solved = []
    infer = _margin.infer_posteriors
    monkeypatch.setattr(_margin, "infer_posteriors", lambda *args, **kw: solved.append(1) or infer(*args, **kw))
    model = GaussianMarginClassifier(tune={"eta": [0.9], "C": list(np.logspace(-3, 2, 11))}, max_rank=1, random_state=0)
    with pytest.warns(UserWarning, match="relative gap"):
        model.fit(1e30 * rng.normal(size=(6, 40)), np.arange(6) % 2)
    assert len(solved) < 6
    solved.clear()
    model.fit(rng.normal(size=(6, 40)), np.arange(6) % 2)
    assert len(solved) == 12  # the grid, and the best of it to the last digit
