"""Which experiments there are: every file in a folder here that has a function ``run``."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = {
    "herbrich2001": 'Herbrich, Graepel & Campbell (2001), "Bayes Point Machines"',
    "herbrich1999": 'Herbrich, Graepel & Campbell (1999), "Bayesian Learning in Reproducing Kernel Hilbert Spaces"',
    "graepel2001": 'Graepel & Herbrich (2001), "The Kernel Gibbs Sampler"',
    "sollich2002": 'Sollich (2002), "Bayesian Methods for Support Vector Machines"',
    "crammer2009": 'Crammer, Mohri & Pereira (2009), "Gaussian Margin Machines"',
    "ours": "Beyond the papers",
}


SAYS = ("DATA", "MINUTES", "REASONS")  # literals in which a file speaks of itself
PLUMBING = ("findings", "sizes", "runner", "catalogue", "page")  # modules that change no figure


class UnknownExperimentError(ValueError):
    """No experiment has that name."""


@dataclass(frozen=True)
class Experiment:
    """One file: its name as folder/stem, what it shows, what it needs, and why it differs from the paper where it does.

    `reasons` go from patterns of what is compared to the reason found; `minutes` are those of one core; `fingerprint`
    is of the code alone, so that results of other code are seen to be out of date.
    """

    name: str
    path: Path
    title: str
    text: str
    data: tuple[str, ...]
    minutes: float
    reasons: Mapping[str, str]
    fingerprint: str

    @property
    def folder(self) -> str:
        return self.name.split("/")[0]

    @property
    def stem(self) -> str:
        """Of its results."""
        return self.name.replace("/", "_")

    def reason(self, what: str) -> str:
        """Why a figure differs from the paper's, if a reason was found."""
        return next((text for pattern, text in self.reasons.items() if fnmatch(what, pattern)), "")


def read(path: Path) -> Experiment | None:
    """What a file says of itself, without running it; None if it is a helper."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in tree.body):
        return None
    title, _, text = (ast.get_docstring(tree) or "").partition("\n")
    said = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in SAYS
    }
    return Experiment(
        name=f"{path.parent.name}/{path.stem}",
        path=path,
        title=title.strip(),
        text=text.strip(),
        data=tuple(said.get("DATA", ())),
        minutes=float(said.get("MINUTES", 1.0)),
        reasons=said.get("REASONS", {}),
        fingerprint=hashlib.sha256("".join(code_of(path, set())).encode()).hexdigest()[:12],
    )


def code_of(path: Path, seen: set[Path]) -> list[str]:
    """The code of a file and of the modules beside it that it imports, without what changes no figure."""
    seen.add(path)
    code = []
    for line, names in lines_of(path.read_text(encoding="utf-8")):
        code.append(line)
        for name in names:
            other = HERE.joinpath(*name.split(".")).with_suffix(".py")
            if name not in PLUMBING and other.is_file() and other not in seen:
                code += code_of(other, seen)
    return code


@cache
def lines_of(text: str) -> list[tuple[str, list[str]]]:
    """The statements of a file and the modules that each may import; many experiments share a file."""
    found = []
    for node in ast.parse(text).body[1:]:  # the first is the docstring
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        silent = isinstance(target, ast.Name) and target.id in ("MINUTES", "REASONS")
        found.append(("" if silent else ast.dump(node), imported(node)))
    return found


def imported(node: ast.stmt) -> list[str]:
    """Modules that a line may import: the named ones, and names taken from them."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def natural(name: str) -> list[int | str]:
    """Figure 10 comes after figure 9."""
    head = name.rstrip("0123456789")
    return [head, int(name[len(head) :] or 0)]


def experiments() -> list[Experiment]:
    """All of them, in the order of the papers and of their figures."""
    found = []
    for folder in FOLDERS:
        paths = sorted((HERE / folder).glob("*.py"), key=lambda path: natural(path.stem))
        found += [one for one in map(read, paths) if one is not None]
    return found


def select(names: Sequence[str]) -> list[Experiment]:
    """Those of these names; a folder stands for all in it, no name at all for every one."""
    everything = experiments()
    if not names:
        return everything
    chosen = []
    for name in names:
        wanted = name.removesuffix(".py").strip("/")
        matches = [one for one in everything if wanted in (one.name, one.stem, one.folder)]
        if not matches:
            raise UnknownExperimentError(f"No experiment {name!r}; `bayespoint reproduce --list` shows what there is.")
        chosen += [one for one in matches if one not in chosen]
    return chosen
