"""Which keys stay in groups of many: those of the most samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

TOP_K_GROUPS = ("fqdn", "suffix")
TOP_K = 100_000


@dataclass(frozen=True)
class TopKConfig:
    """Groups of which only the `top_k` keys with the highest n are written; ties: the key that was met first.

    Workers that each keep their own top keys disagree about the last ones: let them keep more than the merge does
    (datatrove's advice: the merge 0.8 times as many). Raises ValueError for a negative top_k. As in datatrove.
    """

    top_k_groups: Sequence[str] = TOP_K_GROUPS
    top_k: int = TOP_K

    def __post_init__(self) -> None:
        if self.top_k < 0:
            raise ValueError(f"top_k is {self.top_k}; it cannot be negative")


DEFAULT_TOP_K_CONFIG = TopKConfig()
