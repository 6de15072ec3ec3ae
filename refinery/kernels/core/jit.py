"""Compilation of kernels."""

from typing import Any

import numba

_njit: Any = numba.njit  # numba's own types lack the option

# Without numba's reference counts: a kernel only borrows its array arguments, and atomic counting at every call of a
# helper costs more than most helpers. Such a kernel cannot allocate.
kernel = _njit(nogil=True, cache=True, _nrt=False)

# The same for a helper in the innermost loop: a call passes seven numbers per array, so it is inlined.
inlined = _njit(nogil=True, cache=True, _nrt=False, forceinline=True)
