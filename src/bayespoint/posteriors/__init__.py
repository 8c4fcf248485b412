"""What engines return. Immutable; everything else is a function of it (see `bayespoint.readouts`)."""

from .drawn import ExpandedPosterior, SampledPosterior
from .gaussian import EvidenceGradient, GaussianPosterior
from .latent import Latent
from .protocol import At, ClassesAt, ClassesPosterior, Posterior

__all__ = [
    "At",
    "ClassesAt",
    "ClassesPosterior",
    "EvidenceGradient",
    "ExpandedPosterior",
    "GaussianPosterior",
    "Latent",
    "Posterior",
    "SampledPosterior",
]
