import itertools

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesianSVC, BayesPointClassifier, find_label_errors, readouts
from bayespoint.engines import Billiard
from bayespoint.exceptions import InvalidProblemError


def toy_gram(seed=0, n=3):
    A = np.random.default_rng(seed).normal(size=(n, n))
    gram = A @ A.T
    scale = np.sqrt(np.diag(gram))
    return gram / np.multiply.outer(scale, scale)


def enumerate_flips(gram, y, noise, softness):
    """P(flipped) of each of three labels by summing over all sides; Gaussian orthants of three are in closed form."""
    covariance = gram + softness * np.eye(3)
    scale = np.sqrt(np.diag(covariance))
    angles = np.arcsin((covariance / np.multiply.outer(scale, scale))[[0, 0, 1], [1, 2, 2]])
    total, flipped = 0.0, np.zeros(3)
    for sides in map(np.array, itertools.product([-1, 1], repeat=3)):
        orthant = 1 / 8 + (angles * sides[[0, 0, 1]] * sides[[1, 2, 2]]).sum() / (4 * np.pi)
        wrong = sides != y
        weight = orthant * noise ** wrong.sum() * (1 - noise) ** (~wrong).sum()
        total, flipped = total + weight, flipped + weight * wrong
    return flipped / total


def by_row(errors):
    """Probabilities in the order of the rows."""
    values = np.full(errors.n_rows, np.nan)
    values[errors.rows] = errors.probability
    return values


def precomputed(gram, y, **settings):
    return BayesPointClassifier("precomputed", bias=0.0, optimizer=None, random_state=0, **settings).fit(gram, y)


@pytest.fixture
def two_blobs():
    rng = np.random.default_rng(0)
    X = 0.6 * rng.normal(size=(60, 2)) + np.repeat([[-2.0, 0.0], [2.0, 0.0]], 30, axis=0)
    y = np.repeat(["cat", "dog"], 30)
    wrong = np.array([3, 17, 40])
    y[wrong] = np.where(y[wrong] == "cat", "dog", "cat")
    return X, y, wrong


@pytest.mark.parametrize("softness", [0.0, 0.5])
@pytest.mark.parametrize("noise", [0.05, 0.3])
class TestAgainstEnumeration:
    y = np.array([1, -1, 1])

    def test_expectation_propagation(self, noise, softness):
        gram = toy_gram()
        exact = enumerate_flips(gram, self.y, noise, softness)
        errors = find_label_errors(precomputed(gram, self.y, noise=noise, softness=softness))
        assert errors.se is None
        np.testing.assert_allclose(by_row(errors), exact, atol=0.02)
        assert np.array_equal(errors.rows, np.argsort(-by_row(errors)))

    def test_draws(self, noise, softness):
        gram = toy_gram()
        exact = enumerate_flips(gram, self.y, noise, softness)
        model = precomputed(gram, self.y, noise=noise, softness=softness, engine=Billiard(draws=2000))
        errors = find_label_errors(model)
        assert np.all(errors.se < 0.02)
        assert np.all(np.abs(errors.probability - exact[errors.rows]) < 5 * errors.se)

    def test_the_wrong_noise_is_noticed(self, noise, softness):
        exact = enumerate_flips(toy_gram(), self.y, noise, softness)
        errors = find_label_errors(precomputed(toy_gram(), self.y, noise=noise + 0.1, softness=softness))
        assert np.max(np.abs(by_row(errors) - exact)) > 0.02


def test_without_softness_it_is_the_flip_probability():
    model = precomputed(toy_gram(1, 6), np.array([1, 1, -1, 1, -1, -1]), noise=0.1, softness=0.0)
    expected = readouts.flip_probability(model.posterior_)
    np.testing.assert_allclose(by_row(find_label_errors(model)), expected, rtol=1e-9)


def test_it_follows_from_the_leave_one_out_probability():
    q, y = 0.1, np.array([1, 1, -1, 1, -1, -1])
    model = precomputed(toy_gram(1, 6), y, noise=q, softness=0.7)
    label = model.loo_proba_[np.arange(6), (y > 0).astype(int)]  # q + (1 - 2 q) side
    side = (label - q) / (1 - 2 * q)
    np.testing.assert_allclose(by_row(find_label_errors(model)), q * (1 - side) / label, rtol=1e-9)


def test_draws_agree_with_expectation_propagation_and_with_leaving_one_out(two_blobs):
    X, y, wrong = two_blobs
    settings = {"kernel": RBF(2.0), "noise": 0.05, "softness": 0.2, "optimizer": None, "random_state": 0}
    gaussian = by_row(find_label_errors(BayesPointClassifier(**settings).fit(X, y)))
    model = BayesPointClassifier(**settings, engine=Billiard(draws=500)).fit(X, y)
    drawn, left_out = find_label_errors(model), find_label_errors(model, method="leave-one-out")
    assert np.all(np.abs(drawn.probability - gaussian[drawn.rows]) < 5 * drawn.se + 0.02)
    assert np.all(np.abs(by_row(drawn) - by_row(left_out)) < 0.15)  # the latter has a Gaussian in between
    assert set(left_out.rows[:3]) == set(wrong)


def test_flipped_rows_come_first(two_blobs):
    X, y, wrong = two_blobs
    errors = find_label_errors(BayesPointClassifier("rbf", noise="evidence", hyper_prior=None).fit(X, y))
    assert set(errors.rows[:3]) == set(wrong)
    assert np.array_equal(np.sort(errors.rows), np.arange(60))
    assert np.all(np.diff(errors.probability) <= 0)
    assert errors.expected_errors == pytest.approx(errors.probability.sum())
    assert np.array_equal(np.flatnonzero(errors.mask()), wrong)
    assert np.array_equal(errors.given, y[errors.rows])
    assert np.array_equal(errors.suggested, np.where(errors.given == "cat", "dog", "cat"))


def test_threshold_shortens_the_list_but_not_the_expectation(two_blobs):
    X, y, wrong = two_blobs
    model = BayesPointClassifier(None, noise=0.05).fit(X, y)
    every, some = find_label_errors(model), find_label_errors(model, threshold=0.5)
    assert set(some.rows) == set(wrong)
    assert len(some) == 3
    assert some.expected_errors == every.expected_errors
    assert not some.mask(1.0).any()


def test_swapping_the_classes_changes_nothing(two_blobs):
    X, y, _ = two_blobs
    swapped = np.where(y == "cat", "dog", "cat")
    first, second = (find_label_errors(BayesPointClassifier(None, noise=0.1).fit(X, labels)) for labels in (y, swapped))
    np.testing.assert_allclose(by_row(first), by_row(second), atol=1e-4)


def test_report(two_blobs):
    X, y, _ = two_blobs
    model = BayesPointClassifier("rbf", noise="evidence", hyper_prior=None)
    errors = find_label_errors(make_pipeline(StandardScaler(), model).fit(X, y))
    text = str(errors)
    assert text == errors.report()
    assert "of 60 labels" in text
    assert "chosen by evidence" in text
    assert "and 50 more" in text
    assert "Look at the 3 rows" in text
    assert len(errors.report(top=2).splitlines()) == 6
    fixed = find_label_errors(BayesPointClassifier(None, noise=0.05).fit(X, y), threshold=1.0)
    assert "as given" in str(fixed)
    assert "nothing to correct" in str(fixed)


def test_report_of_draws_has_standard_errors(two_blobs):
    X, y, _ = two_blobs
    model = BayesPointClassifier(None, noise=0.05, engine=Billiard(draws=200), random_state=0).fit(X, y)
    assert "P(wrong)      se" in str(find_label_errors(model))


def three_blobs(seed=0):
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 3.0], [-3.0, -2.0], [3.0, -2.0]])
    truth = np.repeat(np.arange(3), 25)
    X = rng.normal(size=(75, 2)) + centres[truth]
    y, wrong = truth.copy(), np.array([4, 30, 31, 60])
    y[wrong] = (y[wrong] + 1) % 3
    return X, np.array(["ash", "elm", "oak"])[y], np.array(["ash", "elm", "oak"])[truth], wrong


def test_several_classes():
    X, y, truth, wrong = three_blobs()
    errors = find_label_errors(BayesPointClassifier(None, noise="evidence").fit(X, y))
    assert set(errors.rows[:4]) == set(wrong)
    assert np.array_equal(errors.suggested[:4], truth[errors.rows[:4]])
    assert abs(errors.expected_errors - 4) < 2


def test_several_classes_with_draws():
    X, y, _, wrong = three_blobs()
    model = BayesPointClassifier(None, noise=0.03, engine=Billiard(draws=400), random_state=0).fit(X, y)
    errors = find_label_errors(model)
    assert set(errors.rows[:4]) == set(wrong)
    assert np.all(np.isfinite(errors.se))
    assert np.all(errors.se >= 0)


@pytest.mark.parametrize("engine", ["ep", "sample", "laplace"])
def test_support_vector_machine(two_blobs, engine):
    X, y, wrong = two_blobs
    errors = find_label_errors(BayesianSVC(engine=engine, random_state=0).fit(X, y))
    assert set(errors.rows[:3]) == set(wrong)
    assert errors.noise is None
    assert "no label noise" in str(errors)


def test_soft_boundary_without_noise_speaks_of_the_wrong_side(two_blobs):
    X, y, wrong = two_blobs
    model = BayesPointClassifier(None).fit(X, y)
    errors = find_label_errors(model)
    assert set(errors.rows[:3]) == set(wrong)
    np.testing.assert_allclose(by_row(errors), readouts.flip_probability(model.posterior_))
    X, y, _, wrong = three_blobs()
    assert set(find_label_errors(BayesPointClassifier(None).fit(X, y)).rows[:4]) == set(wrong)


def test_rows_of_weight_zero_are_skipped_but_counted(two_blobs):
    X, y, _ = two_blobs
    weight = np.ones(60)
    weight[[0, 1, 17, 30]] = 0.0
    model = BayesPointClassifier(None, noise=0.05).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(model.fitted_.rows.kept, np.flatnonzero(weight))
    errors = find_label_errors(model)
    assert set(errors.rows) == set(np.flatnonzero(weight))
    assert set(errors.rows[:2]) == {3, 40}
    assert np.array_equal(errors.given, y[errors.rows])
    assert errors.mask().shape == (60,)
    plain = find_label_errors(BayesPointClassifier(None, noise=0.05).fit(X[weight > 0], y[weight > 0]))
    np.testing.assert_allclose(errors.probability, plain.probability, rtol=1e-6)


def test_a_weight_counts_as_copies():
    gram, y = toy_gram(2, 3), np.array([1, -1, 1])
    copied = gram[np.ix_([0, 1, 1, 2], [0, 1, 1, 2])]
    twice = precomputed(copied, np.array([1, -1, -1, 1]), noise=0.2, softness=0.0, engine=Billiard(draws=4000))
    weighted = BayesPointClassifier("precomputed", bias=0.0, optimizer=None, noise=0.2, softness=0.0)
    once = find_label_errors(weighted.fit(gram, y, sample_weight=[1, 2, 1]))
    np.testing.assert_allclose(by_row(once), by_row(find_label_errors(twice))[[0, 1, 3]], atol=0.03)


class TestMisuse:
    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            find_label_errors(BayesPointClassifier(None, noise=0.1))

    def test_hard_boundary(self, two_blobs):
        X, y, wrong = two_blobs
        keep = np.setdiff1d(np.arange(60), wrong)
        with pytest.raises(InvalidProblemError, match="noise='evidence'"):
            find_label_errors(BayesPointClassifier(None, softness=0.0).fit(X[keep], y[keep]))

    def test_streamed(self, two_blobs):
        X, y, _ = two_blobs
        model = BayesPointClassifier("linear", noise=0.1).partial_fit(X, y, classes=np.unique(y))
        with pytest.raises(InvalidProblemError, match="rows are gone"):
            find_label_errors(model)

    def test_another_classifier(self, two_blobs):
        X, y, _ = two_blobs
        with pytest.raises(InvalidProblemError, match="got LogisticRegression"):
            find_label_errors(LogisticRegression().fit(X, y))

    def test_bad_arguments(self, two_blobs):
        X, y, _ = two_blobs
        model = BayesPointClassifier(None, noise=0.1).fit(X, y)
        with pytest.raises(InvalidProblemError, match="method must be"):
            find_label_errors(model, method="magic")
        with pytest.raises(InvalidProblemError, match="between 0 and 1"):
            find_label_errors(model, threshold=1.5)
        with pytest.raises(InvalidProblemError, match="between 0 and 1"):
            find_label_errors(model).mask(-1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_average_precision_beats_cleanlab():
    """Its list of issues, on our leave-one-out probabilities; its full ranking of them can only tie."""
    filters = pytest.importorskip("cleanlab.filter")
    differences, ties = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 4))
        truth = (X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=200) > 1).astype(int)
        flipped = rng.random(200) < 0.1
        y = np.where(flipped, 1 - truth, truth)
        model = BayesPointClassifier(None, noise="evidence").fit(X, y)
        ours = average_precision_score(flipped, by_row(find_label_errors(model)))
        issues = filters.find_label_issues(y, model.loo_proba_, return_indices_ranked_by="self_confidence", n_jobs=1)
        listed = np.zeros(200)
        listed[issues] = np.arange(len(issues), 0, -1)
        differences.append(ours - average_precision_score(flipped, listed))
        ties.append(ours - average_precision_score(flipped, -model.loo_proba_[np.arange(200), y]))
    assert np.mean(differences) > 2 * np.std(differences, ddof=1) / np.sqrt(5)
    np.testing.assert_allclose(ties, 0, atol=1e-9)
