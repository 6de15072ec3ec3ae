"""Kernels of deduplicators: shingles, signatures, distances, clusters."""

from typing import TYPE_CHECKING

from refinery.kernels import lazy

if TYPE_CHECKING:
    from refinery.kernels.dedup import cosines as cosines
    from refinery.kernels.dedup import equal as equal
    from refinery.kernels.dedup import explained as explained
    from refinery.kernels.dedup import jaccard as jaccard
    from refinery.kernels.dedup import unionfind as unionfind
else:
    __getattr__ = lazy.modules_of(__name__, __file__)
