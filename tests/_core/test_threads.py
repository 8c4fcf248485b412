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
