"""Rows of a batch that go into quarantine, each with its place and reason."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from refinery.common.fields import field_name
from refinery.common.lazy import pc
from refinery.common.redaction import hide
from refinery.compiler.export_repeats import REPEAT_FAULT
from refinery.compiler.program import Program
from refinery.io.batch import Batch
from refinery.io.model import Shard
from refinery.io.readers.read import explain_json
from refinery.workers.row_errors import Failure

QUARANTINE = pa.schema(
    [
        ("_row", pa.int64()),
        ("file", pa.string()),
        ("line", pa.int64()),
        ("step", pa.int32()),
        ("operator", pa.string()),
        ("error", pa.string()),
        ("raw", pa.large_binary()),
    ]
)

Row = dict[str, Any]


def unreadable(shard: Shard, batch: Batch) -> Iterator[Row]:
    """Lines of the batch that could not be read."""
    packed = batch.files is not None
    for item in batch.bad:
        path = shard.sources[item.file].path if packed else shard.path_of(item.row)
        yield _record((item.row, path, item.line), 0, "", item.error, item.raw)


def failed(program: Program, shard: Shard, batch: Batch, failures: Sequence[Failure]) -> Iterator[Row]:
    """Rows on which a step has failed."""
    for failure in failures:
        operator = program.names.get(failure.step, "")
        place = _place(shard, batch, failure.at)
        yield _record(place, failure.step, operator, hide(failure.error), batch.raw(failure.at))


def no_samples(program: Program, shard: Shard, batch: Batch, done: pa.Table) -> Iterator[Row]:
    """Rows of the statement's result that are no samples, or that a step cannot process: `_bad` has the reason."""
    reasons, steps = done["_bad"], done["_bad_step"] if "_bad_step" in done.column_names else None
    for at in pc.indices_nonzero(reasons.is_valid()).to_pylist():  # numpy would import pandas
        i, reason = int(done["_i"][int(at)].as_py()), reasons[int(at)].as_py()
        raw, step = batch.raw(i), int(steps[int(at)].as_py()) if steps is not None else 0
        shown = hide(reason) if step else _reason(program, reason, raw)
        yield _record(_place(shard, batch, i), step, program.names.get(step, ""), shown, raw)


def _reason(program: Program, reason: str, raw: bytes) -> str:
    name = field_name(program.text_key)
    if reason == "no text":
        return _no_text(raw, program.text_key) if program.lines else f"{name!r} is null"
    if reason == "malformed JSON":
        return f"{reason}: {explain_json(raw)}"
    if reason.startswith(REPEAT_FAULT):  # of a recipe without steps
        return reason
    return f"{reason}: the line is JSON, but no sample"


def _place(shard: Shard, batch: Batch, i: int) -> tuple[int, str, int]:
    """Number, file and line of sample i."""
    row = int(batch.rows[i])
    path = shard.path_of(row) if batch.files is None else shard.sources[batch.files[i]].path
    return row, path, batch.line_number(i)


def _record(place: tuple[int, str, int], step: int, operator: str, error: str, raw: bytes) -> Row:
    row, file, line = place
    return {"_row": row, "file": file, "line": line, "step": step, "operator": operator, "error": error, "raw": raw}


def _no_text(raw: bytes, keys: tuple[str, ...]) -> str:
    """Reason why a JSON line has no text."""
    name = field_name(keys)
    value: Any = json.loads(raw)
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return f"{name!r} is missing"
        value = value[key]
    kind = {dict: "an object", list: "a list", bool: "a boolean", int: "a number", float: "a number"}.get(type(value))
    return f"{name!r} is {kind or 'null'}, not a text"
