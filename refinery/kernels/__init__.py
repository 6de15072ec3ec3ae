"""Kernels, compiled when refinery is installed, and the Arrow plumbing around them.

Kernels work on UTF-8 bytes and offsets and release the GIL. Groups and modules are imported on first access, as in
`kernels.text.lines.count_lines` (see `lazy`).
"""

from typing import TYPE_CHECKING

from refinery.kernels import lazy

if TYPE_CHECKING:
    from refinery.kernels import contamination as contamination
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
