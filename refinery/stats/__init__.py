"""Summaries of statistics: moments that merge exactly, and the files in which workers hand them over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refinery.stats.files import write_files
    from refinery.stats.merge import Merged, StatsMerger, StatsWarning
    from refinery.stats.metric import MetricStats
    from refinery.stats.topk import DEFAULT_TOP_K_CONFIG, TopKConfig

_HOMES = {
    "DEFAULT_TOP_K_CONFIG": "topk",
    "Merged": "merge",
    "MetricStats": "metric",
    "StatsWarning": "merge",
    "TopKConfig": "topk",
    "write_files": "files",
}
__all__ = ["DEFAULT_TOP_K_CONFIG", "Merged", "MetricStats", "StatsMerger", "StatsWarning", "TopKConfig", "write_files"]


def __getattr__(name: str) -> Any:
    """Import a name on first use, so that importing a part of the package loads no other."""
    from importlib import import_module

    if name == "StatsMerger":
        from refinery.stats.pipeline import merger_class

        return merger_class()
    if name not in _HOMES:
        raise AttributeError(f"module 'refinery.stats' has no attribute {name!r}")
    return getattr(import_module(f"refinery.stats.{_HOMES[name]}"), name)
