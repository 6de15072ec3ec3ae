"""Old name (before 0.2) of `refinery.kernels.core.arrow`, kept for user operators."""

from refinery.kernels.core.arrow import *  # noqa: F403
