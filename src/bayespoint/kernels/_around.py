"""What kernels around another kernel have in common: their hyper-parameters are those of the inner one."""

from __future__ import annotations

from typing import Any

from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from .._core.typing import Array

__all__ = ["AroundKernel"]


class AroundKernel(Kernel):
    """A kernel with another one as its parameter `kernel`, whose hyper-parameters it has."""

    kernel: Kernel

    @property
    def requires_vector_input(self) -> bool:
        """Whether the inner kernel does."""
        return bool(self.kernel.requires_vector_input)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this kernel and, with `deep`, of the inner one."""
        params: dict[str, Any] = super().get_params(deep=False)
        if deep:
            params.update((f"kernel__{name}", value) for name, value in self.kernel.get_params().items())
        return params

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Those of the inner kernel."""
        inner = self.kernel.hyperparameters
        return [Hyperparameter(f"kernel__{h.name}", h.value_type, h.bounds, h.n_elements) for h in inner]

    @property
    def theta(self) -> Array:
        """Log-parameters of the inner kernel."""
        theta: Array = self.kernel.theta
        return theta

    @theta.setter
    def theta(self, theta: Array) -> None:
        self.kernel.theta = theta

    @property
    def bounds(self) -> Array:
        """Log-bounds of the inner kernel."""
        bounds: Array = self.kernel.bounds
        return bounds

    def is_stationary(self) -> bool:
        """Whether the inner kernel is."""
        return bool(self.kernel.is_stationary())
