"""The table use x inputs that are no vectors: a kernel of strings does what the same kernel does on vectors."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import ConstantKernel, GenericKernelMixin, Hyperparameter, Kernel
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from bayespoint import (
    ActiveLearner,
    BayesianSVC,
    BayesPointClassifier,
    GaussianMarginClassifier,
    RejectingClassifier,
    find_label_errors,
    query,
)
from bayespoint.engines import Billiard, EllipticalSlice, GibbsSampler
from bayespoint.estimators import updated
from bayespoint.exceptions import InvalidProblemError
from bayespoint.kernels import Normalized
from bayespoint.uses import certify, evidence_surface, joint_label_probabilities

LETTERS = "abcd"
_rng = np.random.default_rng(4)
WORDS = ["".join(_rng.choice(list(LETTERS), size=k)) for k in _rng.integers(2, 9, size=40)]
COUNTS = np.array([[word.count(letter) for letter in LETTERS] for word in WORDS], dtype=float)
Y = np.where(COUNTS[:, 0] - COUNTS[:, 1] + 0.5 * _rng.normal(size=40) > 0, "yes", "no")
THREE = np.where(COUNTS[:, 2] > 1, "more", Y)


def shared_letters(A, B):
    """The inner product of counts; it insists on a list of strings."""
    assert isinstance(A, list)
    assert isinstance(A[0], str)
    return np.array([[sum(a.count(c) * b.count(c) for c in LETTERS) for b in B] for a in A], dtype=float)


def of_counts(A, B):
    return A @ B.T


class SharedLetters(GenericKernelMixin, Kernel):
    """The same with a parameter to tune: ``exp(-|counts - counts|^2 / 2 l^2)``."""

    def __init__(self, length_scale=2.0, length_scale_bounds=(1e-2, 1e2)):
        self.length_scale, self.length_scale_bounds = length_scale, length_scale_bounds

    @property
    def hyperparameter_length_scale(self):
        return Hyperparameter("length_scale", "numeric", self.length_scale_bounds)

    def _squares(self, A, B):
        counts = [np.array([[word.count(c) for c in LETTERS] for word in words], dtype=float) for words in (A, B)]
        return np.square(counts[0][:, None] - counts[1]).sum(axis=2)

    def __call__(self, X, Y=None, eval_gradient=False):
        squares = self._squares(X, X if Y is None else Y) / self.length_scale**2
        values = np.exp(-0.5 * squares)
        return (values, (values * squares)[:, :, None]) if eval_gradient else values

    def diag(self, X):
        return np.ones(len(X))

    def is_stationary(self):
        return False


POINT = BayesPointClassifier(shared_letters, random_state=0)
FIXED = BayesPointClassifier(shared_letters, optimizer=None, random_state=0)
PAIRS = {  # classifiers of strings, which become such of vectors by another kernel
    "point": (POINT, {}),
    "machine": (BayesianSVC(kernel=shared_letters, random_state=0), {}),
    "margin": (GaussianMarginClassifier(shared_letters, random_state=0), {}),
    "sampled": (FIXED, {"engine": Billiard(draws=200, chains=2)}),
    "sliced": (FIXED, {"engine": EllipticalSlice(draws=200, chains=2)}),
    "gibbs": (FIXED, {"engine": GibbsSampler(draws=20), "noise": 0.1}),
    "laplace": (BayesianSVC(kernel=shared_letters), {"engine": "laplace"}),
    "perceptrons": (FIXED, {"engine": "perceptron"}),
    "landmarks": (FIXED, {"max_rank": 3}),
    "joint": (FIXED, {"decision": "joint"}),
}
pytestmark = pytest.mark.filterwarnings("ignore:The chains have not mixed", "ignore:Chains", "ignore:Only")


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("labels", [Y, THREE], ids=["two", "three"])
def test_objects_are_as_good_as_vectors(name, labels):
    model, settings = PAIRS[name]
    ours = clone(model).set_params(**settings).fit(WORDS, labels)
    same = clone(model).set_params(**settings, kernel=of_counts).fit(COUNTS, labels)
    close = {"rtol": 1e-4, "atol": 1e-5} if name != "perceptrons" else {"atol": 1e-3}
    np.testing.assert_allclose(ours.predict_proba(WORDS[:9]), same.predict_proba(COUNTS[:9]), **close)
    np.testing.assert_allclose(ours.latent(WORDS[:9]).mean, same.latent(COUNTS[:9]).mean, **close)
    if hasattr(same, "loo_proba_"):
        np.testing.assert_allclose(ours.loo_proba_, same.loo_proba_, **close)
    assert not hasattr(ours, "n_features_in_")


USES = {
    "functions": lambda model: model.sample_latent(WORDS[:3], 5, random_state=0),
    "query": lambda model: query(model, WORDS, 3),
    "batch": lambda model: query(model, WORDS, 3, "batch-bald", random_state=0),
    "updated": lambda model: updated(model, WORDS[-1:], Y[-1:]).predict_proba(WORDS),
    "label errors": lambda model: find_label_errors(model).probability,
    "joint labels": lambda model: joint_label_probabilities(model, WORDS[:2], n_draws=50, random_state=0).probability,
    "evidence": lambda model: model.log_marginal_likelihood(model.kernel_.theta + 0.1, eval_gradient=True)[1],
    "surface": lambda model: evidence_surface(model, WORDS, Y, n_points=3).log_evidence,
    "certificate": lambda model: model.certificate(prior_fraction=0.5).gibbs.value,
    "held out": lambda model: certify(clone(model), WORDS, Y, random_state=0).classifier.predict(WORDS),
    "certify": lambda model: certify(clone(model), WORDS, Y, method="pac-bayes", random_state=0).gibbs.value,
    "rejection": lambda model: RejectingClassifier(clone(model), rate=0.2, random_state=0).fit(WORDS, Y).predict(WORDS),
    "cross-validation": lambda model: cross_val_predict(clone(model), WORDS, Y, cv=3, method="predict_proba"),
    "batches": lambda model: (
        clone(model)
        .partial_fit(WORDS[:20], Y[:20], classes=["no", "yes"])
        .partial_fit(WORDS[20:], Y[20:])
        .predict_proba(WORDS)
    ),
}


@pytest.fixture(scope="module")
def fitted():
    return BayesPointClassifier(2.0 * SharedLetters(), random_state=0).fit(WORDS, Y)


@pytest.mark.parametrize("use", USES)
def test_every_use_takes_objects(use, fitted):
    before = fitted.predict_proba(WORDS)
    assert len(np.atleast_1d(USES[use](fitted))) > 0
    np.testing.assert_array_equal(fitted.predict_proba(WORDS), before)


def test_the_kernel_is_tuned(fitted):
    assert fitted.kernel_.k2.length_scale != 2.0
    gap = fitted.log_marginal_likelihood(fitted.kernel_.theta) - fitted.log_marginal_likelihood([0.0, 2.0])
    assert gap > 1


def test_an_active_learner_keeps_objects():
    learner = ActiveLearner(BayesPointClassifier(shared_letters), WORDS[:10], Y[:10], random_state=0)
    for _ in range(3):
        rows = learner.ask(WORDS)
        learner.tell([WORDS[row] for row in rows], Y[rows])
    assert learner.X[:10] == WORDS[:10]
    assert len(learner.X) == 13


def test_copies_are_seen():
    model = BayesPointClassifier(shared_letters, optimizer=None).fit(WORDS[:20] * 2, np.tile(Y[:20], 2))
    with pytest.raises(InvalidProblemError, match="each there 2 times"):
        model.certificate()


@pytest.mark.parametrize(
    "form", [tuple, np.array, lambda words: np.array(words, dtype=object)], ids=["tuple", "text", "objects"]
)
def test_any_sequence_will_do(form):
    model = BayesPointClassifier(shared_letters, optimizer=None)
    np.testing.assert_array_equal(
        model.fit(form(WORDS), Y).predict_proba(form(WORDS[:5])), clone(model).fit(WORDS, Y).predict_proba(WORDS[:5])
    )


def test_sequences_of_different_lengths_and_arrays_are_objects():
    tokens = [[LETTERS.index(c) for c in word] for word in WORDS]
    matrices = [np.outer(row, row) for row in COUNTS]  # all of one shape

    def of_tokens(A, B):
        return np.array([[sum(a.count(k) * b.count(k) for k in range(4)) for b in B] for a in A], dtype=float)

    def of_matrices(A, B):
        return np.array([[np.sqrt((a * b).sum()) for b in B] for a in A])

    expected = BayesPointClassifier(of_counts, optimizer=None).fit(COUNTS, Y).predict_proba(COUNTS)
    for kernel, rows in ((of_tokens, tokens), (of_matrices, matrices), (of_matrices, np.array(matrices))):
        found = BayesPointClassifier(kernel, optimizer=None).fit(rows, Y).predict_proba(rows)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_kernels_around_and_beside_kernels_take_objects():
    kernel = Normalized(SharedLetters()) + ConstantKernel(0.5) * SharedLetters(1.0)
    assert BayesPointClassifier(kernel).fit(WORDS, Y).score(WORDS, Y) > 0.8


def test_a_search_over_settings():
    search = GridSearchCV(BayesianSVC(kernel=shared_letters), {"C": [0.1, 1.0]}, cv=3).fit(WORDS, Y)
    assert search.best_score_ > 0.6
    assert cross_val_score(BayesPointClassifier(shared_letters), WORDS, Y, cv=3).mean() > 0.6


def test_a_kernel_of_vectors_takes_none():
    for kernel in ("rbf", "auto", None, "linear"):
        with pytest.raises(ValueError, match=r"could not convert string to float|Expected 2D array"):
            BayesPointClassifier(kernel).fit(WORDS, Y)


def test_what_does_not_fit_is_told():
    model = BayesPointClassifier(shared_letters)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(WORDS, Y[:-1])
    with pytest.raises(ValueError, match="y is None"):
        model.fit(WORDS, None)
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        model.fit(WORDS, Y).predict([])
    with pytest.raises(ValueError, match="put it in a list"):
        model.predict("abba")
    weights = np.ones(40)
    weights[3] = 0
    assert model.fit(WORDS, Y, sample_weight=weights).fitted_.n_rows == 39
