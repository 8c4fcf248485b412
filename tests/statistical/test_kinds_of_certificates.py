"""Do certificates of every kind hold as often as they say, on rows that make it hard for them?

Data sets come from distributions whose errors are known: two labels in five turned round, a class of one row in forty,
rows next to copies of each other on both sides of the split, a curved boundary, three classes. Each bound may fail in a
share delta of the data sets, up to the chance of this many sets; without its price it fails far more often.

Failures in one run, of 500 data sets each at delta 0.05, where 25 are to be expected at the most:

    method           noise   rare   near copies   curved   three classes
    pac-bayes            0      0             0        0               0
    disintegrated        0      0             0        0               0
    held-out            23      0             8       17              21
    auto                14     10            11       10               9
"""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binomtest, qmc
from sklearn.gaussian_process.kernels import RBF
from sklearn.neighbors import KNeighborsClassifier

from bayespoint import BayesPointClassifier, GaussianMarginClassifier
from bayespoint.bounds import binomial_bound, disintegrated_bound
from bayespoint.uses import certify

DELTA, SETS, FEW = 0.05, 500, 20
NORMAL = ndtri(qmc.Sobol(2, seed=0).random(1024))
CENTRES = np.random.default_rng(0).normal(size=(24, 2))
LINEAR = BayesPointClassifier("linear", optimizer=None)
CURVED = BayesPointClassifier(9.0 * RBF(1.0), optimizer=None)


class World:
    """A distribution of rows: inputs, the class of each without noise, and how often it is another."""

    def __init__(self, rule, flips=0.1, classes=2, n=120, points=None):
        self.rule, self.flips, self.classes, self.n, self.points = rule, flips, classes, n, points

    def sample(self, rng, n=None):
        n = n or self.n
        if self.points is None:
            X = rng.normal(size=(n, 2))
        else:
            X = self.points[rng.integers(len(self.points), size=n)] + 1e-5 * rng.normal(size=(n, 2))
        turned = (rng.random(n) < self.flips) * rng.integers(1, self.classes, n)
        return X, (self.rule(X) + turned) % self.classes

    def error(self, classifier):
        new = NORMAL if self.points is None else self.points
        wrong = float(np.mean(classifier.predict(new) != self.rule(new)))
        return self.flips + (1 - self.flips * self.classes / (self.classes - 1)) * wrong


WORLDS = {
    "noise": (World(lambda X: (X @ [1.0, 0.5] > 0).astype(int), flips=0.4), LINEAR),
    "rare": (World(lambda X: (X[:, 0] > 1.96).astype(int), flips=0.0, n=200), LINEAR),
    "near copies": (World(lambda X: (X[:, 0] * X[:, 1] > 0).astype(int), points=CENTRES), CURVED),
    "curved": (World(lambda X: (X[:, 1] > X[:, 0] ** 2 - 0.8).astype(int)), CURVED),
    "three classes": (World(lambda X: np.digitize(X[:, 0], [-0.6, 0.6]), classes=3), LINEAR),
}
KINDS = ("pac-bayes", "disintegrated", "held-out", "auto")


def over_many_sets(one, seed, sets):
    """Bounds and truths, one row a data set."""
    return np.array([one(np.random.default_rng([seed, 31, k])) for k in range(sets)])


def assert_guaranteed(pairs):
    failures = int(np.sum(pairs[:, 1] > pairs[:, 0]))
    chance = binomtest(failures, len(pairs), DELTA, alternative="greater").pvalue
    assert chance > 1e-3, f"bounds fail in {failures} of {len(pairs)} data sets"


def certified(world, model, method, rng):
    fraction, n = ("auto", 200) if method == "auto" else (0.5, world.n)  # a pilot needs a quarter of 160 rows
    while True:
        X, y = world.sample(rng, n)
        try:
            seed = int(rng.integers(2**31))
            found = certify(model, X, y, method=method, prior_fraction=fraction, delta=DELTA, random_state=seed)
            return found.bound.value, world.error(found.classifier)
        except ValueError as error:  # no rare row to fit to: other rows
            if "class" not in str(error):
                raise


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("method", ["disintegrated", "held-out"])
def test_bounds_hold_on_few_data_sets(method, name, seed):
    pairs = over_many_sets(lambda rng: certified(*WORLDS[name], method, rng), seed, FEW // 4 if name[0] == "t" else FEW)
    assert_guaranteed(pairs)
    assert np.mean(pairs[:, 0] < 1) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("method", KINDS)
def test_bounds_hold_on_many_data_sets(method, name, seed):
    pairs = over_many_sets(lambda rng: certified(*WORLDS[name], method, rng), seed, SETS)
    print(f"{method}, {name}: {np.sum(pairs[:, 1] > pairs[:, 0])} of {SETS} fail, mean bound {pairs[:, 0].mean():.3f}")
    assert_guaranteed(pairs)


@pytest.mark.slow
@pytest.mark.parametrize("model", [LINEAR, GaussianMarginClassifier(eta=0.95)], ids=["bayes point", "margin"])
def test_draws_from_a_fixed_prior(model, seed):
    world = WORLDS["noise"][0]

    def one(rng):
        draw = model.fit(*world.sample(rng)).certified_draw(rng)
        return draw.certificate_.bound.value, world.error(draw)

    assert_guaranteed(over_many_sets(one, seed, SETS))


# -- wrong on purpose -------------------------------------------------------------------------------------------------


def overfitted(rng, n=60):
    """Labels that are noise, a prior that may be anything: a draw from all of its posterior, and the true error."""
    X, y = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    model = BayesPointClassifier(100.0 * RBF(0.2), optimizer=None, softness=0.01).fit(X, y)
    latents = model.sample_latent(X, 1, rng)[0]
    return int(np.sum((latents > 0) != y)), 0.5


def test_a_draw_without_the_price_of_its_posterior_is_no_guarantee(seed):
    n = 60

    def one(rng):
        errors, truth = overfitted(rng, n)
        return disintegrated_bound(errors, n, 0.0, DELTA).value, truth

    with pytest.raises(AssertionError, match="bounds fail"):
        assert_guaranteed(over_many_sets(one, seed, FEW))


def test_rows_that_were_fitted_are_no_test_set(seed):
    """Held-out rows that have near copies in the training rows because someone put them there, too."""
    world = WORLDS["noise"][0]

    def one(rng):
        X, y = world.sample(rng)
        nearest = KNeighborsClassifier(1).fit(X, y)
        near, labels = X + 1e-6 * rng.normal(size=X.shape), y
        return binomial_bound(int(np.sum(nearest.predict(near) != labels)), len(y), DELTA).value, world.error(nearest)

    with pytest.raises(AssertionError, match="bounds fail"):
        assert_guaranteed(over_many_sets(one, seed, FEW))
