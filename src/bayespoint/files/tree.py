"""Models as plain data and back: a list of nodes that refer to earlier ones, and arrays beside it.

Nothing in a file says how to make a thing: a node has a kind of this module, or names a class that is known
(`known_classes`), which is made without its constructor and given its state.
"""

from __future__ import annotations

from collections import UserList
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from inspect import getattr_static
from math import isfinite
from types import FunctionType, MethodType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from .._core.files import parts_of
from ..exceptions import ModelFileError
from .known import known_classes, known_functions, name_of

__all__ = ["KINDS", "decoded", "encoded"]

_WATCHERS = ("_skl_", "_callback_", "_parent_callback")  # of scikit-learn's callbacks: no part of a model
_DTYPES = "biufcUSmM"  # kinds of numbers, text and dates that arrays may have: no objects
_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
_SPARSE = {name: getattr(sparse, name) for name in ("csr_array", "csr_matrix", "csc_array", "csc_matrix")}
_REFERENCE = "node"


# -- to a file -------------------------------------------------------------------------------------------------------


def encoded(value: Any) -> tuple[list[Any], list[Any]]:
    """Nodes, of which the last is the value, and arrays that they refer to by number."""
    writer = _Writer()
    root = writer.reference(value)
    if not isinstance(root, dict):
        raise ModelFileError(f"A model file holds a fitted classifier, got {value!r}.")
    return writer.nodes, writer.arrays


class _Writer:
    """Nodes written so far; whatever is shared is written once."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.arrays: list[Any] = []
        self.where: dict[int, Any] = {}  # by identity
        self.kept: list[Any] = []  # alive, lest identities be given away again
        self.open: set[int] = set()

    def reference(self, value: Any, path: str = "") -> Any:
        """A number, a truth value, a text or nothing as it is; else the number of its node."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float and isfinite(value):
            return value
        if id(value) in self.where:
            return self.where[id(value)]
        if id(value) in self.open:
            raise ModelFileError(f"This model cannot be kept in a file: {path or 'it'} refers to itself.")
        self.open.add(id(value))
        node = self.node(value, path)
        self.open.discard(id(value))
        self.nodes.append(node)
        self.kept.append(value)
        self.where[id(value)] = {_REFERENCE: len(self.nodes) - 1}
        return self.where[id(value)]

    def node(self, value: Any, path: str) -> list[Any]:
        kind = type(value)
        if kind is float:
            return ["float", repr(value)]
        if kind is np.ndarray:
            return self.array(value, path)
        if isinstance(value, np.generic):
            return ["scalar", self.reference(np.asarray(value), path)]
        if isinstance(value, UserList) and kind.__module__.startswith("sklearn."):
            return self.node(value.data, path)  # columns that ColumnTransformer left over, in older scikit-learn
        if kind in (list, tuple, set, frozenset):
            return [kind.__name__, [self.reference(one, f"{path}[{i}]") for i, one in enumerate(value)]]
        if kind is dict:
            return ["dict", [[self.reference(k, path), self.reference(v, f"{path}[{k!r}]")] for k, v in value.items()]]
        if isinstance(value, np.dtype) and value.kind in _DTYPES:
            return ["dtype", value.str]
        if kind is slice:
            return ["slice", [value.start, value.stop, value.step]]
        if isinstance(value, np.random.Generator | np.random.RandomState):
            return self.generator(value, path)
        if sparse.issparse(value) and kind.__name__ in _SPARSE:
            parts = [self.reference(part, path) for part in (value.data, value.indices, value.indptr)]
            return ["sparse", kind.__name__, list(value.shape), parts]
        for name, function in known_functions().items():
            if value is function:
                return ["function", name]
        return self.thing(value, path)

    def array(self, value: Any, path: str) -> list[Any]:
        if value.dtype == object:
            items = [self.reference(one, path) for one in value.ravel().tolist()]
            return ["objects", list(value.shape), items]
        if value.dtype.kind not in _DTYPES or value.dtype.hasobject:
            raise ModelFileError(f"This model cannot be kept in a file: {path} is an array of type {value.dtype}.")
        by_columns = value.flags.f_contiguous and not value.flags.c_contiguous
        plain = value.astype(value.dtype.newbyteorder("<"), order="F" if by_columns else "C", copy=False)
        self.arrays.append(plain.tobytes("F" if by_columns else "C"))
        return ["array", plain.dtype.str, list(value.shape), "F" if by_columns else "C", len(self.arrays) - 1]

    def generator(self, value: Any, path: str) -> list[Any]:
        source = value.bit_generator if isinstance(value, np.random.Generator) else value._bit_generator
        return ["generator", type(value).__name__, self.reference(dict(source.state), path)]

    def thing(self, value: Any, path: str) -> list[Any]:
        name = name_of(type(value))
        if known_classes().get(name) is not type(value):
            raise ModelFileError(_unknown(value, path))
        if isinstance(value, tuple):
            state = value._asdict()  # type: ignore[attr-defined]
        else:
            state = _state_of(value)
        refuse_cache(name, state)
        inner = path or type(value).__name__
        return ["object", name, {key: self.reference(one, f"{inner}.{key}") for key, one in state.items()}]


def _state_of(value: Any) -> dict[str, Any]:
    """What a thing is made of, as it says itself; values of dataclasses without what was worked out since."""
    if is_dataclass(value) and type(value).__getstate__ is object.__getstate__:
        return parts_of(value)
    state = dict(value.__getstate__() or {})
    return {key: one for key, one in state.items() if not key.startswith(_WATCHERS)}


def refuse_cache(name: str, state: Mapping[str, Any]) -> None:
    """A pipeline that keeps its steps in a directory would read whatever lies there."""
    if name in ("sklearn.Pipeline", "sklearn.FeatureUnion") and state.get("memory") is not None:
        raise ModelFileError("A model file holds no pipeline with a cache: set memory=None.")


def _unknown(value: Any, path: str) -> str:
    place = f" ({path})" if path else ""
    if isinstance(value, FunctionType | MethodType) or (callable(value) and not isinstance(value, BaseEstimator)):
        name = getattr(value, "__name__", type(value).__name__)
        return (
            f"A model file holds no code, and this model rests on the function {name!r}{place}: use a kernel object or "
            "a transformer that the library knows, or keep the model by pickle among those you trust."
        )
    return (
        f"Model files do not know {type(value).__module__}.{type(value).__qualname__}{place}: save the classifier "
        "without it, or keep the model by pickle among those you trust."
    )


# -- from a file -----------------------------------------------------------------------------------------------------


def decoded(nodes: Any, array: Callable[[int, int], bytes]) -> list[Any]:
    """What nodes stand for, in their order; `array(number, size)` has the bytes of an array of that many bytes."""
    if not isinstance(nodes, list) or not nodes:
        raise ModelFileError("it has no nodes")
    values: list[Any] = []
    for node in nodes:
        if not (isinstance(node, list) and node and isinstance(node[0], str) and node[0] in KINDS):
            raise ModelFileError(f"it has a node of an unknown kind, {str(node)[:60]}")
        values.append(KINDS[node[0]](_Reader(values, array), *node[1:]))
    return values


class _Reader:
    """Values read so far, which nodes may refer to; later ones they may not."""

    def __init__(self, values: list[Any], array: Callable[[int, int], bytes]) -> None:
        self.values, self.array = values, array

    def value(self, reference: Any) -> Any:
        if reference is None or type(reference) in (bool, int, str, float):
            return reference
        if isinstance(reference, dict) and list(reference) == [_REFERENCE]:
            number = reference[_REFERENCE]
            if type(number) is int and 0 <= number < len(self.values):
                return self.values[number]
        raise ModelFileError(f"it refers to something that is not there, {str(reference)[:60]}")

    def all(self, references: Any) -> list[Any]:
        return [self.value(one) for one in _checked(references, list)]


def _checked(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ModelFileError(f"it has {str(value)[:60]!r} where a {kind.__name__} belongs")
    return value


def _float(_: _Reader, text: Any) -> float:
    if text not in ("inf", "-inf", "nan"):
        raise ModelFileError(f"it has {str(text)[:60]!r} where a number belongs")
    return float(text)


def _shape(sizes: Any) -> tuple[int, ...]:
    if not (isinstance(sizes, list) and len(sizes) <= 32 and all(type(n) is int and 0 <= n < 2**48 for n in sizes)):
        raise ModelFileError(f"it has an array of impossible shape {str(sizes)[:60]}")
    return tuple(sizes)


def _dtype(_: _Reader, form: Any) -> Any:
    try:
        dtype = np.dtype(_checked(form, str))
    except (TypeError, ValueError):
        raise ModelFileError(f"it has an array of unknown type {form[:60]!r}") from None
    if dtype.kind not in _DTYPES or dtype.hasobject or dtype.shape:
        raise ModelFileError(f"it has an array of type {form[:60]!r}, which may not be in a file")
    return dtype


def _array(reader: _Reader, form: Any, sizes: Any, order: Any, number: Any) -> Any:
    shape, dtype = _shape(sizes), _dtype(reader, form)
    if order not in ("C", "F"):
        raise ModelFileError(f"it has an array in the unknown order {str(order)[:60]!r}")
    count = 1
    for n in shape:
        count *= n
    raw = reader.array(_checked(number, int), count * dtype.itemsize)
    flat = np.frombuffer(raw, dtype=dtype) if raw else np.zeros(count, dtype=dtype)
    return flat.reshape(shape, order=order).astype(dtype.newbyteorder("="), order="K", copy=True)


def _objects(reader: _Reader, sizes: Any, items: Any) -> Any:
    values = reader.all(items)
    array = np.empty(len(values), dtype=object)
    for i, one in enumerate(values):  # one by one: a tuple is one object
        array[i] = one
    return array.reshape(_shape(sizes))


def _scalar(reader: _Reader, reference: Any) -> Any:
    array = _checked(reader.value(reference), np.ndarray)
    if array.ndim:
        raise ModelFileError("it has an array where a number belongs")
    return array[()]


def _dict(reader: _Reader, pairs: Any) -> dict[Any, Any]:
    return {reader.value(_checked(pair, list)[0]): reader.value(pair[1]) for pair in _checked(pairs, list)}


def _slice(_: _Reader, parts: Any) -> slice:
    if len(_checked(parts, list)) != 3 or not all(one is None or type(one) is int for one in parts):
        raise ModelFileError(f"it has {str(parts)[:60]} where a slice belongs")
    return slice(*parts)


def _generator(reader: _Reader, kind: Any, reference: Any) -> Any:
    state = _checked(reader.value(reference), dict)
    if state.get("bit_generator") not in _GENERATORS or kind not in ("Generator", "RandomState"):
        raise ModelFileError(f"it has an unknown source of randomness, {str(state.get('bit_generator'))[:60]!r}")
    source = getattr(np.random, state["bit_generator"])(0)
    source.state = state
    return getattr(np.random, kind)(source)


def _sparse(reader: _Reader, kind: Any, sizes: Any, parts: Any) -> Any:
    if kind not in _SPARSE:
        raise ModelFileError(f"it has a sparse matrix of unknown kind {str(kind)[:60]!r}")
    data, indices, indptr = (_checked(part, np.ndarray) for part in reader.all(parts))
    matrix = _SPARSE[kind]((data, indices, indptr), shape=_shape(sizes))
    matrix.check_format(full_check=True)  # indices within bounds
    return matrix


def _function(_: _Reader, name: Any) -> Any:
    if name not in known_functions():
        raise ModelFileError(f"it names the function {str(name)[:60]!r}, which is not among those that a file may name")
    return known_functions()[name]


def _object(reader: _Reader, name: Any, state: Any) -> Any:
    cls = known_classes().get(_checked(name, str))
    if cls is None:
        raise ModelFileError(
            f"it holds {name[:60]!r}, which this version of the library does not know or does not read"
        )
    held = {key: reader.value(one) for key, one in _checked(state, dict).items()}
    refuse_cache(name, held)
    if hasattr(cls, "_fields"):
        if list(held) != list(cls._fields):
            raise ModelFileError(f"its {name} has other parts than it should")
        return cls(**held)
    return _with_state(cls, name, held)


def _with_state(cls: type, name: str, held: dict[str, Any]) -> Any:
    for key in held:
        if not key.isidentifier() or key.startswith("__") or _is_method(cls, key):
            raise ModelFileError(f"its {name} has a part {key[:60]!r}, which it should not")
    if is_dataclass(cls):
        held = _with_defaults(cls, name, held)
    thing: Any = object.__new__(cls)
    if hasattr(cls, "__setstate__"):
        thing.__setstate__(held)
    else:
        vars(thing).update(held)
    return thing


def _is_method(cls: type, key: str) -> bool:
    """Whether a part of that name would hide a method or a property."""
    return hasattr(getattr_static(cls, key, None), "__get__")


def _with_defaults(cls: Any, name: str, held: dict[str, Any]) -> dict[str, Any]:
    """Parts that came to a class after the file was written have their defaults."""
    remade = "_origin" in held  # a matrix that is made again when asked for
    full = dict(held)
    for field in fields(cls):
        if field.name in held or remade:
            continue
        if field.default is not MISSING:
            full[field.name] = field.default
        elif field.default_factory is not MISSING:
            full[field.name] = field.default_factory()
        else:
            raise ModelFileError(f"its {name} lacks the part {field.name!r}")
    strange = set(held) - {field.name for field in fields(cls)} - {"_origin"}
    if strange:
        raise ModelFileError(f"its {name} has a part {min(strange)[:60]!r}, which it should not")
    return full


KINDS: dict[str, Callable[..., Any]] = {
    "array": _array,
    "dict": _dict,
    "dtype": _dtype,
    "float": _float,
    "frozenset": lambda reader, items: frozenset(reader.all(items)),
    "function": _function,
    "generator": _generator,
    "list": lambda reader, items: reader.all(items),
    "object": _object,
    "objects": _objects,
    "scalar": _scalar,
    "set": lambda reader, items: set(reader.all(items)),
    "slice": _slice,
    "sparse": _sparse,
    "tuple": lambda reader, items: tuple(reader.all(items)),
}
