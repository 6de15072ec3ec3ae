"""Run operators of Data-Juicer over documents; started with its Python as `serve_data_juicer.py DOCS JOBS RESULTS`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import serve
from data_juicer.core.data import NestedDataset
from data_juicer.ops import OPERATORS
from data_juicer.utils.constant import Fields


def operator(op: str, params: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A function that applies an operator to one document."""
    made = OPERATORS.modules[op](**params)
    if op.endswith("_deduplicator"):
        return lambda docs: deduplicated(made, docs)
    return (lambda doc: mapped(made, doc)) if op.endswith("_mapper") else (lambda doc: filtered(made, doc))


def deduplicated(op: Any, docs: list[dict[str, Any]]) -> dict[str, Any]:
    given = NestedDataset.from_list([{"id": doc["id"], "text": doc["text"]} for doc in docs])
    return {"left": {row["id"]: row["text"] for row in op.run(given)}}


def mapped(op: Any, doc: dict[str, Any]) -> dict[str, Any]:
    if op.is_batched_op():
        return {"text": op.process_batched({"text": [doc["text"]]})["text"][0]}
    return {"text": op.process_single({"text": doc["text"]})["text"]}


def filtered(op: Any, doc: dict[str, Any]) -> dict[str, Any]:
    samples = {"text": [doc["text"]], Fields.stats: [{}], Fields.suffix: [doc[Fields.suffix]]}
    if not op.is_batched_op():
        sample = op.compute_stats_single({name: values[0] for name, values in samples.items()})
        return {"keep": bool(op.process_single(sample)), "stats": sample[Fields.stats]}
    samples = op.compute_stats_batched(samples)
    return {"keep": bool(next(iter(op.process_batched(samples)))), "stats": samples[Fields.stats][0]}


serve.serve(operator, *sys.argv[1:])
