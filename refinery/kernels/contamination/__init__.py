"""Kernels that look for items of evaluation sets in texts."""

from refinery.kernels import lazy

__getattr__ = lazy.modules_of(__name__, __file__)
