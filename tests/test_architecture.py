import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import bayespoint

ROOT = Path(bayespoint.__file__).parent
LAYERS = [
    {"_nonzeros", "_typing", "_threads", "exceptions"},
    {"_memory", "_parallel", "features", "kernels", "likelihoods", "natural"},
    {"kernel_gradients", "kernel_rows", "low_rank"},
    {"problem", "whitening", "latents", "expansions", "posteriors"},
    {"bases"},
    {"engines", "readouts", "bounds", "evidence", "diagnostics", "metrics"},
    {"tuning"},
    {"averaging", "svm_tuning", "generative", "streaming"},
    {"estimators"},
    {"updating"},
    {"active", "transduction", "selection", "label_errors", "rejection"},
    {"plots", "demo", "reproduce", "cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
NEIGHBOURS = {
    ("latents", "problem"),
    ("expansions", "latents"),
    ("expansions", "problem"),
    ("posteriors", "expansions"),
    ("posteriors", "latents"),
    ("posteriors", "problem"),
    ("posteriors", "whitening"),
    ("whitening", "problem"),
    ("evidence", "engines"),
    ("demo", "plots"),
    ("cli", "demo"),
    ("cli", "plots"),
    ("cli", "reproduce"),
}


def imported_parts(source, package):
    """Top-level parts of the library that a module of `package` (a list of names) imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = base + (node.module.split(".") if node.module else [])
            names = [[*base, alias.name] for alias in node.names]
        else:
            continue
        yield from (name[1] for name in names if name[0] == "bayespoint" and len(name) > 1 and name[1] in LEVEL)


def wrong_imports(part, source, package):
    """Imports that point upward, or sideways where nobody allowed it."""
    return [
        other
        for other in imported_parts(source, package)
        if other != part and LEVEL[other] >= LEVEL[part] and (part, other) not in NEIGHBOURS
    ]


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        *folders, name = path.relative_to(ROOT).with_suffix("").parts
        if folders or name != "__init__":
            yield pytest.param(path, ["bayespoint", *folders], id="/".join([*folders, name]))


@pytest.mark.parametrize(("path", "package"), list(modules()))
def test_imports_point_to_lower_layers(path, package):
    part = package[1] if len(package) > 1 else path.stem
    assert part in LEVEL, f"give {part} a layer"
    assert wrong_imports(part, path.read_text(), package) == []


@pytest.mark.parametrize(
    ("part", "source", "package"),
    [
        ("kernels", "from .engines import EP", ["bayespoint"]),
        ("kernels", "from . import problem", ["bayespoint"]),
        ("kernels", "import bayespoint.readouts", ["bayespoint"]),
        ("engines", "def f():\n    from ..estimators._inputs import Points", ["bayespoint", "engines"]),
        ("engines", "from .. import readouts", ["bayespoint", "engines"]),
        ("problem", "from .posteriors import Latent", ["bayespoint"]),
    ],
)
def test_a_wrong_import_is_noticed(part, source, package):
    assert wrong_imports(part, source, package)


def modules_after(code):
    code += "\nimport sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_library_loads_neither_compiler_nor_plots():
    loaded = modules_after("import bayespoint")
    assert {"bayespoint", "sklearn"} <= loaded
    assert not loaded & {"numba", "llvmlite", "matplotlib"}
    assert "numba" in modules_after("import bayespoint, numba")  # the check can fail


def test_the_default_fit_compiles_nothing():
    loaded = modules_after(
        "from sklearn.datasets import load_iris\n"
        "from bayespoint import BayesPointClassifier\n"
        "X, y = load_iris(return_X_y=True)\n"
        "BayesPointClassifier().fit(X[::5], y[::5]).predict_proba(X)"
    )
    assert not loaded & {"numba", "llvmlite", "matplotlib"}


def public_names():
    names = ["bayespoint", *(m.name for m in pkgutil.walk_packages(bayespoint.__path__, "bayespoint."))]
    for name in names:
        if any(piece.startswith("_") for piece in name.split(".")):
            continue
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", []):
            thing = getattr(module, public)
            if callable(thing):
                yield pytest.param(thing, id=f"{name}.{public}")


@pytest.mark.parametrize("thing", list(public_names()))
def test_every_public_name_has_an_example(thing):
    assert "Examples\n" in (thing.__doc__ or "")
    assert ">>> " in thing.__doc__
