"""StatsMerger as a step of datatrove's pipelines, where datatrove is installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from refinery.stats import merge


@cache
def merger_class() -> type:
    """The class that programs get as `refinery.stats.StatsMerger`: a subclass of datatrove's PipelineStep if there is one."""
    try:
        from datatrove.pipeline.base import PipelineStep
    except ImportError:
        return merge.StatsMerger

    class StatsMerger(merge.StatsMerger, PipelineStep):  # type: ignore[misc, unused-ignore]
        __doc__ = merge.StatsMerger.__doc__
        type, name = "📊 - STATS", "🔗 Merging stats"  # under which datatrove lists its own

        def __init__(self, *arguments: Any, **named: Any) -> None:
            merge.StatsMerger.__init__(self, *arguments, **named)
            PipelineStep.__init__(self)  # names its statistics after the step

        def run(self, data: Iterable[Any] | None = None, rank: int = 0, world_size: int = 1) -> Iterator[Any]:
            """As that of `merge.StatsMerger`; datatrove gets the time that it takes."""
            with self.track_time():
                self.merge(rank, world_size)
            return iter(data if data is not None else ())

        __call__ = run

    StatsMerger.__module__, StatsMerger.__qualname__ = "refinery.stats", "StatsMerger"  # by which processes unpickle it
    return StatsMerger
