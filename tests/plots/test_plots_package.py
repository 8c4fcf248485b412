"""What all displays have in common."""

import inspect
import subprocess
import sys

import pytest

from bayespoint import plots
from bayespoint.plots._style import new_axes

DISPLAYS = [getattr(plots, name) for name in plots.__all__]


def test_importing_displays_does_not_import_matplotlib():
    code = "import sys, bayespoint.plots; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_missing_matplotlib_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"Displays need matplotlib: install bayespoint\[plot\]"):
        new_axes()


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: display.__name__)
def test_the_shape_of_a_display(display):
    assert display.__name__.endswith("Display")
    assert inspect.signature(display.plot).parameters["ax"].default is None
    makers = [name for name, _ in inspect.getmembers(display, inspect.ismethod) if name.startswith("from_")]
    assert makers
    for name in makers:
        assert inspect.signature(getattr(display, name)).parameters["ax"].default is None
    for name in ("ax_", "figure_"):
        assert name in display.__doc__
