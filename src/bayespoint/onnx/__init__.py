"""Fitted classifiers as graphs of ONNX, which need neither this library nor Python to predict (`bayespoint[onnx]`)."""

from .converters import register_converters, to_onnx

__all__ = ["register_converters", "to_onnx"]
