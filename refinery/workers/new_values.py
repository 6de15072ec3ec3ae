"""New values of samples' fields from the result of a statement, as `PartWriter` takes them."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from refinery.compiler.program import Program
from refinery.kernels.core.arrow import whole

_TYPES = {
    "FLOAT[]": pa.list_(pa.float32()),
    "DOUBLE[]": pa.list_(pa.float64()),
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
}


def new_values(program: Program, done: pa.Table) -> tuple[dict[Any, pa.Array], dict[str, pa.Array]]:
    """New texts by field, and new values of other fields by name: JSON for lines, Arrow's values for tables."""
    columns = {keys: whole(done[column]) for keys, column in program.outs.items()}
    texts = {keys: values for keys, values in columns.items() if keys not in program.written}
    written = {keys[0]: (columns[keys], kind) for keys, kind in program.written.items() if keys in columns}
    if program.lines:
        return texts, {name: values for name, (values, _) in written.items()}
    values = {name: _plain(json_texts, _TYPES[kind]) for name, (json_texts, kind) in written.items()}
    texts |= {(name,): array for name, array in values.items() if pa.types.is_string(array.type)}
    return texts, {name: array for name, array in values.items() if (name,) not in texts}


def _plain(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """JSON texts as the values that they hold."""
    return pa.array(json.loads("[" + ",".join(text or "null" for text in values.to_pylist()) + "]"), kind)
