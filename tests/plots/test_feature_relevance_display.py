"""Shares of columns."""

import numpy as np

from bayespoint import BayesPointClassifier
from bayespoint.plots import FeatureRelevanceDisplay


def test_feature_relevance(plt, rng):
    X = rng.normal(size=(40, 4))
    model = BayesPointClassifier(None).fit(X, X[:, 2] > 0)
    display = FeatureRelevanceDisplay.from_estimator(model, top=3)
    table = model.get_feature_relevance()[:3]
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels == [row.name for row in reversed(table)]
    widths = [bar.get_width() for bar in display.ax_.containers[0]]
    np.testing.assert_allclose(widths, [row.share for row in reversed(table)])
    _, ax = plt.subplots()
    assert FeatureRelevanceDisplay(table).plot(ax=ax).figure_ is ax.figure
