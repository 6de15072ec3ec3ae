"""Top-k groups: in groups of many keys, only those of the most samples stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

TOP_K_GROUPS = ("fqdn", "suffix")
TOP_K = 100_000


@dataclass(frozen=True)
class TopKConfig:
    """Groups of which only the `top_k` keys with the highest n are written; in a tie the earlier key wins.

    Workers that each keep their own top keys disagree about the last ones: let them keep more than the merge does
    (datatrove's advice: the merge 0.8 times as many). Raises ValueError for a negative top_k. As in datatrove.
    """

    top_k_groups: Sequence[str] = TOP_K_GROUPS
    top_k: int = TOP_K

    def __post_init__(self) -> None:
        if self.top_k < 0:
            raise ValueError(f"top_k is {self.top_k}; it cannot be negative")


DEFAULT_TOP_K_CONFIG = TopKConfig()


def top_k_of(config: Any) -> Any:
    """The configuration of a mapping of its fields; any other object with these fields is returned as it is.

    Raises ValueError for an object that is neither, or a mapping with other fields.
    """
    names = [field.name for field in fields(TopKConfig)]
    if isinstance(config, Mapping):
        unknown = [str(name) for name in config if name not in names]
        if unknown:
            raise ValueError(f"top_k_config has no {', '.join(map(repr, unknown))}; its fields are {', '.join(names)}")
        return TopKConfig(**config)
    if not all(hasattr(config, name) for name in names):
        raise ValueError(f"top_k_config is {config!r}; give a TopKConfig, or a mapping with {' and '.join(names)}")
    return config
