"""The kept samples of a run as a Ray dataset: a task reads each piece of the export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import reduce
from typing import Any

import pyarrow as pa

from refinery.common.extras import lacks
from refinery.errors import OperatorError
from refinery.execution.ray import results
from refinery.execution.ray.tasks import answered
from refinery.results.kept_samples import KeptSamples, merged, structure_of, tables_of
from refinery.workers.serialization import from_json, to_json


def dataset_of(kept: KeptSamples) -> Any:
    """The dataset. Fields of JSON are found by a first pass, of tasks, too. Raises DataError; OperatorError without Ray."""
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise OperatorError(lacks("to_ray", "ray", error)) from None

    shards = [to_json(shard) for shard in kept.shards]
    if kept.lines:
        look = ray.remote(num_cpus=1)(_structure)
        found = ray.get([look.remote(shard) for shard in shards])
        kept.__dict__["structure"] = reduce(merged, (json.loads(results.read(answer)) for answer in found), "NULL")
    schema = kept.schema
    if not shards or not schema.names:
        return ray.data.from_arrow(schema.empty_table())
    pieces = ray.data.from_items([{"shard": shard} for shard in shards], override_num_blocks=len(shards))
    read: Any = _read
    given = {"schema": schema, "structure": kept.structure if kept.lines else None}
    return pieces.map_batches(read, batch_size=1, batch_format="pyarrow", fn_kwargs=given)


def _structure(shard: str) -> str:
    return answered(lambda: json.dumps(structure_of(from_json(shard))))


def _read(pieces: Any, schema: pa.Schema, structure: Any) -> Iterator[Any]:
    """The samples of pieces of the export."""
    for shard in pieces["shard"].to_pylist():
        found = False
        for table in tables_of(from_json(shard), schema, structure):
            found = True
            yield table
        if not found:
            yield schema.empty_table()
