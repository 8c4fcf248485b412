"""The evidence of a fitted classifier as a function of its hyper-parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.typing import Array
from ..engines import EP
from ..exceptions import InvalidProblemError
from ..tuning.climb import Model, infer_candidate
from ._fitted import Fitted

__all__ = ["HasEvidence"]


class HasEvidence:
    """Classifiers whose posterior is Bayes' rule: their labels have an evidence."""

    fitted_: Fitted

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """Log-evidence of the training labels by expectation propagation, at any hyper-parameters.

        As for `sklearn.gaussian_process.GaussianProcessClassifier`, but that the gradient is there for the model's own
        hyper-parameters, too. Where several models decide together, it is that of the first.

        Parameters
        ----------
        theta : array-like, optional
            Logarithms of hyper-parameters: those of the kernel, in the order of ``kernel_.theta``, all others as they
            were found; or those of everything that is free, bias and likelihood included, in the order of
            ``fitted_.model.theta``. As they were found by default.
        eval_gradient : bool, default=False
            Whether to return the gradient, too.

        Returns
        -------
        float, or tuple of float and ndarray
            The log-evidence, and its gradient in `theta` (by default in all that is free). A hyper-prior has no part
            in either.

        Examples
        --------
        >>> from sklearn.datasets import make_moons
        >>> from sklearn.gaussian_process.kernels import RBF
        >>> from bayespoint import BayesPointClassifier
        >>> X, y = make_moons(60, noise=0.2, random_state=0)
        >>> model = BayesPointClassifier(4.0 * RBF(1.0)).fit(X, y)
        >>> found, gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
        >>> bool(found > model.log_marginal_likelihood(model.kernel_.theta + 0.5)), gradient.shape
        (True, (2,))
        """
        check_is_fitted(self)
        fitted = self.fitted_
        if theta is None and not eval_gradient and fitted.log_evidence is not None:
            return np.float64(fitted.log_evidence)
        if fitted.rows is None:
            raise InvalidProblemError("The training rows are no longer at hand: use fit on an array.")
        given = fitted.model.theta if theta is None else np.atleast_1d(np.asarray(theta, dtype=float))
        problems = [posterior.problem for posterior in fitted.posteriors]
        engine = fitted.posteriors[0].engine
        found = infer_candidate(
            fitted.model.at(_all(fitted.model, given)),
            fitted.view,
            [problem.y for problem in problems],
            problems[0].weights,
            engine if isinstance(engine, EP) else EP(),
        )
        value = np.float64(np.nan if found.log_evidence is None else found.log_evidence)
        return (value, found.evidence_gradient()[: len(given)]) if eval_gradient else value


def _all(model: Model, theta: Array) -> Array:
    """Log-parameters of everything that is free, where those of the kernel may be all that is given."""
    known, of_kernel = model.theta, model.kernel.k1.n_dims
    if len(theta) == of_kernel:
        theta = np.r_[theta, known[of_kernel:]]
    if theta.shape != known.shape or not np.isfinite(theta).all():
        raise InvalidProblemError(
            f"theta must hold {of_kernel} finite log-parameters of the kernel, or {len(known)} of all that is free, "
            f"got {theta!r}."
        )
    return theta
