import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier, load, save
from bayespoint.bounds import disintegrated_bound
from bayespoint.engines import Billiard
from bayespoint.estimators import CertifiedDraw, updated
from bayespoint.exceptions import InvalidProblemError

KERNEL = 4.0 * RBF(1.0)


def refused(match):
    return pytest.raises(InvalidProblemError, match=rf"(?s)^[A-Z].*{match}.*\.$")


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(300, noise=0.2, random_state=0)
    return X, np.array(["in", "out"])[y]


@pytest.fixture(scope="module")
def model(moons):
    return BayesPointClassifier(KERNEL, optimizer=None, random_state=0).fit(*moons)


@pytest.fixture(scope="module")
def draw(model):
    return model.certified_draw(1, prior_fraction=0.5)


def others(n, fraction=0.5, seed=0):
    return np.sort(np.random.default_rng(seed).permutation(n)[round(fraction * n) :])


def errors_behind(draw):
    certificate = draw.certificate_
    return round(certificate.bound.terms["training error"] * certificate.n)


MODELS = {
    "bayes point": BayesPointClassifier(KERNEL, optimizer=None, random_state=0),
    "tuned": BayesPointClassifier(None, random_state=0),
    "landmarks": BayesPointClassifier(KERNEL, optimizer=None, max_rank=20, random_state=0),
    "noise": BayesPointClassifier(KERNEL, optimizer=None, noise=0.1, softness=0.0, random_state=0),
    "support vectors": BayesianSVC(kernel=KERNEL, random_state=0),
    "margin": GaussianMarginClassifier(KERNEL, random_state=0),
    "linear": BayesPointClassifier("linear", random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_bound_is_on_the_errors_of_this_very_classifier(name, moons):
    X, y = moons
    draw = clone(MODELS[name]).fit(X, y).certified_draw(3, prior_fraction=0.5)
    rows, certificate = others(300), draw.certificate_
    assert isinstance(draw, CertifiedDraw)
    assert (certificate.n, certificate.kind, certificate.classifier) == (150, "disintegrated", draw)
    errors = int(np.sum(draw.predict(X[rows]) != y[rows]))
    nats = certificate.bound.terms["log ratio"] * 150
    assert certificate.bound.value == pytest.approx(disintegrated_bound(errors, 150, nats, 0.05, 6).value)
    assert certificate.bound.value < 0.5
    np.testing.assert_array_equal(draw.predict(X), draw.classes_[draw.predict_proba(X).argmax(axis=1)])
    np.testing.assert_array_equal(draw.predict(X) == "out", draw.decision_function(X) > 0)
    np.testing.assert_allclose(draw.predict_proba(X).sum(axis=1), 1)


def test_a_draw_is_kept(draw, model, moons):
    X, _ = moons
    expected = draw.predict_proba(X)
    for other in (pickle.loads(pickle.dumps(draw)), clone(draw), draw.fit(X[:3], [0, 1, 0])):
        np.testing.assert_array_equal(other.predict_proba(X), expected)
        assert other.certificate_.bound == draw.certificate_.bound
    np.testing.assert_allclose(draw.decision_function(X[:10]), draw.decision_function(X)[:10], rtol=1e-9)
    again = model.certified_draw(1, prior_fraction=0.5)
    np.testing.assert_array_equal(again.predict_proba(X), expected)
    assert (
        np.abs(model.certified_draw(2, prior_fraction=0.5).decision_function(X) - draw.decision_function(X)).max() > 0
    )


def test_a_file_holds_the_draw_and_its_bound(draw, moons, tmp_path):
    save(draw, tmp_path / "draw")
    other = load(tmp_path / "draw")
    np.testing.assert_array_equal(other.predict_proba(moons[0]), draw.predict_proba(moons[0]))
    assert str(other.certificate_) == str(draw.certificate_)


def test_several_kernels_give_way_to_one(moons):
    X, y = moons
    draw = BayesPointClassifier(random_state=0).fit(X[:80], y[:80]).certified_draw(0, prior_fraction=0.5)
    assert not draw.model.fitted_.alternatives
    assert errors_behind(draw) == np.sum(draw.predict(X[others(80)]) != y[others(80)])


def test_several_classes_have_one_bound():
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=1e-3, size=X.shape)
    draw = (
        BayesPointClassifier(9.0 * RBF(2.0), optimizer=None, random_state=0)
        .fit(X, y)
        .certified_draw(0, prior_fraction=0.5)
    )
    rows = others(150)
    np.testing.assert_array_equal(draw.predict(X), draw.decision_function(X).argmax(axis=1))
    np.testing.assert_array_equal(draw.predict(X), draw.predict_proba(X).argmax(axis=1))
    assert errors_behind(draw) == np.sum(draw.predict(X[rows]) != y[rows])
    assert draw.certificate_.bound.value < 0.25


def test_a_linear_prior_that_was_fixed_needs_no_part(rng):
    X = rng.normal(size=(400, 3))
    y = X @ [1.0, -1.0, 0.3] > 0
    model = BayesPointClassifier("linear", optimizer=None).fit(X, y)
    draw = model.certified_draw(0)
    certificate = draw.certificate_
    assert certificate.basis.startswith("a prior fixed before the data")
    assert certificate.bound.value < model.certificate().bound.value / 1.3
    assert errors_behind(draw) == np.sum(draw.predict(X) != y)
    assert draw.weights.shape == (1, 4)


def test_a_draw_is_shorter_in_words_than_its_posterior(draw):
    text = str(draw.certificate_)
    assert "one function drawn once from the posterior and kept" in text
    assert "a test set of 150 rows" in text
    assert "a prior learned on 150 of 300 rows" in text


def test_the_prior_does_not_see_the_labels_of_the_bound(moons):
    """With those turned round kernel and landmarks are the same, and the draw takes nothing of them."""
    X, y = moons
    turned = y.copy()
    rows = others(300)
    turned[rows] = np.where(y[rows] == "in", "out", "in")
    first, second = (
        BayesPointClassifier(None, random_state=0).fit(X, labels).certified_draw(0, prior_fraction=0.5)
        for labels in (y, turned)
    )
    assert first.model.kernel_ == second.model.kernel_
    np.testing.assert_array_equal(first.model.fitted_.view.landmarks, second.model.fitted_.view.landmarks)
    assert second.certificate_.bound.value > 0.5


def test_wide_sparse_rows_have_landmarks_among_those_of_the_prior(rng):
    X = sparse.random_array((60, 500), density=0.1, rng=rng, format="csr")
    y = np.asarray(X[:, :250].sum(axis=1)).ravel() > np.asarray(X[:, 250:].sum(axis=1)).ravel()
    model = BayesPointClassifier("linear", optimizer=None, random_state=0).fit(X, y)
    with refused("no finite coordinates that were fixed before the rows; pass prior_fraction=0.5"):
        model.certified_draw(0)
    draw = model.certified_draw(0, prior_fraction=0.5)
    assert draw.weights.shape[1] <= 30
    assert errors_behind(draw) == np.sum(draw.predict(X[others(60)]) != y[others(60)])


def test_a_draw_at_the_end_of_a_pipeline(moons):
    X, y = moons
    scaler = StandardScaler().fit(X[:100])
    draw = BayesPointClassifier(KERNEL, optimizer=None).fit(scaler.transform(X), y).certified_draw(prior_fraction=0.5)
    assert make_pipeline(scaler, draw).score(X, y) > 0.8


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("classifier", "match"),
    [
        (BayesPointClassifier(KERNEL, optimizer=None), "no finite coordinates .*or use a linear kernel"),
        (BayesPointClassifier(None), "the kernel was tuned on the rows that the bound would rest on"),
        (BayesPointClassifier("linear"), "the kernel was tuned"),
        (BayesPointClassifier(), "several kernels decide together"),
        (BayesPointClassifier(KERNEL, optimizer=None, max_rank=10), "the landmarks of a low-rank prior"),
    ],
    ids=["infinite", "tuned", "linear and tuned", "several", "landmarks"],
)
def test_priors_that_cannot_be_drawn_from_are_refused(classifier, match, moons):
    X, y = moons
    with refused(match):
        classifier.fit(X[:60], y[:60]).certified_draw(0)


def test_what_voids_any_bound_voids_this_one(moons, model):
    X, y = moons
    fixed = BayesPointClassifier(KERNEL, optimizer=None)
    with refused("features have mean zero"):
        fixed.fit(StandardScaler().fit_transform(X), y).certified_draw(prior_fraction=0.5)
    with refused("are 150 rows, each there 2 times|rows of class"):
        clone(fixed).fit(np.vstack([X, X]), np.r_[y, y]).certified_draw(prior_fraction=0.5)
    with refused("rows were added after fitting"):
        updated(model, X[:1] + 0.01, y[:1]).certified_draw(prior_fraction=0.5)
    with refused("rows had weight zero"):
        clone(fixed).fit(X, y, sample_weight=np.r_[0, np.ones(299)]).certified_draw(prior_fraction=0.5)


def test_draws_and_precomputed_kernels_are_refused(moons):
    X, y = moons
    with refused("needs Gaussian posteriors: use engine='ep'"):
        BayesPointClassifier(KERNEL, optimizer=None, engine=Billiard(draws=10, chains=1), noise=0.1).fit(
            X, y
        ).certified_draw(prior_fraction=0.5)
    with refused("a precomputed kernel has no coordinates"):
        BayesPointClassifier("precomputed", optimizer=None).fit(KERNEL(X), y).certified_draw(prior_fraction=0.5)


@pytest.mark.parametrize("options", [{"delta": 0.0}, {"prior_fraction": 1.0}, {"prior_fraction": "half"}], ids=str)
def test_settings_are_checked_first(options, model):
    with pytest.raises(InvalidProblemError, match=r"^(delta|prior_fraction) must"):
        model.certified_draw(0, **options)
