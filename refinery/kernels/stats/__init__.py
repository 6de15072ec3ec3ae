"""Kernels of statistics: moments, sums, entries of statistics files."""

from typing import TYPE_CHECKING

from refinery.kernels import lazy

if TYPE_CHECKING:
    from refinery.kernels.stats import moment_sums as moment_sums
    from refinery.kernels.stats import moments as moments
else:
    __getattr__ = lazy.modules_of(__name__, __file__)
