"""The landscape of the evidence is made of fits."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier
from bayespoint.plots import EvidenceSurfaceDisplay


def test_every_point_is_a_fit(blobs):
    X, y = blobs
    model = BayesPointClassifier("rbf", hyper_prior=None).fit(X, y)
    display = EvidenceSurfaceDisplay.from_estimator(model, X, y, n_points=3, span=4.0)
    assert display.log_evidence[1, 1] == pytest.approx(model.log_evidence_, abs=1e-5)
    for j in range(3):
        for i in range(3):
            kernel = ConstantKernel(display.first[i] ** 2) * RBF(display.second[j])
            other = BayesPointClassifier(kernel, bias=model.bias_, optimizer=None).fit(X, y)
            assert display.log_evidence[j, i] == pytest.approx(other.log_evidence_, abs=1e-3)
    assert display.names == ("amplitude", "length scale")
    np.testing.assert_allclose(display.first, display.fitted[0] * np.array([0.25, 1, 4]))
    assert np.all(display.log_evidence <= model.log_evidence_ + 1e-5)  # it was climbed


def test_the_best_point_is_marked(blobs, plt):
    X, y = blobs
    model = BayesPointClassifier(3.0 * RBF(5.0), optimizer=None).fit(X, y)
    _, ax = plt.subplots()
    display = EvidenceSurfaceDisplay.from_estimator(model, X, y, n_points=7, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    j, i = np.unravel_index(display.log_evidence.argmax(), (7, 7))
    np.testing.assert_allclose(np.ravel(display.maximum_.get_data()), [display.first[i], display.second[j]])
    np.testing.assert_allclose(np.ravel(display.fitted_.get_data()), [np.sqrt(3), 5.0])


def test_names(blobs):
    X, y = blobs
    model = BayesPointClassifier(ConstantKernel() * RBF([1.0, 1.0]), noise="evidence").fit(X, y)
    display = EvidenceSurfaceDisplay.from_estimator(
        model, X, y, parameters=("length scale 1", "noise"), n_points=3, span=1.5
    )
    assert display.fitted == pytest.approx((model.kernel_.k2.length_scale[1], model.likelihood_.noise))
    assert display.log_evidence[1, 1] == pytest.approx(model.log_evidence_, abs=1e-4)
    display = EvidenceSurfaceDisplay.from_estimator(model, X, y, parameters=("bias", 0), n_points=3)
    assert display.fitted == pytest.approx((model.bias_, np.sqrt(model.kernel_.k1.constant_value)))
    with pytest.raises(
        ValueError, match=r"no free parameter 'lengthscale': the model has .'amplitude', 'length scale 0'"
    ):
        EvidenceSurfaceDisplay.from_estimator(model, X, y, parameters=("lengthscale", 0))


def test_pipeline_classes_and_machines(triplets):
    X, y = triplets
    pipeline = make_pipeline(StandardScaler(), BayesPointClassifier(None)).fit(X, y)
    display = EvidenceSurfaceDisplay.from_estimator(pipeline, X, y, n_points=3)
    assert display.log_evidence[1, 1] == pytest.approx(pipeline[-1].log_evidence_, abs=1e-3)
    machine = BayesianSVC(C=2.0).fit(X, y)
    display = EvidenceSurfaceDisplay.from_estimator(machine, X, y, n_points=3)
    assert display.log_evidence[1, 1] == pytest.approx(machine.log_evidence_, abs=1e-3)


def test_what_it_refuses(blobs):
    X, y = blobs
    model = BayesPointClassifier(None).fit(X, y)
    for options, message in (
        ({"parameters": (0, 0)}, "two different ones"),
        ({"parameters": (0, 9)}, "no free parameter 9"),
        ({"n_points": 1}, "n_points must be at least 2"),
        ({"span": 1.0}, "span above 1"),
    ):
        with pytest.raises(ValueError, match=message):
            EvidenceSurfaceDisplay.from_estimator(model, X, y, **options)
    with pytest.raises(ValueError, match="no evidence"):
        EvidenceSurfaceDisplay.from_estimator(GaussianMarginClassifier().fit(X, y), X, y)
