"""Weights and their confidences."""

import numpy as np
from sklearn.datasets import load_breast_cancer

from bayespoint import GaussianMarginClassifier
from bayespoint.plots import FeatureConfidenceDisplay


def test_feature_confidences(plt):
    data = load_breast_cancer()
    model = GaussianMarginClassifier().fit(data.data / data.data.max(axis=0), data.target)
    display = FeatureConfidenceDisplay.from_estimator(model, top=8, feature_names=data.feature_names)
    table = model.feature_confidences(data.feature_names)[:8]
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels == [row.name for row in reversed(table)]
    bars = display.ax_.containers[0]
    np.testing.assert_allclose(np.array(bars.lines[0].get_xdata(), float), [row.mean for row in reversed(table)])
    segments = [np.array(segment, float) for segment in bars.lines[2][0].get_segments()]
    half = [np.ptp(segment[:, 0]) / 2 for segment in segments]
    np.testing.assert_allclose(half, [2 * row.sd for row in reversed(table)])
    _, ax = plt.subplots()
    assert FeatureConfidenceDisplay(table).plot(ax=ax).figure_ is ax.figure
