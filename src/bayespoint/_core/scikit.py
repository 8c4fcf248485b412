"""Private names of scikit-learn that have no public twin: the one place to look at when a new version moves them."""

from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _check_y as check_y
from sklearn.utils.validation import _num_samples as num_samples

__all__ = ["check_method_params", "check_sample_weight", "check_y", "num_samples", "safe_indexing", "safe_split"]
