"""Small wrong changes of a module: one comparison, sum, sign, logical word, number, or the larger of two turned."""

from __future__ import annotations

import ast
import copy
import hashlib
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[2] / "src" / "bayespoint"
OTHER = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
TWINS = {"maximum": "minimum", "minimum": "maximum", "max": "min", "min": "max", "any": "all", "all": "any"}


class Mutant(NamedTuple):
    """One wrong change."""

    module: str
    function: str
    line: int
    before: str
    after: str
    place: int  # among all of its module
    twin: int = 1  # the how-manieth of its words in its function

    @property
    def change(self) -> str:
        """The same wherever its function stands in the module."""
        return f"{self.function}: {self.before}  ->  {self.after}" + (f" ({self.twin})" if self.twin > 1 else "")

    @property
    def name(self) -> str:
        return f"{self.module} {self.change}"

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.change}"


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Nodes that can be turned, with what is turned in them; words, types, messages and defaults are left alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in OTHER and not _is_text(node):
            yield node, "op"
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OTHER:
            yield node, "ops"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
            yield node, "drop"
        elif isinstance(node, ast.Constant) and type(node.value) is float and node.value:
            yield node, "value"
        elif isinstance(node, ast.Attribute) and node.attr in TWINS:
            yield node, "attr"


def _is_text(node: ast.AST) -> bool:
    return any(isinstance(part, ast.JoinedStr) or isinstance(getattr(part, "value", 0), str) for part in ast.walk(node))


def _skipped(tree: ast.Module) -> set[int]:
    """Nodes inside annotations, defaults, messages of errors, and constants of a class or a module: not behaviour."""
    parts: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            parts += [node.args, *node.decorator_list] + ([node.returns] if node.returns else [])
        elif isinstance(node, ast.AnnAssign):
            parts.append(node.annotation)
        elif isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr) or _warns(node):
            parts.append(node)
    parts += [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    return {id(inner) for part in parts for inner in ast.walk(part)}


def _warns(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "warn"


def _turn(node: ast.AST, what: str) -> ast.AST:
    """The node with its change; for a sign, what stands behind it."""
    if what == "drop":
        return node.operand
    if what == "op":
        node.op = OTHER[type(node.op)]()
    elif what == "ops":
        node.ops = [OTHER[type(node.ops[0])]()]
    elif what == "value":
        node.value = 2 * node.value
    else:
        node.attr = TWINS[node.attr]
    return node


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def mutants_of(module: str) -> list[Mutant]:
    """All of a module, in the order of its lines."""
    tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
    skipped = _skipped(tree)
    found, seen = [], Counter[tuple[str, ...]]()
    for place, (node, what) in enumerate(places(tree)):
        if id(node) not in skipped:
            words = ast.unparse(node), ast.unparse(_turn(copy.copy(node), what))
            function = _function_around(tree, node.lineno)
            seen[function, *words] += 1
            found.append(Mutant(module, function, node.lineno, *words, place, seen[function, *words]))
    return sorted(found, key=lambda one: one.line)


def code_of(module: str) -> str:
    """A mark that changes with the code of a module, and not with its comments and docstrings."""
    tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()[:12]


def source_of(one: Mutant) -> str:
    """Its module with the change."""
    tree = ast.parse((PACKAGE / one.module).read_text(encoding="utf-8"))
    node, what = list(places(tree))[one.place]
    return ast.unparse(ast.fix_missing_locations(_Replace(node, _turn(copy.copy(node), what)).visit(tree)))


def _function_around(tree: ast.Module, line: int) -> str:
    """The innermost that has the line."""
    around = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inner = [node for node in around if node.lineno <= line <= (node.end_lineno or 0)]
    return max(inner, key=lambda node: node.lineno).name if inner else "(module)"


def chosen(modules: list[str], number: int, seed: int) -> list[Mutant]:
    """About as many of each module, at random; the same for a seed, whatever becomes of other modules."""
    lists = [
        random.Random(f"{seed} {module}").sample(found, len(found))
        for module in modules
        if (found := mutants_of(module))
    ]
    turns = [one for group in _in_turns(lists) for one in group]
    return turns[:number]


def _in_turns(lists: list[list[Mutant]]) -> Iterator[list[Mutant]]:
    longest = max(map(len, lists))
    for k in range(longest):
        yield [one[k] for one in lists if k < len(one)]
