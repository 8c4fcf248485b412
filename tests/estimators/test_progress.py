"""Watching a fit, its forecast, and its end in time. Clocks are fake: nothing here depends on seconds."""

import io
import pickle
import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_circles, make_classification
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from bayespoint import BayesianSVC, BayesPointClassifier, GaussianMarginClassifier, Progress, Step
from bayespoint._core import speed
from bayespoint.estimators import _forecast, _progress
from bayespoint.estimators._callbacks import fit_progress
from bayespoint.estimators._forecast import Forecast, duration
from bayespoint.exceptions import InferenceWarning, InvalidProblemError
from bayespoint.tuning import Candidate, Model, stacking

needs_callbacks = pytest.mark.skipif(
    not hasattr(BayesPointClassifier, "set_callbacks"), reason="callbacks came with scikit-learn 1.9"
)


class Clock:
    """A second passes whenever somebody looks."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


class Screen(io.StringIO):
    """A standard error that is a terminal, or is not."""

    def __init__(self, *, is_terminal):
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal


class Notes:
    """A callback that writes down what ends, and says stop after so many tasks of a kind."""

    def __init__(self, enough=None, at="kernel"):
        self.enough, self.at, self.begun, self.ended, self.proba = enough, at, [], [], []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, *, metadata):
        self.begun.append((context.task_name, context.max_subtasks, context.parent and context.parent.task_name))

    def on_fit_task_end(self, estimator, context, *, X, metadata, fitted_estimator):
        if not context.task_name.startswith(self.at):
            return False
        self.ended.append(metadata)
        self.proba.append(fitted_estimator.predict_proba(X))
        return len(self.ended) == self.enough


ROWS = 70  # fewer would be tuned down to rounding


@pytest.fixture(scope="module")
def table():
    return make_circles(ROWS, noise=0.2, factor=0.5, random_state=0)


@pytest.fixture(scope="module")
def whole(table):
    """A fit that nobody stops, and notes of it."""
    return BayesPointClassifier().set_callbacks(notes := Notes()).fit(*table), notes


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(_progress, "monotonic", clock := Clock())
    return clock


def watched(monkeypatch, fit, *, is_terminal=False):
    """What a fit writes."""
    monkeypatch.setattr("sys.stderr", screen := Screen(is_terminal=is_terminal))
    fit()
    return screen.getvalue()


# -- tasks --------------------------------------------------------------------------------------------------------


@needs_callbacks
def test_kernels_are_tasks_of_known_number_with_iterations_below(whole):
    model, notes = whole
    kernels = [f"kernel {name}" for name in ("linear", "isotropic", "relevance")]
    below_fit = [name for name, _, parent in notes.begun if parent == "fit"]
    assert notes.begun[0] == ("fit", len(below_fit), None)
    assert below_fit[:3] == kernels
    assert below_fit[-1] == "posteriors"
    parents = {parent for name, _, parent in notes.begun if name == "evidence iteration"}
    assert parents >= set(kernels)
    assert parents <= set(below_fit)
    assert set(model.weights_) <= {name.removeprefix("kernel ") for name in below_fit}


@needs_callbacks
def test_classes_as_one_problem_can_be_watched_while_each_is_still_against_the_rest(rng):
    X = rng.standard_normal((60, 2))
    y = np.arange(60) % 6  # more classes than go ahead
    X[:, 0] += y
    model = BayesPointClassifier(decision="joint", random_state=0)
    model.set_callbacks(notes := Notes(at="")).fit(X, y)
    assert {one.shape for one in notes.proba} == {(60, 6)}
    np.testing.assert_allclose(notes.proba[-1], model.predict_proba(X))


@needs_callbacks
def test_a_kernel_that_ends_tells_what_it_found(table, whole):
    model, notes = whole
    assert all({"kernel", "iteration", "log_evidence", "loo_log_loss"} <= set(one) for one in notes.ended)
    assert all(proba.shape == (ROWS, 2) for proba in notes.proba)
    left_out = model.loo_proba_[np.arange(ROWS), table[1]]
    np.testing.assert_allclose(notes.ended[-1]["loo_log_loss"], -np.log(left_out).mean(), atol=3 / ROWS)
    np.testing.assert_allclose(notes.proba[-1], model.predict_proba(table[0]), atol=0.05)


@needs_callbacks
@pytest.mark.parametrize("enough", [1, 2])
def test_stop_ends_the_search_after_the_kernel_at_hand(table, enough):
    notes = Notes(enough)
    model = BayesPointClassifier().set_callbacks(notes).fit(*table)
    assert len(notes.ended) == enough
    assert set(model.weights_) <= {"linear", "isotropic"}
    assert len(model.weights_) <= enough
    np.testing.assert_allclose(model.predict_proba(table[0]), notes.proba[-1], atol=1e-6)


@needs_callbacks
def test_stop_in_an_iteration_ends_the_climb_of_its_kernel_alone(table, whole):
    stop, after, free = Notes(1, at="evidence iteration"), Notes(), whole[1]
    BayesPointClassifier().set_callbacks(stop, after).fit(*table)
    assert after.ended[0]["iteration"] == 1 < free.ended[0]["iteration"]
    assert len(after.ended) == len(free.ended)


@needs_callbacks
def test_whoever_said_stop_need_not_say_it_again(table):
    """Climbs that would go on after the last kernel stop at once."""
    model, X, y = BayesPointClassifier().set_callbacks(Notes(1)), *table
    found = Candidate(Model(RBF(), Step(), name="a"), (), -1.0, None)
    proba = {"predict_proba": lambda X: np.ones((len(X), 2))}
    with fit_progress(model, X, y, lambda found: proba) as watch:
        watch.begin(None, 2)
        for tuned, _ in enumerate(watch.members([found.model] * 2, lambda: (found, 0.5))):
            assert tuned == 0
            assert not watch.iteration(found)
        assert watch.iteration(found)


@needs_callbacks
def test_an_interrupt_leaves_the_estimator_as_it_was(table, monkeypatch):
    class Impatient(Notes):
        def on_fit_task_begin(self, estimator, context, *, metadata):
            if context.task_name == "kernel isotropic":
                raise KeyboardInterrupt

    X, y = table
    model = BayesPointClassifier(None).fit(X, y)
    before = model.predict_proba(X)

    def interrupted():
        with pytest.raises(KeyboardInterrupt):
            model.set_params(kernel="auto", verbose=1).set_callbacks(Impatient()).fit(X, y)

    written = watched(monkeypatch, interrupted, is_terminal=True)
    assert written.endswith("\n")  # what comes next does not begin in the middle of the line
    np.testing.assert_array_equal(model.predict_proba(X), before)


# -- better and better --------------------------------------------------------------------------------------------


def stacked(logs, weights):
    return float(np.log(np.exp(logs) @ weights).sum())


def falls(logs, weigh):
    """How far the log-density of left-out labels is below its best so far, as models are added one by one."""
    values = [stacked(logs[:, :k], weigh(logs[:, :k])) for k in range(1, logs.shape[1] + 1)]
    return np.maximum.accumulate(values) - values


@pytest.mark.parametrize("number", range(20))
def test_another_model_costs_no_more_than_the_shrinkage(number, seed):
    """Concavity: the shrunken optimum is at most the shrinkage's rows below the free one, which never falls.

    With the slopes g of the sum of log-densities at the weights w, the fixed point says g_m = n + c - c / (k w_m) <=
    n + c, so no other weights gain more than g'v - g'w <= (n + c) - n = c nats.
    """
    rng = np.random.default_rng([seed, number])
    n = int(rng.integers(5, 200))
    logs = np.log(rng.beta(*rng.uniform(0.3, 5, 2), size=(n, 6)) * rng.uniform(0.1, 1, 6) + 1e-12)
    assert falls(logs, stacking.stacking_weights).max() <= stacking._PRIOR + 1e-3


def test_equal_weights_would_cost_more():
    """The control: without stacking a bad model takes away more than the shrinkage does."""
    good, bad = np.full(100, np.log(0.9)), np.full(100, np.log(0.1))
    logs = np.stack([good, bad], axis=1)
    assert falls(logs, lambda part: np.full(part.shape[1], 1 / part.shape[1])).max() > stacking._PRIOR
    assert falls(logs, stacking.stacking_weights).max() <= stacking._PRIOR


@needs_callbacks
def test_the_log_loss_falls_from_kernel_to_kernel_but_for_the_shrinkage(whole):
    losses = [one["loo_log_loss"] for one in whole[1].ended]
    assert len(losses) > 2
    assert np.max(losses - np.minimum.accumulate(losses)) <= stacking._PRIOR / ROWS
    assert losses[-1] < losses[0] - 0.1  # no line separates circles


# -- the time budget ----------------------------------------------------------------------------------------------


@needs_callbacks
def test_a_budget_ends_the_search_with_one_kernel_at_the_least(table, clock):
    model = BayesPointClassifier().set_callbacks(Progress(time_budget=0.5, quiet=True)).fit(*table)
    assert list(model.weights_) == ["linear"]
    assert model.predict_proba(table[0]).shape == (ROWS, 2)


@needs_callbacks
def test_more_time_means_more_kernels_and_no_worse_a_loss(table, clock, whole):
    found = []
    for seconds in (1, 40):
        notes = Notes()
        BayesPointClassifier().set_callbacks(notes, Progress(seconds, quiet=True)).fit(*table)
        found.append((len(notes.ended), notes.ended[-1]["loo_log_loss"]))
    found.append((len(whole[1].ended), whole[1].ended[-1]["loo_log_loss"]))
    kernels, losses = zip(*found, strict=True)
    assert kernels[0] == 1 < kernels[1] < kernels[2]
    assert np.diff(losses).max() <= stacking._PRIOR / ROWS


@needs_callbacks
def test_a_budget_ends_the_climb_of_a_single_kernel(table, clock):
    free = BayesPointClassifier(None).fit(*table)
    ended = BayesPointClassifier(None).set_callbacks(Progress(0.5, quiet=True)).fit(*table)
    assert ended.log_evidence_ < free.log_evidence_


@pytest.mark.parametrize("seconds", [0, -1, "ten", float("nan")])
def test_a_budget_that_is_none_is_refused(seconds):
    with pytest.raises(InvalidProblemError, match="time_budget must be a number of seconds above 0"):
        Progress(seconds)


# -- the line -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("clock")
def test_plain_lines_one_a_kernel(table, monkeypatch):
    written = watched(monkeypatch, lambda: BayesPointClassifier(verbose=1).fit(*table))
    first, *kernels, last = written.splitlines()
    assert first.startswith(f"{ROWS} rows, the whole Gram matrix, ")
    assert f"{len(kernels)} kernels" in first
    assert [line.split(" | ")[1] for line in kernels[:2]] == [f"1/{len(kernels)} linear", f"2/{len(kernels)} isotropic"]
    assert all("leave-one-out log loss 0." in line and "log-evidence -" in line for line in kernels)
    assert last.startswith("fitted in ")
    assert "\r" not in written


@pytest.mark.usefixtures("clock")
def test_one_moving_line_in_a_terminal(table, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    written = watched(monkeypatch, lambda: BayesPointClassifier(verbose=1).fit(*table), is_terminal=True)
    assert written.count("\n") == 2  # the forecast and the result stay
    moving = written.split("\r")
    assert any("linear" in line and "(iteration 2)" in line for line in moving)
    assert any(" left | posteriors" in line for line in moving)
    assert all(len(after) >= len(before.rstrip()) for before, after in pairwise(moving[1:]))


@pytest.mark.usefixtures("clock")
def test_the_line_is_never_wider_than_the_terminal(table, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    written = watched(monkeypatch, lambda: BayesPointClassifier(verbose=1).fit(*table), is_terminal=True)
    _, *moving = written.split("\n")[1].split("\r")
    assert max(len(line) for line in moving[:-1]) == 39


@pytest.mark.usefixtures("clock")
def test_eighty_columns_are_enough_for_all_figures(table, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    written = watched(monkeypatch, lambda: BayesPointClassifier(verbose=1).fit(*table), is_terminal=True)
    assert any("| 2/5 isotropic | loo loss 0." in line and "(#2)" in line for line in written.split("\r"))


@pytest.mark.usefixtures("clock")
def test_verbose_is_the_callback_and_not_both(table, monkeypatch):
    line = watched(monkeypatch, lambda: BayesPointClassifier(None, verbose=1).fit(*table))
    assert line.count("fitted in") == 1
    if hasattr(BayesPointClassifier, "set_callbacks"):
        model = BayesPointClassifier(None, verbose=1).set_callbacks(Progress())
        assert watched(monkeypatch, lambda: model.fit(*table)).count("fitted in") == 1


@pytest.mark.parametrize(
    "model",
    [
        BayesianSVC(optimizer="evidence", evidence="naive", verbose=1),
        BayesPointClassifier(engine="perceptron", verbose=1, random_state=0),
    ],
    ids=["machine", "perceptrons"],
)
def test_every_kind_of_fit_can_be_watched(model, table, monkeypatch):
    def fit():
        with warnings.catch_warnings(action="ignore", category=InferenceWarning):
            clone(model).fit(*table)

    assert "fitted in" in watched(monkeypatch, fit)


@needs_callbacks
def test_a_margin_machine_has_the_callback(table, monkeypatch):
    model = GaussianMarginClassifier().set_callbacks(Progress())
    assert "fitted in" in watched(monkeypatch, lambda: model.fit(*table))


def test_nothing_is_written_unless_asked_for(table, monkeypatch):
    assert not watched(monkeypatch, lambda: BayesPointClassifier(None).fit(*table))


def test_verbose_is_a_whole_number(table):
    with pytest.raises(InvalidProblemError, match="verbose must be a whole number of at least 0"):
        BayesPointClassifier(verbose="loud").fit(*table)


@needs_callbacks
def test_progress_in_a_pipeline_under_cross_validation_and_over_processes(table, monkeypatch):
    model = make_pipeline(BayesPointClassifier(None).set_callbacks(Progress()))
    written = watched(monkeypatch, lambda: cross_val_score(model, *table, cv=2))
    assert written.count("fitted in") == 2
    pickle.loads(pickle.dumps(model))


@needs_callbacks
def test_progress_has_nothing_to_say_of_others(table, monkeypatch):
    if hasattr(LogisticRegression, "set_callbacks"):
        model = LogisticRegression().set_callbacks(Progress(time_budget=1e-9))
        watched(monkeypatch, lambda: model.fit(*table))


# -- forecasts ----------------------------------------------------------------------------------------------------


def test_the_time_left_follows_the_kernels_so_far(monkeypatch):
    """Twice as slow as forecast: what is left takes longer, too, but one kernel does not say all."""
    monkeypatch.setattr(_forecast, "factorisation_speed", lambda rank: 1.0)
    expected = Forecast(100, 100, ("a", "b", "c"), 0, (10.0, 10.0, 10.0), 10.0)
    state = _progress._State(0.0, expected)
    assert state.left(0.0) == 40
    assert state.left(4.0) == 36
    state.begin_task("a", 0.0)
    state.done = 1
    state.begin_task("b", 20.0)
    assert state.left(20.0) == 30 * (20 + 10) / (10 + 10)
    state.begin_task("posteriors", 20.0)  # somebody said stop
    assert state.left(20.0) == 10 * (20 + 10) / (10 + 10)
    assert state.left(1000.0) == 0


def test_speed_is_measured(monkeypatch):
    monkeypatch.setattr(speed, "perf_counter", Clock())
    speed._measured.cache_clear()
    assert speed.factorisation_speed(64) == 64**3 / 3  # operations in the second that the clock says it took
    assert speed.factorisation_speed(100_000) == 512**3 / 3
    speed._measured.cache_clear()


class Enough(Exception):
    """Nobody need do the work that was forecast."""


def told(monkeypatch, model, X, y):
    """The forecast of a fit."""
    seen = []

    def warn(forecast):
        seen.append(forecast)
        raise Enough

    monkeypatch.setattr(Forecast, "warn_if_long", warn)
    with pytest.raises(Enough):
        model.set_params(verbose=1).fit(X, y)  # few rows are forecast only for those who watch
    return seen[0]


def test_a_forecast_knows_rows_rank_and_kernels(table, monkeypatch):
    X, y = table
    one = told(monkeypatch, BayesPointClassifier("rbf"), X, y)
    assert (one.rows, one.rank, len(one.tuning)) == (ROWS, ROWS, 1)
    assert one.finishing == 0  # the posterior that the climb ends with
    few = told(monkeypatch, BayesPointClassifier("rbf", max_rank=10), X, y)
    assert few.rank == 10
    assert sum(few.tuning) < sum(one.tuning)
    assert few.memory < one.memory
    fixed = told(monkeypatch, BayesPointClassifier("rbf", optimizer=None), X, y)
    assert fixed.tuning == (0,)
    assert fixed.finishing > 0
    machine = {"optimizer": "evidence", "evidence": "naive", "random_state": 0}
    once, often = (told(monkeypatch, BayesianSVC(n_restarts=k, **machine), X, y) for k in (0, 2))
    assert often.tuning[0] == 3 * once.tuning[0]
    mixed = told(monkeypatch, BayesPointClassifier(), X, y)
    assert len(mixed.tuning) == len(mixed.kernels) > 2
    drawn = told(monkeypatch, BayesPointClassifier("rbf", engine="billiard", random_state=0), X, y)
    assert drawn.then == "Billiard"


def test_the_rank_of_a_linear_kernel_is_that_of_its_features(monkeypatch):
    X, y = make_classification(1200, 3, n_informative=2, n_redundant=0, flip_y=0.1, random_state=0)
    assert told(monkeypatch, BayesPointClassifier("linear", optimizer=None), X, y).rank == 4


def test_long_work_is_announced_and_short_work_measures_nothing(monkeypatch):
    def never(rank):
        raise AssertionError

    long = Forecast(50_000, 1000, ("a", "b"), 2 * 10**9, (1e13, 1e13), 1e12)
    monkeypatch.setattr(_forecast, "factorisation_speed", lambda rank: 1e10)
    with pytest.warns(InferenceWarning, match="50,000 rows, rank 1,000 at most, 2 kernels; about 35 min and 2.0 GB"):
        long.warn_if_long()
    monkeypatch.setattr(_forecast, "factorisation_speed", lambda rank: 1e12)
    long.warn_if_long()  # a fast machine
    monkeypatch.setattr(_forecast, "factorisation_speed", never)
    Forecast(1000, 1000, ("a",), 10**7, (1e10,), 1e10).warn_if_long()


@pytest.mark.parametrize(("seconds", "said"), [(3.2, "3 s"), (99, "99 s"), (150, "2 min"), (7200, "2.0 h")])
def test_durations(seconds, said):
    assert duration(seconds) == said
