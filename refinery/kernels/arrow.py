"""The name of `refinery.kernels.core.arrow` before 0.2, for operators of users."""

from refinery.kernels.core.arrow import *  # noqa: F403
