"""Processes of joblib that are killed: an error that says so, no half-fitted classifier, and the next fit is fine."""

import fatal
import joblib
import numpy as np
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError
from sklearn.datasets import load_iris

from bayespoint import BayesPointClassifier

pytestmark = pytest.mark.slow  # processes that import everything


def test_a_killed_worker_is_told_and_the_next_fit_is_fine(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = BayesPointClassifier("rbf", engine=fatal.FatalEngine(str(tmp_path / "died")), optimizer=None)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        with pytest.raises(TerminatedWorkerError, match="was unexpectedly terminated"):
            model.fit(X, y)
        assert (tmp_path / "died").exists()
        assert not hasattr(model, "classes_")
        there = model.fit(X, y)
    here = BayesPointClassifier("rbf", optimizer=None).fit(X, y)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-8)
