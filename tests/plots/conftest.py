import matplotlib as mpl
import pytest

mpl.use("Agg")


@pytest.fixture(autouse=True)
def plt():
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")
