"""How kernels are compiled."""

from typing import Any

import numba

_njit: Any = numba.njit  # its own types do not know the option

# Without numba's reference counts: a kernel borrows the arrays that it is given for the time of the call, and counting
# them at every call of a helper, atomically, costs more than most helpers do. Such a kernel cannot allocate.
kernel = _njit(nogil=True, cache=True, _nrt=False)

# The same for a helper in the innermost loop: a call hands over seven numbers for every array.
inlined = _njit(nogil=True, cache=True, _nrt=False, forceinline=True)
