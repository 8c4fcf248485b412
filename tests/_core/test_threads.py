import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from bayespoint import Hinge, Problem, Step
from bayespoint._core import threads as _threads
from bayespoint._core.threads import blas_threads_for
from bayespoint.engines import EP, Billiard, EllipticalSlice


def blas_threads():
    return {lib["filepath"]: lib["num_threads"] for lib in _threads._controller().info() if lib["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    """A known state to come back to, on any machine."""
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        if not before:
            pytest.skip("no BLAS whose threads can be counted")
        yield before


def test_small_matrices_have_one_thread(two_threads):
    with blas_threads_for(10):
        assert set(blas_threads().values()) == {1}
    assert blas_threads() == two_threads


def test_large_matrices_keep_theirs(two_threads):
    with blas_threads_for(100_000):
        assert blas_threads() == two_threads


@pytest.fixture
def unmeasured(monkeypatch):
    """A process in which nobody has asked yet, and the trials that are made in it."""
    trials = []
    monkeypatch.setattr(_threads, "_measured", [])
    monkeypatch.setattr(_threads, "_decomposition_seconds", lambda rows, alone: trials.append(rows) or 1.0 + alone)
    return trials


@pytest.mark.parametrize(
    ("gains", "rows"),
    [
        ({250: [1.0, 2.0, 2.0, 2.0], 750: [2.0, 2.0, 2.0]}, 250),  # threads pay on small matrices
        ({250: [1.0, 0.5, 0.5, 0.5], 750: [2.0, 2.0, 2.0]}, 750),
        ({250: [0.1, 2.0, 2.0, 0.9], 750: [2.0, 2.0, 2.0]}, 750),  # trials on the small ones disagree
        ({250: [1.0], 750: [0.8, 0.9, 0.8]}, 3000),
        ({250: [1.0], 750: [2.0, 2.0, 0.8]}, 3000),  # trials on the large ones disagree
        ({250: [1.0], 750: [1.3, 1.3, 1.3]}, 3000),  # too little to count on
        ({250: [0.01]}, 3000),  # no more trials on a busy machine
    ],
)
def test_what_is_small_follows_from_the_trials(gains, rows):
    turns = {size: iter(found) for size, found in gains.items()}
    assert _threads.threads_pay_from(lambda size, alone: 1.0 if alone else 1 / next(turns[size])) == rows
    assert all(next(left, None) is None for left in turns.values())


def test_trials_are_made_once_and_only_if_needed(two_threads, unmeasured):
    for rows in (10, 100_000):
        with blas_threads_for(rows):
            pass
    assert not unmeasured
    for _ in range(2):
        with blas_threads_for(300):  # threads pay, says the clock of these trials
            assert blas_threads() == two_threads
    assert len(unmeasured) == 2 + 2 * 2 * 3


def test_no_trials_with_one_thread(unmeasured):
    with threadpool_limits(limits=1, user_api="blas"), blas_threads_for(300):
        assert set(blas_threads().values()) == {1}
    assert not unmeasured
    assert not _threads._measured


def test_a_trial_takes_time_and_leaves_threads_as_they_were(two_threads):
    assert all(_threads._decomposition_seconds(250, alone) > 0 for alone in (True, False))
    assert blas_threads() == two_threads


def test_the_inner_of_two_does_not_restore(two_threads):
    with blas_threads_for(10):
        with blas_threads_for(20):
            pass
        with blas_threads_for(100_000):
            assert set(blas_threads().values()) == {1}
        assert set(blas_threads().values()) == {1}
    assert blas_threads() == two_threads


def test_an_exception_restores(two_threads):
    with pytest.raises(ZeroDivisionError), blas_threads_for(10), blas_threads_for(10):
        _ = 1 / 0
    assert blas_threads() == two_threads


CONCURRENT = """
import threading, time
import numpy, scipy.linalg
from bayespoint._core import threads as _threads

def blas_threads():
    return {lib["filepath"]: lib["num_threads"] for lib in _threads._controller().info() if lib["user_api"] == "blas"}

before = blas_threads()
first_in, second_in, one_out, done = (threading.Event() for _ in range(4))

def first():
    with _threads.blas_threads_for(10):
        first_in.set()
        second_in.wait(30)
        if FIRST_LEAVES_LAST:
            one_out.wait(30)
    one_out.set()
    done.wait(30)  # alive until the end, like a worker of a pool

def second():
    first_in.wait(30)
    with _threads.blas_threads_for(10):
        assert set(blas_threads().values()) == {1}
        second_in.set()
        if not FIRST_LEAVES_LAST:
            one_out.wait(30)
    one_out.set()
    done.wait(30)

workers = [threading.Thread(target=work, daemon=True) for work in (first, second)]
for worker in workers:
    worker.start()
one_out.wait(30)
time.sleep(0.3)
assert blas_threads() == before, (before, blas_threads())
with _threads.blas_threads_for(10):
    assert set(blas_threads().values()) == {1}
assert blas_threads() == before
done.set()
"""


@pytest.mark.parametrize("first_leaves_last", [True, False])
def test_overlapping_threads_restore(first_leaves_last):
    """In a process of its own: libraries let only one thread at a time set the limit, and this one has it here."""
    script = CONCURRENT.replace("FIRST_LEAVES_LAST", str(first_leaves_last))
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    answer = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0, answer.stderr


def test_a_crowd_of_threads_restores(two_threads):
    def come_and_go():
        for _ in range(20):
            with blas_threads_for(10):
                pass

    crowd = [threading.Thread(target=come_and_go) for _ in range(8)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert blas_threads() == two_threads


@pytest.mark.parametrize("engine", [EP(), Billiard(draws=20, n_jobs=2), EllipticalSlice(draws=20)], ids=str)
def test_engines_leave_the_threads_as_they_were(engine, two_threads):
    engine.infer(Problem(np.eye(3), [1, -1, 1], Hinge(1.0)), rng=0)
    with pytest.raises(ValueError, match="Version space is empty"):
        engine.infer(Problem(np.ones((2, 2)), [1, -1], Step()), rng=0)
    assert blas_threads() == two_threads


def test_few_columns_of_many_rows_are_little_work(monkeypatch):
    """A square matrix that is as much work decides; a rank beyond the rows changes nothing."""
    seen = []
    monkeypatch.setattr(_threads, "_threads_pay_from", lambda: seen.append("asked") or 3000)
    for rows, rank, asks in ((1000, 20, False), (1000, 500, True), (1000, 2000, True), (1000, None, True)):
        seen.clear()
        with _threads.blas_threads_for(rows, rank):
            pass
        assert bool(seen) == asks
