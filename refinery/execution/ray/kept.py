"""The kept samples of a run as a Ray dataset: a task reads each piece of the export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from refinery.common.extras import lacks
from refinery.common.field_profile import InputProfile
from refinery.errors import OperatorError
from refinery.execution.ray.answers import result_of
from refinery.execution.ray.tasks import answered
from refinery.io.field_scan import profile_of
from refinery.io.json_columns import JsonColumns
from refinery.results.kept_samples import KeptSamples, tables_of
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
        look = ray.remote(num_cpus=1)(_profile)
        profile = InputProfile()
        for answer in ray.get([look.remote(shard) for shard in shards]):
            profile.merge(InputProfile.of_plain(json.loads(result_of(answer))))
        kept.__dict__["columns"] = JsonColumns.of(profile)
    schema = kept.schema
    if not shards or not schema.names:
        return ray.data.from_arrow(schema.empty_table())
    pieces = ray.data.from_items([{"shard": shard} for shard in shards], override_num_blocks=len(shards))
    read: Any = _read
    arguments = {"schema": schema, "columns": kept.columns if kept.lines else None}
    return pieces.map_batches(read, batch_size=1, batch_format="pyarrow", fn_kwargs=arguments)


def _profile(shard: str) -> str:
    return answered(lambda: json.dumps(profile_of(from_json(shard), None).plain()))


def _read(pieces: Any, schema: pa.Schema, columns: JsonColumns | None) -> Iterator[Any]:
    """The samples of pieces of the export."""
    for shard in pieces["shard"].to_pylist():
        any_table = False
        for table in tables_of(from_json(shard), schema, columns):
            any_table = True
            yield table
        if not any_table:
            yield schema.empty_table()
