import numpy as np
import pytest
from scipy import sparse
from scipy.special import entr
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayespoint import ActiveLearner, BayesianSVC, BayesPointClassifier, query
from bayespoint.engines import Billiard
from bayespoint.exceptions import InvalidProblemError
from bayespoint.uses.active import _best_batch, _largest, utilities


@pytest.fixture(scope="module")
def pool():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(400, 2))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(400) > 0, "up", "down")


@pytest.fixture(scope="module")
def model(pool):
    X, y = pool
    return BayesPointClassifier(4.0 * RBF(0.8), optimizer=None).fit(X[:30], y[:30])


def test_entropy_and_vote_by_hand(pool, model):
    X, _ = pool
    p = model.predict_proba(X)[:, 1]
    entropy = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    np.testing.assert_allclose(utilities(model, X, "entropy"), entropy, atol=1e-9)
    mean, variance = model.latent(X)
    share = norm.cdf(mean / np.sqrt(variance))
    np.testing.assert_allclose(
        utilities(model, X, "vote"), -(share * np.log2(share) + (1 - share) * np.log2(1 - share)), atol=1e-9
    )


def test_bald_by_quadrature(pool, model):
    X, _ = pool
    mean, variance = model.latent(X[:20])
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    p = norm.cdf(mean[:, None] + np.sqrt(variance)[:, None] * nodes)
    marginal = p @ weights
    bits = (entr(marginal) + entr(1 - marginal) - (entr(p) + entr(1 - p)) @ weights) / np.log(2)
    np.testing.assert_allclose(utilities(model, X[:20]), bits, atol=1e-4)


@pytest.mark.parametrize("strategy", ["entropy", "bald", "vote"])
def test_the_largest_are_asked_for(strategy, pool, model):
    X, _ = pool
    gains = utilities(model, X, strategy)
    rows = query(model, X, 7, strategy)
    np.testing.assert_array_equal(gains[rows], np.sort(gains)[::-1][:7])
    assert len(np.unique(rows)) == 7


def test_equals_come_in_order():
    np.testing.assert_array_equal(_largest(np.array([1.0, 3.0, 1.0, 3.0, 1.0]), 3), [1, 3, 0])
    np.testing.assert_array_equal(_largest(np.array([2.0, 2.0]), 2), [0, 1])


def test_draws_and_several_classes_and_pipelines(pool):
    X, y = pool
    drawn = BayesPointClassifier(
        4.0 * RBF(0.8), optimizer=None, engine=Billiard(draws=2000, chains=2), random_state=0
    ).fit(X[:30], y[:30])
    closed = BayesPointClassifier(4.0 * RBF(0.8), optimizer=None).fit(X[:30], y[:30])
    for strategy in ("entropy", "bald", "vote"):
        assert np.corrcoef(utilities(drawn, X, strategy), utilities(closed, X, strategy))[0, 1] > 0.95
    several = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    three = BayesPointClassifier(RBF(1.0), optimizer=None).fit(X[:60], several[:60])
    bald, entropy, vote = (utilities(three, X, s) for s in ("bald", "entropy", "vote"))
    assert np.all(bald <= entropy + 0.1)
    assert np.all((vote >= 0) & (vote <= np.log2(3) + 1e-9))
    latents = three.sample_latent(X[:50], 4000, 0)
    p = norm.cdf(latents)
    p /= p.sum(axis=2, keepdims=True)
    average = p.mean(axis=0)
    witness = entr(average).sum(axis=1) - entr(p).sum(axis=2).mean(axis=0)
    np.testing.assert_allclose(bald[:50], witness / np.log(2), atol=0.04)
    assert np.corrcoef(bald[:50], witness)[0, 1] > 0.8
    pipeline = make_pipeline(StandardScaler(), BayesianSVC(C=2.0)).fit(X[:30], y[:30])
    assert query(pipeline, X, 2).shape == (2,)
    thin = BayesPointClassifier("linear", optimizer=None).fit(sparse.csr_array(X[:30]), y[:30])
    assert query(thin, sparse.csr_array(X), 2).shape == (2,)


def brute_force(up, down, batch):
    """Mutual information of the labels of a batch and the function, by all labellings."""
    total = 0.0
    for signs in np.ndindex(*[2] * len(batch)):
        given = np.prod([(up, down)[s][:, i] for s, i in zip(signs, batch, strict=True)], axis=0)
        p = given.mean()
        total -= p * np.log(p)
    noise = sum(-(up[:, i] * np.log(up[:, i]) + down[:, i] * np.log(down[:, i])).mean() for i in batch)
    return total - noise


def test_a_batch_is_chosen_greedily_by_what_it_tells_together(rng):
    up = rng.beta(0.5, 0.5, size=(300, 12)) * 0.96 + 0.02
    up[:, 6:] = 0.98 * up[:, :6] + 0.01  # near copies
    down = 1 - up
    chosen = _best_batch(up, down, 4, rng)
    batch = []
    for _ in range(4):
        gains = [brute_force(up, down, [*batch, i]) if i not in batch else -np.inf for i in range(12)]
        batch.append(int(np.argmax(gains)))
    assert chosen == batch
    assert len({i % 6 for i in chosen}) == 4  # no copy of what is there
    many = _best_batch(up, down, 11, np.random.default_rng(0))  # beyond what can be enumerated
    assert len(set(many)) == 11
    assert len({i % 6 for i in many[:5]}) == 5


def test_a_batch_does_not_ask_the_same_twice(pool, model):
    X, _ = pool
    copies = np.repeat(X, 3, axis=0)
    alone = query(model, copies, 6, "bald")
    together = query(model, copies, 6, "batch-bald", random_state=0)
    assert len(np.unique(alone // 3)) == 2
    assert len(np.unique(together // 3)) >= 5
    np.testing.assert_array_equal(together, query(model, copies, 6, "batch-bald", random_state=0))


@pytest.mark.parametrize(("few", "turns", "right"), [(0, 20, 0.88), (50, 5, 0.7)])
def test_a_learner_asks_and_is_told(few, turns, right, pool, monkeypatch):
    monkeypatch.setattr("bayespoint.uses.active._FEW", few)
    X, y = pool
    learner = ActiveLearner(BayesPointClassifier(4.0 * RBF(0.8)), X[:10], y[:10], random_state=0)
    free = np.arange(10, 400)
    sizes = []
    for _ in range(turns):
        rows = free[learner.ask(X[free])]
        learner.tell(X[rows], y[rows])
        free = np.setdiff1d(free, rows)
        sizes.append(learner.model.posterior_.problem.size)
    assert sizes == list(range(11, 11 + turns))
    assert [asked.labels for asked in learner.history] == list(range(10, 10 + turns))
    assert learner.model.score(X, y) > right
    whole = BayesPointClassifier(learner.model.kernel_, bias=learner.model.bias_, optimizer=None).fit(
        learner.X, learner.y
    )
    np.testing.assert_allclose(learner.model.predict_proba(X), whole.predict_proba(X), atol=1e-5)


def test_a_surprise_is_learned_and_a_failure_loses_nothing(pool):
    X, y = pool
    learner = ActiveLearner(
        BayesPointClassifier(4.0 * RBF(1.5), optimizer=None, engine=Billiard(draws=200), random_state=0), X[:60], y[:60]
    )
    sure = int(np.argmax(learner.model.predict_proba(X).max(axis=1)))
    other = "up" if learner.model.predict(X[sure : sure + 1])[0] == "down" else "down"
    learner.tell(X[sure : sure + 1] + 1e-3, [other])
    assert learner.model.posterior_.problem.size == len(learner.y) == 61
    with pytest.raises(ValueError, match="NaN"):
        learner.tell([[np.nan, 0.0]], ["up"])
    assert learner.model.posterior_.problem.size == len(learner.y) == 61


def test_a_learner_at_the_end_of_a_pipeline(pool):
    X, y = pool
    learner = ActiveLearner(make_pipeline(StandardScaler(), BayesPointClassifier(None, optimizer=None)), X[:55], y[:55])
    rows = learner.ask(X, 2)
    learner.tell(X[rows], y[rows])
    assert len(learner.y) == 57


def test_a_learner_stops_when_nothing_is_worth_it(pool):
    X, y = pool
    learner = ActiveLearner(BayesPointClassifier(4.0 * RBF(0.8), optimizer=None), X[:60], y[:60], min_gain=2.0)
    assert len(learner.ask(X)) == 0
    assert learner.history[-1].gain < 2.0
    learner.tell(X[:0], y[:0])
    assert len(learner.y) == 60


def test_a_new_class_is_learned(pool):
    X, y = pool
    learner = ActiveLearner(BayesPointClassifier("linear", optimizer=None), X[:20], y[:20])
    learner.tell(X[20:22], ["sideways", "sideways"])
    np.testing.assert_array_equal(learner.model.classes_, ["down", "sideways", "up"])


def test_strategies_of_scikit_activeml_take_the_classifier(pool):
    pytest.importorskip("skactiveml")
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import UncertaintySampling

    X, y = pool
    labels = np.full(400, np.nan)
    labels[:20] = y[:20] == "up"
    classifier = SklearnClassifier(BayesPointClassifier(None, optimizer=None), classes=[0.0, 1.0])
    rows = UncertaintySampling(method="entropy", random_state=0).query(X, labels, clf=classifier)
    ours = BayesPointClassifier(None, optimizer=None).fit(X[:20], labels[:20])
    assert rows[0] - 20 == query(ours, X[20:], strategy="entropy")[0]


@pytest.mark.parametrize(
    ("call", "match"),
    [
        ({"n": 0}, "n must be a whole number from 1 to the 400"),
        ({"n": 401}, "n must be a whole number"),
        ({"strategy": "luck"}, "strategy must be one of"),
    ],
)
def test_bad_questions_are_refused(call, match, pool, model):
    with pytest.raises(InvalidProblemError, match=match):
        query(model, pool[0], **call)
    with pytest.raises(InvalidProblemError, match="strategy must be 'bald'"):
        utilities(model, pool[0], "batch-bald")
