"""Kernels over texts: characters, lines, pieces, links, patterns."""

from typing import TYPE_CHECKING

from refinery.kernels import lazy

if TYPE_CHECKING:
    from refinery.kernels.text import lines as lines
else:
    __getattr__ = lazy.modules_of(__name__, __file__)
