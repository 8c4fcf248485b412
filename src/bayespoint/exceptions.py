"""What can go wrong, by name. Every error of the library is also the built-in error a caller would expect."""

from __future__ import annotations

__all__ = ["EmptyVersionSpaceError", "InferenceWarning", "InvalidProblemError", "ModelFileError"]


class InvalidProblemError(ValueError):
    """The problem as stated has no answer: the message says what is wrong and what to do.

    Examples
    --------
    >>> from bayespoint import Step
    >>> Step(noise=0.7)
    Traceback (most recent call last):
        ...
    bayespoint.exceptions.InvalidProblemError: noise must be at least 0 and below 0.5 ...
    """


class EmptyVersionSpaceError(InvalidProblemError):
    """No function of this kernel has all training labels as its signs.

    Examples
    --------
    >>> import numpy as np
    >>> from bayespoint import Problem, Step
    >>> from bayespoint.engines import EP
    >>> EP().infer(Problem(np.ones((2, 2)), [1, -1], Step()))
    Traceback (most recent call last):
        ...
    bayespoint.exceptions.EmptyVersionSpaceError: Version space is empty ...
    """


class InferenceWarning(UserWarning):
    """An engine returned a result that should be read with care.

    Examples
    --------
    >>> import warnings
    >>> from bayespoint.exceptions import InferenceWarning
    >>> warnings.simplefilter("ignore", InferenceWarning)
    """


class ModelFileError(ValueError):
    """A model cannot be kept in a file, or a file is not to be trusted: the message says why.

    Examples
    --------
    >>> import bayespoint
    >>> bayespoint.save("a model", "model.bayespoint")
    Traceback (most recent call last):
        ...
    bayespoint.exceptions.ModelFileError: A model file holds a fitted classifier, got str.
    """
