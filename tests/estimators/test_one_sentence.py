"""One sentence or a right answer: what users hand in by mistake, and rows that leave nothing to divide by."""

import warnings

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.svm import SVC

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier, Hinge, Problem, Step
from bayespoint._core import memory as _memory
from bayespoint.engines import EP, Billiard, Corners, Margin
from bayespoint.engines.margin import FactorGeometry, gaussian_margin
from bayespoint.engines.margin.solver import LOST
from bayespoint.engines.svm import support_vectors
from bayespoint.exceptions import InferenceWarning, InvalidProblemError
from bayespoint.grams import LowRank
from bayespoint.grams.views import choice

ESTIMATORS = [BayesPointClassifier, BayesianSVC, GaussianMarginClassifier]


@pytest.fixture
def plane():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture
def with_zero_rows(plane):
    X, y = plane
    X[:2] = 0
    return X, y


# -- a latent that is always zero ------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["newton", "hildreth"])
def test_a_zero_row_is_a_coin_to_a_margin_machine(with_zero_rows, solver):
    X, y = with_zero_rows
    model = GaussianMarginClassifier(bias=0, solver=solver, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X)[:2], 0.0)
    assert model.gibbs_error(X[:2], y[:2]) == 0.5
    drawn = model.predict_gibbs(np.zeros((400, 2)))
    assert abs(drawn.mean() - 0.5) < 4 * 0.5 / 20
    assert model.bounds()["exact"].value <= 1


def test_a_zero_row_among_three_classes(with_zero_rows):
    X, _ = with_zero_rows
    y = np.arange(20) % 3
    model = GaussianMarginClassifier(bias=0).fit(X, y)
    assert model.gibbs_error(X[:1], y[:1]) == pytest.approx(2 / 3, abs=1e-9)


def test_the_bound_chooses_settings_with_a_zero_row(with_zero_rows):
    model = GaussianMarginClassifier(bias=0, tune={"eta": [0.6, 0.9]}).fit(*with_zero_rows)
    assert model.eta_ in (0.6, 0.9)


def test_leave_one_out_of_a_zero_row(with_zero_rows):
    X, y = with_zero_rows
    proba = BayesianSVC(kernel="linear", bias=0, engine="laplace").fit(X, y).loo_proba_
    np.testing.assert_allclose(proba[:2], 0.5, atol=1e-12)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


# -- margins ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_a_margin_machine_that_asks_for_nothing(plane, C):
    with pytest.raises(InvalidProblemError, match=r"^eta=0\.5 with margin=0 asks for nothing [^\n]*\.$"):
        GaussianMarginClassifier(eta=0.5, C=C).fit(*plane)
    found = gaussian_margin(np.eye(3), [1, -1, 1], phi=0.0, cap=C)
    assert not found.alpha.any()
    assert found.gap == 0
    assert Margin(eta=0.5, C=C, margin=1.0).phi == 0


def test_a_precision_beyond_what_squares_can_hold():
    found = FactorGeometry(np.full((2, 2), 3.0)).covariance(np.full(2, 1e20))  # I + 2e20 x x' is singular when rounded
    np.testing.assert_allclose(found.deviations, np.sqrt(18.0 / (1 + 2e20 * 18.0)), rtol=1e-4)
    assert found.log_det == pytest.approx(np.log(36e20))


@pytest.mark.parametrize("which", [47, 105, 123])
def test_a_margin_machine_beyond_what_squares_can_hold(which):
    rng = np.random.default_rng(which)
    X = rng.normal(size=(5, rng.integers(1, 4)))
    X = (X.round() if which % 3 == 0 else X)[rng.integers(0, 5, 5)]
    y = rng.integers(0, 2, 5)
    model = GaussianMarginClassifier("rbf", eta=0.999, C=1e4, variance=1e6, slack="deviation", bias=10.0, max_rank=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        proba = model.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    alone = [i for i in range(5) if len(set(y[(X[i] == X).all(axis=1)])) == 1]
    np.testing.assert_array_equal(model.predict(X)[alone], y[alone])


def test_sweeps_beyond_what_rounding_leaves_of_a_variance():
    model = GaussianMarginClassifier(
        "laplacian", eta=0.6, C=np.inf, variance=1e6, margin=1.0, bias=0, slack="norm", solver="hildreth", max_rank=1
    )
    model.set_params(class_weight={0: 1e4})  # the spread of the weighted rows is the length scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            proba = model.fit([[3.0, 0.0], [3.0, -1.0]], [0, 1]).predict_proba([[3.0, 0.0]])
        except InvalidProblemError as found:
            proba = np.zeros(2) if str(found) == LOST else np.full(2, np.nan)
    assert np.isfinite(proba).all()


# -- the support vector machine --------------------------------------------------------------------


@pytest.mark.parametrize("spread", [0.0, 1e-3])
def test_rows_of_both_labels_at_two_places(spread):
    rng = np.random.default_rng(0)
    n = 10_000
    place = np.repeat([0, 1], n // 2)
    y = np.where(rng.random(n) < np.where(place, 0.7, 0.3), 1.0, -1.0)
    factor = np.array([[1.4, 0.0], [0.9, 1.1]])[place] + spread * rng.normal(size=(n, 2))
    found = support_vectors(Problem(LowRank(factor), y, Hinge(1.0)))
    w = factor.T @ (y * found.alpha)
    primal = 0.5 * w @ w + np.maximum(0.0, 1.0 - y * (factor @ w)).sum()
    dual = found.alpha.sum() - 0.5 * w @ w
    assert primal - dual < 1e-9 * primal
    assert found.latents[0] < 0 < found.latents[-1]


def test_the_classifier_agrees_with_scikit_learn_on_repeated_rows():
    rng = np.random.default_rng(1)
    X = np.repeat([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]], 300, axis=0)
    y = rng.random(900) < np.repeat([0.3, 0.7, 0.6], 300)
    ours = BayesianSVC(probability="map", engine="laplace", bias=100.0).fit(X, y).decision_function(X)
    np.testing.assert_allclose(ours, SVC().fit(X, y).decision_function(X), atol=2e-3)


def test_the_scale_of_features_far_from_zero(plane):
    X, y = plane
    far = 1e8 + X
    found = BayesianSVC().fit(far, y).kernel_.k2.length_scale
    assert found == pytest.approx(np.sqrt(X.shape[1] * far.var() / 2))


# -- what is refused, before anything is done ------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("weight", [1e300, 1e-300])
def test_weights_beyond_rounding(plane, estimator, weight):
    match = r"^Weights .* must lie between 1e-12 and 1e\+12, got 1e[+-]300: [^\n]*\.$"
    with pytest.raises(ValueError, match=match):
        estimator().fit(*plane, sample_weight=np.r_[weight, np.ones(19)])
    with pytest.raises(ValueError, match=match):
        estimator(class_weight={0: weight}).fit(*plane)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("scale", [1e-160, 1e-300])
def test_features_whose_squares_vanish(plane, estimator, scale):
    X, y = plane
    with pytest.raises(ValueError, match=r"^X has no entry beyond \de-[13].*rescale the features[^\n]*\.$"):
        estimator(kernel="rbf").fit(scale * X, y)


def test_kernel_values_whose_squares_vanish(plane):
    X, y = plane
    with pytest.raises(InvalidProblemError, match=r"^Kernel values reach only .* too small to square"):
        Problem(1e-200 * X @ X.T, 2.0 * y - 1, Step(softness=1.0))
    with pytest.raises(
        InvalidProblemError, match=r"^gamma=.* to the power of 3 is beyond rounding: rescale the features"
    ):
        BayesianSVC(kernel="poly").fit(1e-99 * X, y)


@pytest.mark.parametrize("estimator", [BayesPointClassifier, BayesianSVC])
@pytest.mark.parametrize("engine", [EP, Billiard])
def test_a_class_is_no_engine(plane, estimator, engine):
    with pytest.raises(InvalidProblemError, match=rf"^engine must be one of .*: write {engine.__name__}\(\)\.$"):
        estimator(engine=engine).fit(*plane)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (BayesianSVC(n_restarts=-1), r"n_restarts must be a whole number of at least 0, got -1\."),
        (BayesianSVC(n_restarts=0.5), r"n_restarts must be a whole number of at least 0, got 0\.5\."),
        (BayesianSVC(n_restarts="x"), r"n_restarts must be a whole number"),
        (BayesianSVC(degree=2.5), r"degree must be a whole number"),
        (BayesianSVC(coef0=-1.0), r"coef0 must be at least 0"),
        (BayesPointClassifier(None, max_rank=0), r"max_rank must be"),
        (BayesPointClassifier(None, decision="nonsense"), r"decision must be"),
        (GaussianMarginClassifier(tune={"eta": 0.9}), r"A grid to tune has lists of values"),
        (GaussianMarginClassifier(tune={"eta": [0.9, 2.0]}), r"eta must be at least 0\.5"),
    ],
)
def test_settings_come_first(model, match):
    nothing_to_learn_from = np.full((3, 1), np.nan)
    with pytest.raises(InvalidProblemError, match=f"^{match}"):
        model.fit(nothing_to_learn_from, [0, 1, 0])


def test_a_stream_checks_its_settings_too(plane):
    with pytest.raises(InvalidProblemError, match=r"^decision must be"):
        BayesPointClassifier("linear", decision="nonsense").partial_fit(*plane, classes=[0, 1])


# -- memory and time -------------------------------------------------------------------------------


def test_memory_is_asked_for_before_it_is_taken(plane, monkeypatch):
    X, y = plane
    monkeypatch.setattr(_memory, "_free_bytes", lambda: 8 * 20 * 20 - 1)
    match = r"^20 rows with each other take 0\.0 GB of memory, and 0\.0 GB are free: [^\n]*\.$"
    low_rank = Problem(LowRank(X), 2.0 * y - 1, Step(softness=1.0))
    for engine in (Billiard(), Corners()):
        with pytest.raises(InvalidProblemError, match=match):
            engine.infer(low_rank)
    with pytest.raises(InvalidProblemError, match=match):
        BayesPointClassifier(None, max_rank=None).fit(X, y)
    assert EP().infer(low_rank).log_evidence < 0
    monkeypatch.setattr(_memory, "_free_bytes", lambda: 3 * 8 * 20 * 20)
    BayesPointClassifier(None, max_rank=None, optimizer=None).fit(X, y)


def test_the_climb_does_not_begin_before_the_billiard_has_room(plane, monkeypatch):
    monkeypatch.setattr("bayespoint.estimators._search.choose", lambda *_: pytest.fail("climbed"))
    monkeypatch.setattr(_memory, "_free_bytes", lambda: 1000)
    with pytest.raises(InvalidProblemError, match="expectation propagation"):
        BayesPointClassifier("linear", engine="billiard", max_rank=2).fit(*plane)


def test_the_billiard_says_how_long_it_takes(monkeypatch):
    monkeypatch.setattr(_memory, "_free_bytes", lambda: None)
    with pytest.warns(
        InferenceWarning, match=r"^The billiard .* 40,000 rows \(12\.8 GB\) .* hours for 4,200 flights: "
    ):
        Billiard().announce(40_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Billiard().announce(2000)


def test_this_machine_has_some_memory():
    free = _memory._free_bytes()
    assert free is None or free > 1e8


# -- advice that applies ---------------------------------------------------------------------------


def test_a_hinge_is_not_told_to_be_softer():
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], 12)
    steep = Problem(1e6 * np.exp(-0.5 * np.subtract.outer(np.arange(12), np.arange(12)) ** 2 / 9), y, Hinge(1e3))
    with pytest.raises(InvalidProblemError, match=r"lower C or the amplitude of the kernel\.$"):
        Billiard(max_events=1).infer(steep, rng=0)
    with pytest.warns(InferenceWarning, match=r"^Expectation propagation stopped .* lower C or the amplitude"):
        EP(max_sweeps=1).infer(steep)
    with pytest.warns(InferenceWarning, match=r"^Expectation propagation stopped .* raise softness or noise"):
        EP(max_sweeps=1).infer(Problem(steep.gram, y, Step(noise=0.1, softness=1e-3)))


def test_the_exact_matrix_of_many_rows_is_not_recommended(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 3))
    for name, value in (("_MANY_ROWS", 10), ("_MOST_LANDMARKS", 5)):
        monkeypatch.setattr(choice, name, value)
    kernel = RBF(0.5)
    with pytest.warns(InferenceWarning, match=r"raise max_rank, or set it to None for the exact Gram matrix\.$"):
        choice.choose_view(kernel, X, "auto")
    monkeypatch.setattr(choice, "_BEARABLE", 50)
    with pytest.warns(InferenceWarning, match=r"at most; raise max_rank\.$"):
        choice.choose_view(kernel, X, "auto")
