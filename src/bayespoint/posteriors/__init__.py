"""What engines return. Immutable; everything else is a function of it (see `bayespoint.readouts`)."""

from importlib import import_module

from ..grams.gradient import ClassesEvidenceGradient, EvidenceGradient
from .classes import GaussianClassesPosterior, LatentClasses
from .drawn import ExpandedPosterior, SampledPosterior
from .gaussian import GaussianPosterior
from .latent import Latent
from .protocol import At, ClassesAt, ClassesPosterior, Posterior

__all__ = [
    "At",
    "ClassesAt",
    "ClassesEvidenceGradient",
    "ClassesPosterior",
    "EvidenceGradient",
    "ExpandedPosterior",
    "GaussianClassesPosterior",
    "GaussianPosterior",
    "Latent",
    "LatentClasses",
    "Posterior",
    "SampledClasses",
    "SampledPosterior",
]


def __getattr__(name: str) -> object:
    """Draws of several classes have compiled read-outs, and are imported when first asked for."""
    if name == "SampledClasses":
        return import_module(f"{__name__}.drawn_classes").SampledClasses
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
