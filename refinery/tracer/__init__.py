"""Traces of samples that user Python code changes or removes, in the format and within the limits of a run's traces.

`Tracer` writes to a folder that all processes of a machine share; `RayTracer` is an actor that a whole Ray cluster
shares (extra `ray`). The functions accept either of them, or None for no tracing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refinery.tracer.either import (
    check_tracer_collect_complete,
    collect_for_filter,
    collect_for_mapper,
    should_trace_op,
)
from refinery.tracer.local import Tracer

if TYPE_CHECKING:
    from refinery.tracer.ray_tracer import RayTracer

__all__ = [
    "RayTracer",
    "Tracer",
    "check_tracer_collect_complete",
    "collect_for_filter",
    "collect_for_mapper",
    "should_trace_op",
]


def __getattr__(name: str) -> Any:
    if name == "RayTracer":
        from refinery.tracer.ray_tracer import RayTracer

        return RayTracer
    raise AttributeError(f"module 'refinery.tracer' has no attribute {name!r}")
