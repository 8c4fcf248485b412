"""Figures that took long to find, a line of JSON each, kept until the code that found them is another.

A line is written at once, so that several processes may write into one file and a run that was stopped goes on. Each
has the fingerprint of the code it came from; of two with the same key the later one counts.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import os
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import bayespoint
from catalogue import HERE

Cell = dict[str, Any]
KEY = ("set", "split", "method", "made")


def key_of(cell: Cell) -> tuple:
    return tuple(cell[name] for name in KEY)


def read(path: Path) -> dict[tuple, Cell]:
    """All cells by key; a line that a process is just writing is left out."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        try:
            cell = json.loads(line)
        except ValueError:
            continue
        found[key_of(cell)] = cell
    return found


def append(path: Path, cell: Cell) -> None:
    """In one call of the system, so that lines of several processes do not mix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, (json.dumps(cell) + "\n").encode())
    finally:
        os.close(file)


def fingerprint(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def code_of(thing: Any, seen: set[str] | None = None) -> list[str]:
    """The code of a function or class, and of all of the experiments that it names, without docstrings and comments."""
    seen = set() if seen is None else seen
    seen.add(f"{thing.__module__}.{thing.__qualname__}")
    tree = ast.parse(textwrap.dedent(inspect.getsource(thing)))
    around = vars(sys.modules[thing.__module__])
    code = [ast.dump(without_docstrings(tree))]
    for name in sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & around.keys()):
        value = around[name]
        if isinstance(value, int | float | str | tuple):
            code.append(f"{name} = {value!r}")
        elif is_of_the_experiments(value) and f"{value.__module__}.{value.__qualname__}" not in seen:
            code += code_of(value, seen)
    return code


def without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return tree


def is_of_the_experiments(value: Any) -> bool:
    """Is it a function or a class of a file in this folder?"""
    if not hasattr(value, "__qualname__"):
        return False
    file = getattr(sys.modules.get(value.__module__), "__file__", None)
    return file is not None and HERE in Path(file).resolve().parents


def version_of_ours() -> str:
    """The version of the package that is imported, with a fingerprint of its text."""
    home = Path(bayespoint.__file__).parent
    files = sorted(home.rglob("*.py"))
    text = fingerprint(f"{file.relative_to(home)}\n{file.read_text(encoding='utf-8')}" for file in files)
    return f"bayespoint {bayespoint.__version__} {text[:8]}"
