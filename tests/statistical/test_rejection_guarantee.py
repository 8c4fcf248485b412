"""Is the error of accepted rows as small as promised as often as promised? Over many data sets, the truth known.

Figures of one run for a risk of 0.02: share of 200 data sets where the promise is broken (0.05 is allowed) and mean
share of rows accepted; on the right the same for a threshold by the plain error of as many rows, without the
binomial tail.

    logistic regression    0.040 0.591   0.525 0.788
    neighbours, with ties  0.000 0.279   0.225 0.594
    bayes point            0.025 0.604   0.525 0.792
    banana                 0.005 0.591   0.470 0.676
    waveform               0.025 0.677   0.480 0.726

Classes of few rows: a tenth of the rows in classes of their own at a risk of 0.05, where everything must be rejected,
and 400 classes by Zipf's law in 400 rows at a risk of 0.1; on the right for calibration rows by class.

    one-off, probability   0.000 0.000   1.000 1.000
    Zipf, probability      0.000 0.000   0.515 0.608
    Zipf, nearness         0.020 0.250   0.110 0.316

Both halves in turn, 500 data sets: two labels in five turned round at a risk of 0.45, and a class of one row in forty
at 0.02; on the right by the plain error.

    noise                  0.006 0.141   0.220 0.833
    rare                   0.000 0.956   0.000 0.992
"""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, binomtest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesPointClassifier, RejectingClassifier
from bayespoint.exceptions import InferenceWarning
from bayespoint.uses.rejection import Acceptance
from datasets import DataNotFoundError, load_arrays
from witnesses import stratified

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:No threshold:bayespoint.exceptions.InferenceWarning"),
]
RISK, DELTA, SETS = 0.02, 0.05, 200
WEIGHTS = np.array([3.0, -2.0, 1.5, 0.0, 0.0])
CLASSIFIERS = {
    "logistic regression": LogisticRegression(),
    "neighbours, with ties": KNeighborsClassifier(25),
    "bayes point": BayesPointClassifier("linear", noise=0.02, optimizer=None),
}


def holds(broken, delta=DELTA):
    """Unless so many broken promises would be seen once in a thousand times at the most."""
    return binomtest(int(np.sum(broken)), len(broken), delta, alternative="greater").pvalue > 1e-3


def plain_threshold(wrong, confidence, risk):
    """The lowest threshold with no more than this share of errors above it: no allowance for chance."""
    order = np.argsort(-confidence, kind="stable")
    ranked = confidence[order]
    whole = np.append(ranked[:-1] > ranked[1:], True)
    errors = np.cumsum(wrong[order])
    counts = np.flatnonzero(whole & (errors <= risk * np.arange(1, len(wrong) + 1))) + 1
    if not len(counts):
        return Acceptance(np.inf, 0, 0, np.nan)
    kept = int(counts[-1])
    return Acceptance(float(ranked[kept]) if kept < len(wrong) else -np.inf, kept, int(errors[kept - 1]), risk)


def outcome(threshold, confidence, chance, risk=RISK):
    """Whether the promise is broken on rows with this chance of an error, and the share of them accepted."""
    above = confidence > threshold
    return bool(above.any() and chance[above].mean() > risk), above.mean()


def report(name, proven, plain, record_property):
    (broken, coverage), (control, more) = (np.transpose(rows) for rows in (proven, plain))
    text = f"{name:22s} {broken.mean():.3f} {coverage.mean():.3f}   {control.mean():.3f} {more.mean():.3f}"
    record_property(name, text)
    print(text)
    return broken, coverage, control


def positive(X):
    """Probability of the positive class: a few labels are turned round wherever they are."""
    return 0.004 + 0.992 * expit(2 * X @ WEIGHTS)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_error_is_as_small_as_promised(name, rng, record_property):
    fresh = rng.normal(size=(8000, 5))
    p = positive(fresh)
    proven, plain = [], []
    for k in range(SETS):
        X = rng.normal(size=(1500, 5))
        y = (rng.random(1500) < positive(X)).astype(int)
        model = RejectingClassifier(CLASSIFIERS[name], risk=RISK, calibration=0.8, random_state=k).fit(X, y)
        confidence = model.confidence_scores(fresh)
        chance = np.where(model.estimator_.predict(fresh) == 1, 1 - p, p)
        proven.append(outcome(model.threshold_, confidence, chance))
        new = rng.normal(size=(1200, 5))
        wrong = model.estimator_.predict(new) != (rng.random(1200) < positive(new))
        without = plain_threshold(wrong, model.confidence_scores(new), RISK)
        plain.append(outcome(without.threshold, confidence, chance))
    broken, coverage, control = report(name, proven, plain, record_property)
    assert holds(broken)
    assert coverage.mean() > 0.05  # not by rejecting everything
    assert not holds(control)


CENTRES = 3 * np.random.default_rng(0).normal(size=(400, 5))
ZIPF = 1 / np.arange(1, 401)


def one_off_classes(n, rng):
    """Two clear classes, and a tenth of the rows anywhere with a label of their own."""
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 2)) + 6 * y[:, None]
    return X, np.where(rng.random(n) < 0.1, rng.integers(2, 2**62, n), y)


def classes_by_zipf(n, rng):
    """400 classes, each about a centre, the k-th with a frequency as 1 / k: many have a row or none."""
    y = rng.choice(400, n, p=ZIPF / ZIPF.sum())
    return CENTRES[y] + 0.3 * rng.normal(size=(n, 5)), y


def nearness(fitted, X):
    return -fitted.kneighbors(X, 1)[0][:, 0]


@pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")
@pytest.mark.parametrize(
    ("draw", "n", "risk", "confidence", "least"),
    [
        (one_off_classes, 600, 0.05, "probability", 0.0),
        (classes_by_zipf, 400, 0.1, "probability", 0.0),
        (classes_by_zipf, 400, 0.1, nearness, 0.1),
    ],
)
def test_classes_with_few_rows(draw, n, risk, confidence, least, rng, record_property):
    """The control calibrates on a share of every class, from which classes of one row are missing."""
    fresh, labels = draw(4000, rng)
    inner = KNeighborsClassifier(3 if draw is classes_by_zipf else 15)
    options = {"risk": risk, "confidence": confidence}
    proven, by_class = [], []
    for k in range(SETS):
        X, y = draw(n, rng)
        models = (
            RejectingClassifier(inner, random_state=k, **options).fit(X, y),
            stratified(inner, X, y, rng, **options),
        )
        for model, outcomes in zip(models, (proven, by_class), strict=True):
            wrong = model.estimator_.predict(fresh) != labels
            outcomes.append(outcome(model.threshold_, model.confidence_scores(fresh), wrong, risk))
    name = f"{draw.__name__} {confidence if isinstance(confidence, str) else confidence.__name__}"
    broken, coverage, control = report(name, proven, by_class, record_property)
    assert holds(broken)
    assert coverage.mean() >= least
    assert not holds(control)


@pytest.mark.parametrize("name", ["banana", "waveform"])
def test_real_data_drawn_again_and_again(name, rng, record_property):
    """The rows of a benchmark are the population: its error is known exactly."""
    try:
        arrays = load_arrays(name)
    except (DataNotFoundError, OSError):
        pytest.skip(f"no data set {name}")
    X, y = arrays["X"].astype(float), arrays["y"]
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    inner = make_pipeline(StandardScaler(), BayesPointClassifier(None, noise=0.02)).fit(X[:400], y[:400])
    X, y = X[400:], y[400:]
    wrong, confidence = inner.predict(X) != y, inner.predict_proba(X).max(axis=1)
    proven, plain = [], []
    for _ in range(SETS):
        rows = rng.integers(0, len(y), 2000)
        model = RejectingClassifier(inner, risk=RISK, calibration="prefit", reject_label=0).fit(X[rows], y[rows])
        proven.append(outcome(model.threshold_, confidence, wrong))
        without = plain_threshold(wrong[rows], confidence[rows], RISK)
        plain.append(outcome(without.threshold, confidence, wrong))
    broken, coverage, control = report(name, proven, plain, record_property)
    assert holds(broken)
    assert coverage.mean() > 0.05
    assert not holds(control)


HARD = {  # which class, share of labels turned round, risk, whether a threshold by the plain error fails
    "noise": (lambda X: X @ [1.0, 0.5] > 0, 0.4, 0.45, True),
    "rare": (lambda X: X[:, 0] > 1.96, 0.0, 0.02, False),  # the classifier as a whole is nearly good enough
}
MANY = 500


@pytest.mark.parametrize("name", HARD)
def test_rows_that_make_it_hard(name, rng, record_property):
    """Both halves in turn, as is the default, over 500 data sets."""
    rule, flips, risk, fails = HARD[name]

    def draw(n):
        return rng.normal(size=(n, 2))

    def labels(X):
        return (rule(X) ^ (rng.random(len(X)) < flips)).astype(int)

    fresh = draw(1000)
    proven, plain = [], []
    for k in range(MANY):
        X = draw(400)
        y = labels(X)
        if len(np.unique(y)) == 1:
            continue
        model = RejectingClassifier(GaussianNB(), risk=risk, random_state=k)
        confidence = model.fit(X, y).confidence_scores(fresh)
        chance = np.where(model.estimator_.predict(fresh) == rule(fresh), flips, 1 - flips)
        proven.append(outcome(model.threshold_, confidence, chance, risk))
        new = draw(200)
        wrong = model.estimator_.predict(new) != labels(new)
        without = plain_threshold(wrong, model.confidence_scores(new), risk)
        plain.append(outcome(without.threshold, confidence, chance, risk))
    broken, coverage, control = report(name, proven, plain, record_property)
    assert holds(broken)
    assert coverage.mean() > 0.05
    assert holds(control) != fails


def test_the_check_of_a_promise_can_fail():
    allowed = int(binom.ppf(0.999, SETS, DELTA))
    assert holds(np.arange(SETS) < DELTA * SETS)
    assert not holds(np.arange(SETS) < allowed + 2)


def test_a_hopeless_classifier_is_rejected_as_often_as_promised(rng):
    """Labels that are coins: any accepted row breaks the promise."""
    accepted = []
    for k in range(SETS):
        X, y = rng.normal(size=(600, 2)), rng.integers(0, 2, 600)
        accepted.append(RejectingClassifier(LogisticRegression(), risk=0.4, random_state=k).fit(X, y).coverage_ > 0)
    assert holds(accepted)
    with pytest.warns(InferenceWarning):
        RejectingClassifier(LogisticRegression(), risk=0.1).fit(X, y)
