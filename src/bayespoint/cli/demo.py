"""``bayespoint demo``: the default classifier on an embedded data set beside a calibrated support vector machine."""

from __future__ import annotations

import time
from pathlib import Path

import click
import numpy as np
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from .._core.typing import Array
from ..estimators import BayesPointClassifier

__all__ = ["demo", "run"]

_FEATURES = ["mean radius", "mean texture"]


@click.command(epilog="Example: bayespoint demo --picture demo.png")
@click.option("--picture", default="bayespoint-demo.png", show_default=True, help="Where to save the picture.")
def demo(picture: str) -> int:
    """Fit on a data set that comes along, print the figures, save a picture."""
    return run(picture)


def run(picture: str | Path) -> int:
    """Fit, print the figures, save the picture in the format of its ending; return the exit status."""
    data = load_breast_cancer()  # arrays: pandas is no dependency
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, data.target, train_size=0.5, random_state=0, stratify=data.target
    )
    rows, features = X_train.shape
    print(f"Breast cancer (scikit-learn): {rows} training rows, {len(X_test)} test rows, {features} features\n")
    models = {
        "BayesPointClassifier()": BayesPointClassifier(),
        "CalibratedClassifierCV(SVC())": make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC())),
    }
    print(f"{'':32s}{'error':>8s}{'log loss':>10s}{'seconds':>9s}   predicted -> observed share of benign, by fifths")
    probabilities = {}
    for label, model in models.items():
        start = time.perf_counter()
        p = probabilities[label] = model.fit(X_train, y_train).predict_proba(X_test)[:, 1]
        seconds = time.perf_counter() - start
        error = np.mean((p > 0.5) != y_test)
        print(f"{label:32s}{error:8.1%}{log_loss(y_test, p):10.4f}{seconds:9.2f}   {_calibration_line(y_test, p)}")
    classifier = models["BayesPointClassifier()"]
    leave_one_out = classifier.loo_proba_[np.arange(len(y_train)), y_train]
    shares = ", ".join(f"{share:.2f} {name}" for name, share in classifier.weights_.items())
    print(f"\nkernels, by labels left out      {shares}")
    print(f"log-evidence of the heaviest     {classifier.log_evidence_:.2f}")
    print(f"leave-one-out log loss           {-np.mean(np.log(leave_one_out)):.4f} (training rows alone, no refit)")
    columns = [list(data.feature_names).index(name) for name in _FEATURES]
    _save(picture, y_test, probabilities, X_train[:, columns], y_train)
    return 0


def _calibration_line(y: Array, p: Array) -> str:
    observed, predicted = calibration_curve(y, p, n_bins=5, strategy="quantile")
    return "  ".join(f"{a:.2f}->{b:.2f}" for a, b in zip(predicted, observed, strict=True))


def _save(picture: str | Path, y_test: Array, probabilities: dict[str, Array], X: Array, y: Array) -> None:
    try:
        import matplotlib as mpl
    except ImportError:
        print("\nNo picture: matplotlib is missing (pip install 'bayespoint[plot]').")
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from sklearn.calibration import CalibrationDisplay
    from sklearn.inspection import DecisionBoundaryDisplay

    figure = Figure(figsize=(11, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for label, p in probabilities.items():
        CalibrationDisplay.from_predictions(y_test, p, n_bins=5, strategy="quantile", name=label, ax=left)
    left.set_title("Calibration on test rows")
    left.set_xlabel("mean predicted probability of benign")
    left.set_ylabel("observed share of benign")

    model = make_pipeline(StandardScaler(), BayesPointClassifier()).fit(X, y)
    shared = {"response_method": "predict_proba", "ax": right, "grid_resolution": 150}
    surface = DecisionBoundaryDisplay.from_estimator(model, X, **shared, levels=np.linspace(0, 1, 11), cmap="RdBu")
    DecisionBoundaryDisplay.from_estimator(
        model, X, **shared, plot_method="contour", levels=[0.1, 0.5, 0.9], colors="k"
    )
    figure.colorbar(surface.surface_, ax=right, label="P(benign)")
    colours = mpl.colormaps["RdBu"]
    for value, name, colour in ((0, "malignant", colours(0.05)), (1, "benign", colours(0.95))):
        right.scatter(*X[y == value].T, s=16, color=colour, edgecolor="white", linewidth=0.5, label=name)
    right.set_title("Two features: P(benign), lines at 0.1, 0.5, 0.9")
    right.set_xlabel(_FEATURES[0])
    right.set_ylabel(_FEATURES[1])
    right.legend(loc="upper right")
    figure.savefig(picture, dpi=120)
    print(f"\nsaved {picture}")
