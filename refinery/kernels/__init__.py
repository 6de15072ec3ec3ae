"""Numba kernels and the Arrow plumbing around them.

Kernels work on UTF-8 bytes and offsets, release the GIL and are cached on disk (see `core.cache`). Groups and modules
are imported on first access, as in `kernels.text.lines.count_lines` (see `lazy`).
"""

import os
from typing import TYPE_CHECKING

from refinery.kernels import lazy
from refinery.kernels.core.cache import CACHE, own_name

if TYPE_CHECKING:
    from refinery.kernels import core as core
    from refinery.kernels import dedup as dedup
    from refinery.kernels import json as json
    from refinery.kernels import models as models
    from refinery.kernels import stats as stats
    from refinery.kernels import text as text
    from refinery.kernels import unicode as unicode
    from refinery.kernels import words as words
else:
    __getattr__ = lazy.modules_of(__name__, __file__)

# numba reads this variable on its first import, and this package is imported before numba. Nobody else has the folder:
# numba does not notice all changes of the code that a kernel is made of.
os.environ.setdefault("NUMBA_CACHE_DIR", str(CACHE / "numba" / own_name()))
