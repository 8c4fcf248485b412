"""What a model file may be made of: classes and functions by name, all listed here and none looked up elsewhere.

A class of a file is made without its constructor and given its state; none of these does anything with it but keep it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import numpy as np
import sklearn.gaussian_process.kernels
from sklearn.gaussian_process.kernels import Kernel

__all__ = ["known_classes", "known_functions", "name_of"]

_ROOMS = (
    *("kernels", "grams", "likelihoods", "problem", "posteriors", "engines"),
    *("bounds", "tuning", "estimators", "uses.rejection", "uses.selection"),
)
_TRANSFORMERS = {  # those of scikit-learn that hold numbers, text and each other, and no code
    "sklearn.pipeline": ("Pipeline", "FeatureUnion"),
    "sklearn.compose": ("ColumnTransformer",),
    "sklearn.preprocessing": (
        *("Binarizer", "FunctionTransformer", "KBinsDiscretizer", "MaxAbsScaler", "MinMaxScaler", "Normalizer"),
        *("OneHotEncoder", "OrdinalEncoder", "PolynomialFeatures", "PowerTransformer", "QuantileTransformer"),
        *("RobustScaler", "StandardScaler"),
    ),
    "sklearn.impute": ("MissingIndicator", "SimpleImputer"),
    "sklearn.decomposition": ("PCA", "TruncatedSVD"),
    "sklearn.feature_selection": ("SelectKBest", "SelectPercentile", "VarianceThreshold"),
    "sklearn.feature_extraction.text": ("CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"),
}
_FUNCTIONS = {
    "numpy": ("abs", "arcsinh", "cbrt", "exp", "expm1", "log", "log10", "log1p", "log2", "sqrt", "square", "tanh"),
    "sklearn.feature_selection": ("chi2", "f_classif", "mutual_info_classif"),
}
_TYPES = ("bool", "int32", "int64", "float32", "float64")  # settings such as dtype=np.float64


@cache
def known_classes() -> dict[str, type]:
    """Classes by the names that they have in files."""
    ours = list(_our_classes())
    often = Counter(map(name_of, ours))  # what shares its name is of no model
    found = {name_of(one): one for one in ours if often[name_of(one)] == 1}
    kernels = vars(sklearn.gaussian_process.kernels).values()
    found |= {name_of(one): one for one in kernels if isinstance(one, type) and issubclass(one, Kernel)}
    for module, names in _TRANSFORMERS.items():
        found |= {f"sklearn.{name}": getattr(import_module(module), name) for name in names}
    return found


@cache
def known_functions() -> dict[str, Any]:
    """Functions, and types of numbers, by the names that they have in files."""
    pairs = [(module, name) for module, names in _FUNCTIONS.items() for name in names]
    found = {f"{module}.{name}": getattr(import_module(module), name) for module, name in pairs}
    return found | {f"numpy.{np.dtype(name).name}": np.dtype(name).type for name in _TYPES}


def name_of(cls: type) -> str:
    """The name of a class in files: without the module, which may change."""
    house, _, rest = cls.__module__.partition(".")
    return f"{house}.{cls.__qualname__}" if rest else cls.__qualname__


def _our_classes() -> Iterator[type]:
    """Values, kernels, engines and classifiers of this library, private ones too: whatever a model may be made of."""
    for room in _ROOMS:
        for module in _modules(f"bayespoint.{room}"):
            for one in vars(module).values():
                if (
                    isinstance(one, type)
                    and one.__module__ == module.__name__
                    and not getattr(one, "_is_protocol", False)
                ):
                    yield one


def _modules(name: str) -> Iterator[Any]:
    module = import_module(name)
    yield module
    if hasattr(module, "__path__"):
        yield from (import_module(info.name) for info in walk_packages(module.__path__, f"{name}."))
