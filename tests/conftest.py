import numpy as np
import pytest
from hypothesis import settings

collect_ignore = ["mutants", "soak"]  # scripts, not tests: `make mutants`, `make soak`

settings.register_profile("small", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("small")


def pytest_addoption(parser):
    parser.addoption("--seeds", type=int, default=1, help="sweep tests that take `seed` over this many seeds")


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe: of tests of scikit-learn, which are run against our classifiers")


def pytest_generate_tests(metafunc):
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("seeds")))


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


@pytest.fixture
def blobs(rng):
    """Two overlapping classes in the plane."""
    y = np.repeat([0, 1], 20)
    return rng.normal(size=(40, 2)) + 1.2 * y[:, None], y


@pytest.fixture
def triplets(rng):
    """Three overlapping classes in the plane."""
    y = np.repeat([0, 1, 2], 15)
    return rng.normal(size=(45, 2)) + 2.5 * np.eye(3)[y][:, :2], y
