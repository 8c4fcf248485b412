"""What a notebook shows of a fitted classifier, below scikit-learn's diagram of its settings."""

from __future__ import annotations

from typing import Any

from .._core.words import as_html_table

__all__ = ["fitted_figures", "summary_html"]


def fitted_figures(model: Any, result: dict[str, Any]) -> list[tuple[str, str]]:
    """Name and value of what a person asks first: rows, classes, kernels, evidence, left-out log loss, calibration."""
    fitted = model.fitted_
    names = ", ".join(map(str, model.classes_[:8])) + (", ..." if len(model.classes_) > 8 else "")
    figures = [("rows", str(fitted.n_rows)), ("classes", f"{len(model.classes_)}: {names}")]
    kernels = getattr(model, "kernels_", None)
    if kernels and len(kernels) > 1:
        figures += [(f"kernel, weight {model.weights_[name]:.2f}", f"{name}: {one}") for name, one in kernels.items()]
    else:
        figures.append(("kernel", str(model.kernel_)))
    figures.append(("likelihood", str(model.likelihood_)))
    if result.get("log_evidence") is not None:
        figures.append(("log-evidence", f"{result['log_evidence']:.2f}"))
    if "loo_log_loss" in result:
        figures.append(("leave-one-out log loss", f"{result['loo_log_loss']:.4f}"))
    if fitted.power != 1:
        figures.append(("calibration: power of probabilities", f"{fitted.power:.2f}"))
    if model.approximation_ is not None:
        figures.append(("approximation", str(model.approximation_)))
    return figures


def summary_html(model: Any, result: dict[str, Any]) -> str:
    """The same as a table."""
    return as_html_table(("fitted", type(model).__name__), fitted_figures(model, result))
