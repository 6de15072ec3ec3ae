"""Old name (before 0.2) of `refinery.kernels.core.arrow`, kept for user operators."""

import sys

from refinery.kernels.core import arrow

sys.modules[__name__] = arrow
