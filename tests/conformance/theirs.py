"""Test files of scikit-learn, with our classifiers in the place of theirs.

A file is executed anew with names replaced, so that scikit-learn itself stays as it is. Cases about other estimators
are not taken over; cases that are left out are, and must fail.
"""

import importlib.util
import sys
from types import ModuleType
from unittest.mock import patch

import numpy as np
import pytest


def load(name, where, names):
    """A test file as a module, executed while some names of the module `where` stand for something else."""
    instead = ModuleType(where)
    vars(instead).update(vars(sys.modules[where]) | names)
    parent, _, child = where.rpartition(".")
    spec = importlib.util.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    with patch.dict(sys.modules, {where: instead}), patch.object(sys.modules[parent], child, instead):
        spec.loader.exec_module(module)
    return module


def cases(module, functions, kinds):
    """Test functions by name, but for those given and for parameters that are of other kinds of estimators."""
    found = {name: thing for name, thing in vars(module).items() if name.startswith("test_") and name not in functions}
    for function in found.values():
        marks = getattr(function, "pytestmark", [])
        function.pytestmark = [_without(mark, kinds) if mark.name == "parametrize" else mark for mark in marks]
    return found


def _without(mark, kinds):
    names, values, *rest = mark.args
    kept = [k for k, value in enumerate(values) if not _is_of(value, kinds)]
    options = dict(mark.kwargs)
    if options.get("ids"):
        options["ids"] = [options["ids"][k] for k in kept]
    return pytest.mark.parametrize(names, [values[k] for k in kept], *rest, **options).mark


def _is_of(value, kinds):
    parts = value if isinstance(value, tuple) else (value,)
    return any((part if isinstance(part, type) else type(part)).__name__ in kinds for part in parts)


def expect(request, reasons):
    """Mark a case that is left out: it must fail, or it has no place in the list."""
    for name in (request.node.name, request.node.originalname):
        if name in reasons:
            request.applymarker(pytest.mark.xfail(reason=reasons[name], strict=True))


def assert_equal_to_rounding(found, expected):
    """For tests that ask another algorithm for the same bits."""
    if np.asarray(expected).dtype.kind == "f":
        np.testing.assert_allclose(found, expected, atol=1e-8)
    else:
        np.testing.assert_array_equal(found, expected)
