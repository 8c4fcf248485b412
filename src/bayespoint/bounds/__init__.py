"""Guarantees on the error: pure functions that return a `Bound`, its value and its terms by name.

`version_space` holds the volume-ratio bounds of TR 99-11, `pac_bayes` those for posteriors with training errors (the
Gaussian margin machine's among them), `disintegrated` the one for a single draw, `held_out` that of a held-out set, and
`centre_of_mass` the one on the distance between centre of mass and Bayes point. `certificates` puts them together for a
posterior in hand.
"""

from ._bound import Bound
from .centre_of_mass import centre_of_mass_gap
from .certificates import Certificate, certify, certify_draws
from .classes import certify_classes
from .disintegrated import disintegrated_bound
from .held_out import binomial_bound
from .mirrored import mirrored_problem, symmetric_centre
from .pac_bayes import (
    catoni_bound,
    gaussian_margin_bound,
    gaussian_margin_slack_bound,
    majority_vote_bound,
    mcallester_bound,
    mcallester_two_sided,
    seeger_bound,
)
from .posteriors import divergence, gibbs_error
from .relative_entropy import binary_kl, gaussian_divergence, invert_kl
from .version_space import (
    ball_bound,
    bayes_bound,
    cap_bound,
    linear_svm_bound,
    log_ball_ratio,
    log_cap_ratio,
    margin_bound,
    subset_bound,
)

__all__ = [
    "Bound",
    "Certificate",
    "ball_bound",
    "bayes_bound",
    "binary_kl",
    "binomial_bound",
    "cap_bound",
    "catoni_bound",
    "centre_of_mass_gap",
    "certify",
    "certify_classes",
    "certify_draws",
    "disintegrated_bound",
    "divergence",
    "gaussian_divergence",
    "gaussian_margin_bound",
    "gaussian_margin_slack_bound",
    "gibbs_error",
    "invert_kl",
    "linear_svm_bound",
    "log_ball_ratio",
    "log_cap_ratio",
    "majority_vote_bound",
    "margin_bound",
    "mcallester_bound",
    "mcallester_two_sided",
    "mirrored_problem",
    "seeger_bound",
    "subset_bound",
    "symmetric_centre",
]
