"""What engines return. Immutable; everything else is a function of it (see `bayespoint.readouts`)."""

from .classes import ClassesEvidenceGradient, GaussianClassesPosterior, LatentClasses
from .drawn import ExpandedPosterior, SampledPosterior
from .gaussian import EvidenceGradient, GaussianPosterior
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
    "SampledPosterior",
]
