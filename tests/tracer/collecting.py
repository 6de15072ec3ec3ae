"""Work of a test's processes: they import nothing but the tracer, so that they start quickly."""

from __future__ import annotations

from refinery.tracer import Tracer


def collect(tracer: Tracer, operator: str, worker: int) -> int:
    """Number of a hundred removed samples that the tracer has taken."""
    samples = ({"text": f"{worker} {i} " + "long " * 1000} for i in range(100))
    return sum(tracer.collect_filter_sample(operator, sample, False) for sample in samples)
