import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import RBF, DotProduct

from bayespoint import BayesPointClassifier, readouts
from bayespoint.engines import Billiard
from bayespoint.exceptions import InvalidProblemError
from bayespoint.grams import DensePoints
from bayespoint.uses import closest_classifier, joint_label_probabilities


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, size=(40, 2))
    return X, np.where(X[:, 0] + 0.5 * X[:, 1] > 0, "up", "down")


@pytest.mark.parametrize("softness", [0.0, 0.5])
def test_joint_probabilities_are_orthants(softness, data, rng):
    X, y = data
    model = BayesPointClassifier(4.0 * RBF(1.0), optimizer=None, softness=softness).fit(X, y)
    new = np.array([[0.1, 0.0], [0.2, 0.1], [-0.3, 0.4]])
    found = joint_label_probabilities(model, new, n_draws=40_000, random_state=0)
    kernel = 4.0 * RBF(1.0)
    cross = kernel(new, X) + 1.0
    posterior = model.posterior_
    points = DensePoints(cross, np.full(3, 5.0), kernel(new) + 1.0)
    _, covariance = posterior.gaussian.jointly_at(points)
    mean = cross @ posterior.alpha
    for labels, p, se in zip(found.labels, found.probability, found.se, strict=True):
        signs = np.where(labels == "up", 1.0, -1.0)
        exact = multivariate_normal(-signs * mean, np.outer(signs, signs) * (covariance + softness * np.eye(3))).cdf(
            np.zeros(3)
        )
        assert abs(p - exact) < 5 * se + 1e-3
    assert found.probability.sum() == pytest.approx(1.0)
    assert np.all(np.diff(found.probability) <= 0)


def test_near_points_go_together(data):
    X, y = data
    model = BayesPointClassifier(4.0 * RBF(1.0), optimizer=None, softness=0.0).fit(X, y)
    p = model.predict_proba([[0.0, 0.0]])[0]
    found = joint_label_probabilities(model, [[0.0, 0.0], [0.001, 0.0]], random_state=0)
    together = sum(q for labels, q in zip(found.labels, found.probability, strict=True) if labels[0] == labels[1])
    assert together > 0.98 > p[0] ** 2 + p[1] ** 2


def test_several_classes_and_too_many_points(rng):
    X = rng.standard_normal((60, 2))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    model = BayesPointClassifier(RBF(1.0), optimizer=None).fit(X, y)
    found = joint_label_probabilities(model, X[:2], random_state=0)
    assert found.labels.shape == (9, 2)
    for point in range(2):
        marginal = [found.probability[found.labels[:, point] == c].sum() for c in range(3)]
        assert np.argmax(marginal) == model.predict(X[point : point + 1])[0]
    with pytest.raises(InvalidProblemError, match="ask for fewer points"):
        joint_label_probabilities(model, X[:9])


def test_the_closest_classifier_by_brute_force(data, rng):
    X, y = data
    model = BayesPointClassifier(
        4.0 * RBF(1.0), optimizer=None, softness=0.0, engine=Billiard(draws=300, chains=2), random_state=0
    ).fit(X, y)
    sample = rng.uniform(-2, 2, size=(300, 2))
    found = closest_classifier(model, sample)
    cross = 4.0 * RBF(1.0)(sample, X) + 1.0
    outputs = model.posterior_.at(DensePoints(cross, np.full(300, 5.0))).outputs
    signs = outputs.reshape(-1, 300) > 0
    p = readouts.vote(model.posterior_, DensePoints(cross, np.full(300, 5.0)))
    printed = np.mean(np.where(signs, 1 - p, p), axis=1)  # E_X E_H [h(X) != H(X)] of each draw
    assert found.disagreement <= printed.min() + 1e-12
    assert found.disagreement_of_the_vote <= found.disagreement <= found.disagreement_of_the_mean
    up = found.predict(sample) == "up"
    assert np.mean(np.where(up, 1 - p, p)) == pytest.approx(found.disagreement, abs=1e-9)
    assert np.mean(np.minimum(p, 1 - p)) == pytest.approx(found.disagreement_of_the_vote)
    with pytest.raises(InvalidProblemError, match="engine='sample'"):
        closest_classifier(BayesPointClassifier(None, optimizer=None).fit(X, y), sample)


def test_the_bayes_point_of_definition_9_in_the_plane(rng):
    """Classifiers are angles: all of them can be tried. Inputs lie in two clusters: the mean is not best."""
    X = np.array([[1.0, 0.3], [-0.2, 1.0], [1.0, -0.6]])
    model = BayesPointClassifier(
        DotProduct(0.0, "fixed"),
        optimizer=None,
        softness=0.0,
        bias=0.0,
        engine=Billiard(draws=50, chains=1),
        random_state=0,
    ).fit(np.vstack([X, -X]), np.r_[np.ones(3), -np.ones(3)])
    sample = np.vstack([rng.normal([1.0, -1.7], 0.1, (200, 2)), rng.normal([-1.0, 0.3], 0.2, (200, 2))])
    found = closest_classifier(model, sample)
    gram = DotProduct(0.0)
    p = readouts.vote(model.posterior_, DensePoints(gram(sample, np.vstack([X, -X])), gram.diag(sample)))
    angles = np.linspace(0, 2 * np.pi, 20_001)
    up = sample @ np.array([np.cos(angles), np.sin(angles)]) > 0
    every = np.mean(np.where(up, 1 - p[:, None], p[:, None]), axis=0)
    assert found.disagreement == pytest.approx(every.min(), abs=2 / 400)
    assert found.disagreement_of_the_mean > every.min() - 1e-9
