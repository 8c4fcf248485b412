"""The table classifier x use: several kernels can do what one can, or say why not in a sentence."""

from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone

from bayespoint import (
    ActiveLearner,
    BayesianSVC,
    BayesPointClassifier,
    GaussianMarginClassifier,
    RejectingClassifier,
    find_label_errors,
    query,
)
from bayespoint.engines import Billiard
from bayespoint.estimators import updated
from bayespoint.exceptions import InvalidProblemError
from bayespoint.onnx import to_onnx
from bayespoint.uses import (
    CostSensitiveClassifier,
    ErrorMonitor,
    closest_classifier,
    evidence_surface,
    joint_label_probabilities,
)
from bayespoint.uses.active import utilities
from bayespoint.uses.selection import certify

pd = pytest.importorskip("pandas")

_rng = np.random.default_rng(5)
_numbers = _rng.normal(size=(40, 2))
ROWS = pd.DataFrame(
    {
        "size": np.where(np.arange(40) % 9 == 4, np.nan, _numbers[:, 0]),
        "colour": np.where(_numbers[:, 1] > 0.7, "red", np.where(_numbers[:, 1] < -0.7, "blue", "green")),
    }
)
LABELS = np.where(_numbers.sum(axis=1) + 0.3 * _rng.normal(size=40) > 0, "yes", "no")
THREE = np.where(_numbers.sum(axis=1) > 0.5, "yes", np.where(_numbers.sum(axis=1) < -0.6, "no", "perhaps"))
PLAIN, TABLE = "plain", "table"

CLASSIFIERS = {
    "one kernel": (BayesPointClassifier("rbf", random_state=0), PLAIN),
    "one kernel on a table": (BayesPointClassifier(None, random_state=0), TABLE),
    "several": (BayesPointClassifier(random_state=0), PLAIN),
    "several on a table": (BayesPointClassifier(random_state=0), TABLE),
    "several with noise": (BayesPointClassifier(noise="evidence", random_state=0), PLAIN),
    "several, sampled": (BayesPointClassifier(engine=Billiard(draws=400, chains=2), random_state=0), PLAIN),
    "no hyper-prior": (BayesPointClassifier(hyper_prior=None, random_state=0), PLAIN),
    "machines": (BayesianSVC(optimizer="evidence", evidence="naive", average=True, random_state=0), PLAIN),
    "margins": (GaussianMarginClassifier("rbf", variance=100.0, random_state=0), PLAIN),
    "three classes, margins": (GaussianMarginClassifier("rbf", variance=100.0, random_state=0), PLAIN),
    "three classes as one": (BayesPointClassifier("rbf", noise=0.05, decision="joint", random_state=0), PLAIN),
    "three classes, largest mean": (BayesPointClassifier("rbf", decision="largest-mean", random_state=0), PLAIN),
    "three classes, sampled": (
        BayesPointClassifier("rbf", decision="joint", engine=Billiard(draws=400, chains=2), random_state=0),
        PLAIN,
    ),
}


def inputs(form):
    return _numbers if form == PLAIN else ROWS


def labels(name):
    return THREE if name.startswith("three classes") else LABELS


def costs(model):
    """The first class taken for another costs one, any other five."""
    found = np.full((len(model.classes_), len(model.classes_)), 5.0)
    found[0] = 1.0
    np.fill_diagonal(found, 0.0)
    return found


def learner(model, X, y):
    found = ActiveLearner(clone(model), X[:20], y[:20], random_state=0)
    found.tell(X[20:21], y[20:21])
    return found.ask(X)


def several_posteriors(model, X, y):
    assert utilities(model, X, "bald").shape == (40,)
    bald, entropy = utilities(model, X, "bald"), utilities(model, X, "entropy")
    assert np.all(bald >= 0)
    assert np.all(utilities(model, X, "vote") <= 1 + 1e-9)
    of_one_model = not isinstance(model.posterior_, list)  # else labels of draws are those of each class by itself
    if of_one_model and (not hasattr(model, "calibration_") or model.calibration_ == 1.0):
        assert np.all(bald <= entropy + 0.02)


def surface(model, X, y):
    found = evidence_surface(model, X, y, n_points=3)
    best = model if not hasattr(model, "members_") or isinstance(model, BayesianSVC) else model.members_[0]
    if model.log_evidence_ is not None and not isinstance(model, BayesianSVC):
        assert found.log_evidence[1, 1] == pytest.approx(best.log_evidence_, abs=1e-3)


USES = {
    "utilities": several_posteriors,
    "query": lambda model, X, y: query(model, X, 3),
    "batch": lambda model, X, y: query(model, X, 3, "batch-bald", random_state=0),
    "learner": learner,
    "updated": lambda model, X, y: updated(model, X[-1:], y[-1:], random_state=0).predict(X),
    "label errors": lambda model, X, y: find_label_errors(model),
    "rejection": lambda model, X, y: RejectingClassifier(clone(model), rate=0.2, random_state=0).fit(X, y).predict(X),
    "costs": lambda model, X, y: CostSensitiveClassifier(clone(model), costs(model)).fit(X, y).predict(X),
    "monitor": lambda model, X, y: ErrorMonitor(promised=0.5).update(y, model.predict(X)),
    "joint labels": lambda model, X, y: joint_label_probabilities(model, X[:2], n_draws=100, random_state=0),
    "closest": lambda model, X, y: closest_classifier(model, X),
    "surface": surface,
    "evidence": lambda model, X, y: model.log_evidence(),
    "functions": lambda model, X, y: model.sample_latent(X[:3], 10, random_state=0),
    "certificate": lambda model, X, y: model.certificate(),
    "certificate on a part": lambda model, X, y: model.certificate(prior_fraction=0.5),
    "draw": lambda model, X, y: model.certified_draw(0, prior_fraction=0.5).predict(X),
    "held out": lambda model, X, y: certify(clone(model), X, y, random_state=0).classifier.predict(X),
    "certify": lambda model, X, y: certify(clone(model), X, y, method="pac-bayes", random_state=0),
    "more batches": lambda model, X, y: deepcopy(model).partial_fit(X[:5], y[:5]),
    "graph": lambda model, X, y: to_onnx(model, np.zeros((1, 2))),
    "evidence elsewhere": lambda model, X, y: model.log_marginal_likelihood(
        model.kernel_.theta + 0.1, eval_gradient=True
    ),
    "permutations": lambda model, X, y: model.add_permutations(2),
}
EVERYWHERE = {"certificate", "permutations"}  # a tuned prior saw the rows; only perceptrons can be added to
WITHOUT_DRAWS = {"closest"}
AS_ONE = {"batch", "updated", "closest", "draw", "more batches", "graph"}
OF_DRAWS = {"certificate on a part", "certify"}  # a prior learned on a part needs Gaussian posteriors
MARGINS = EVERYWHERE | {
    *("updated", "label errors", "closest", "surface"),
    *("evidence", "evidence elsewhere", "more batches"),
}
REFUSED = {
    "one kernel": EVERYWHERE | WITHOUT_DRAWS,
    "one kernel on a table": EVERYWHERE | WITHOUT_DRAWS | {"learner", "graph"},
    "several": EVERYWHERE | WITHOUT_DRAWS,
    "several on a table": EVERYWHERE | WITHOUT_DRAWS | {"learner", "graph"},
    "several with noise": EVERYWHERE | WITHOUT_DRAWS,
    "several, sampled": EVERYWHERE | {"graph", "certificate on a part", "certify", "draw", "more batches"},
    "no hyper-prior": EVERYWHERE | WITHOUT_DRAWS,
    "machines": EVERYWHERE | WITHOUT_DRAWS | {"more batches"},
    "three classes as one": EVERYWHERE | AS_ONE,
    "three classes, largest mean": EVERYWHERE | AS_ONE,
    "three classes, sampled": EVERYWHERE | AS_ONE | OF_DRAWS,
    "margins": MARGINS,
    "three classes, margins": MARGINS | {"batch"},
}

pytestmark = pytest.mark.filterwarnings("ignore:The chains have not mixed", "ignore:A stream has one kernel")


@pytest.fixture(scope="module")
def fitted():
    found = {}

    def fit(name):
        if name not in found:
            model, form = CLASSIFIERS[name]
            found[name] = clone(model).fit(inputs(form), labels(name))
        return found[name]

    return fit


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_use_works_or_says_why_not(name, use, fitted):
    if use == "graph":
        pytest.importorskip("skl2onnx")
    model, X, y = fitted(name), inputs(CLASSIFIERS[name][1]), labels(name)
    before = model.predict_proba(X)
    if use in REFUSED[name]:
        with pytest.raises((InvalidProblemError, AttributeError)) as caught:
            USES[use](model, X, y)
        sentence = str(caught.value.__cause__ or caught.value)
        assert "\n" not in sentence
        assert sentence.endswith((".", "'"))  # Python's own of a method that is not there
    else:
        USES[use](model, X, y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_several_kernels_are_several(fitted):
    """Else the table above proves nothing."""
    for name in CLASSIFIERS:
        assert hasattr(fitted(name), "members_") == (not name.startswith(("one kernel", "three classes", "margins")))


def test_bald_of_a_mixture_by_hand(fitted):
    """The entropy of the mean, less the mean of the entropies that are left once the function is known."""
    model = fitted("several with noise")
    parts = [(utilities(m, _numbers, "bald"), utilities(m, _numbers, "entropy"), m) for m in model.members_]
    weights = model.member_weights_
    p = np.sum([w * m.predict_proba(_numbers) for w, (*_, m) in zip(weights, parts, strict=True)], axis=0)
    noise = np.sum([w * (entropy - bald) for w, (bald, entropy, _) in zip(weights, parts, strict=True)], axis=0)
    expected = -(p * np.log2(p)).sum(axis=1) - noise
    np.testing.assert_allclose(utilities(model, _numbers, "bald"), expected, atol=1e-6)
    mean = np.sum([w * bald for w, (bald, *_) in zip(weights, parts, strict=True)], axis=0)
    assert np.all(expected >= mean - 1e-9)  # that kernels disagree is worth something on top


def test_updated_kernels_have_seen_the_row_and_keep_their_weights(fitted):
    model = fitted("several")
    more = updated(model, [[0.1, 0.2]], ["yes"])
    np.testing.assert_array_equal(more.member_weights_, model.member_weights_)
    assert list(more.weights_) == list(model.weights_)
    assert [m.posterior_.problem.size for m in more.members_] == [41] * len(more.members_)
    for old, new in zip(model.members_, more.members_, strict=True):
        again = BayesPointClassifier(old.kernel_, bias=old.bias_, optimizer=None)
        again.fit(np.vstack([_numbers, [[0.1, 0.2]]]), np.append(LABELS, "yes"))
        np.testing.assert_allclose(new.predict_proba(_numbers), again.predict_proba(_numbers), atol=1e-5)


def test_label_errors_are_averaged_over_kernels(fitted):
    model = fitted("several with noise")
    found = find_label_errors(model)
    each = [find_label_errors(member) for member in model.members_]
    by_row = np.array([one.probability[np.argsort(one.rows)] for one in each])
    np.testing.assert_allclose(found.probability[np.argsort(found.rows)], model.member_weights_ @ by_row, atol=1e-12)
    assert found.noise == pytest.approx(model.member_weights_ @ [one.noise for one in each])


def test_joint_labels_are_those_of_the_mixture(fitted):
    model = fitted("several with noise")
    found = joint_label_probabilities(model, _numbers[:1], n_draws=40_000, random_state=0)
    p = np.sum(
        [w * m.predict_proba(_numbers[:1]) for w, m in zip(model.member_weights_, model.members_, strict=True)], 0
    )
    top = found.probability[list(found.labels[:, 0]).index("yes")]
    assert abs(top - p[0, 1]) < 5 * found.se[0]


def test_a_certificate_of_several_kernels_is_one_of_one_kernel_learned_on_a_part(fitted):
    model = fitted("several on a table")
    with pytest.raises(InvalidProblemError, match=r"several kernels decide together; pass prior_fraction=0\.5"):
        model.certificate()
    found = model.certificate(prior_fraction=0.5)
    assert not hasattr(found.classifier, "members_")
    assert found.classifier.predict(ROWS).shape == (40,)
    assert hasattr(model, "members_")


@pytest.mark.parametrize("name", ["three classes as one", "three classes, sampled"])
def test_joint_labels_of_one_model_have_its_probabilities(name, fitted):
    """Summed over the label of the other point, they are those of one point."""
    model = clone(fitted(name)).set_params(calibration=None, kernel=fitted(name).kernel_, optimizer=None)
    model.fit(_numbers, THREE)
    points = _numbers[np.argsort(model.predict_proba(_numbers).max(axis=1))[:2]]  # where there is something to tell
    found = joint_label_probabilities(model, points, n_draws=4000, random_state=0)
    assert found.probability.sum() == pytest.approx(1.0)
    for k, p in enumerate(model.predict_proba(points)):
        sums = [found.probability[found.labels[:, k] == label].sum() for label in model.classes_]
        np.testing.assert_allclose(sums, p, atol=0.03)  # 4 standard errors of 4,000 draws


def test_a_wrong_label_of_three_classes_is_found_and_corrected(fitted):
    clean = fitted("three classes as one")
    row = int(np.argmax(clean.loo_proba_[:, list(clean.classes_).index("yes")]))
    labels = THREE.copy()
    labels[row] = "no"
    found = find_label_errors(clone(clean).set_params(kernel=clean.kernel_, optimizer=None).fit(_numbers, labels))
    assert THREE[row] == "yes"
    assert found.rows[0] == row
    assert found.suggested[0] == "yes"
    before = find_label_errors(clean)
    assert before.probability[list(before.rows).index(row)] < 0.05 < 0.5 < found.probability[0]


def test_rejecting_with_three_classes_as_one_rejects_the_least_sure(fitted):
    inner = clone(fitted("three classes as one"))
    model = RejectingClassifier(inner, rate=0.2, random_state=0).fit(_numbers, THREE)
    answered = np.isin(model.predict(_numbers), model.classes_)
    top = model.predict_proba(_numbers).max(axis=1)
    assert 0 < (~answered).sum() < 20
    assert top[answered].min() >= top[~answered].max()
