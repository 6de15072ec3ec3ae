"""Foundations of all kernels: Arrow buffers, compilation, scans over bytes, code points."""

from typing import TYPE_CHECKING

from refinery.kernels import lazy

if TYPE_CHECKING:
    from refinery.kernels.core import blocks as blocks
    from refinery.kernels.core import cache as cache
else:
    __getattr__ = lazy.modules_of(__name__, __file__)
