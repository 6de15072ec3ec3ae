"""The same calls for every kind of tracer: a Tracer, a RayTracer actor, or None, which collects nothing."""

from __future__ import annotations

from typing import Any

from refinery.tracer.records import Sample


def should_trace_op(tracer_instance: Any, op_name: str) -> bool:
    """Return whether samples of an operator are collected; False without a tracer."""
    return tracer_instance is not None and bool(_call(tracer_instance, "should_trace_op", op_name))


def check_tracer_collect_complete(tracer_instance: Any, op_name: str) -> bool:
    """Return whether the collection of an operator is complete; True without a tracer."""
    return tracer_instance is None or bool(_call(tracer_instance, "is_collection_complete", op_name))


def collect_for_mapper(
    tracer_instance: Any, op_name: str, original_sample: Sample, processed_sample: Sample, text_key: str = "text"
) -> bool:
    """Collect a sample that a mapper has changed; True when it was collected."""
    if tracer_instance is None:
        return False
    return bool(_call(tracer_instance, "collect_mapper_sample", op_name, original_sample, processed_sample, text_key))


def collect_for_filter(tracer_instance: Any, op_name: str, sample: Sample, should_keep: bool) -> bool:
    """Collect a sample that a filter removes; True when it was collected."""
    if tracer_instance is None:
        return False
    return bool(_call(tracer_instance, "collect_filter_sample", op_name, sample, should_keep))


def _call(tracer: Any, name: str, *arguments: Any) -> Any:
    method = getattr(tracer, name)
    if not hasattr(method, "remote"):
        return method(*arguments)
    import ray  # methods of an actor have `remote`

    return ray.get(method.remote(*arguments))
