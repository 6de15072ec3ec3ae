"""Serialization of plain data for other processes and machines, as JSON on one line. Reading it never runs code.

A value without a JSON form is an object whose key `@` names its type. Only dataclasses of a closed list are allowed,
by their fields. Files of shipped operators are named relative to the library, so that another machine finds its own
copy; all other paths stay as they are.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.compiler.layers import Definition
from refinery.compiler.model import BatchColumn, KeptField, OrderTerm, Stat, TextChange
from refinery.compiler.program import Program, StepInfo
from refinery.compiler.terms import Predicate, Term
from refinery.dedup.matchers import MatchColumn
from refinery.io.model import Part, RemovedIn, Shard, Source
from refinery.operators import Function, shipped
from refinery.workers.worker import ShardResult, Task

# Dataclasses that may be serialized.
CLASSES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        TextChange,
        Definition,
        Function,
        BatchColumn,
        KeptField,
        OrderTerm,
        MatchColumn,
        Part,
        Predicate,
        Program,
        RemovedIn,
        Shard,
        ShardResult,
        Source,
        Stat,
        StepInfo,
        Task,
        Term,
    )
}

_FIELDS: dict[type, tuple[str, ...]] = {kind: tuple(one.name for one in fields(kind)) for kind in CLASSES.values()}
_TAG = "@"
_AS_THEY_ARE = frozenset((type(None), bool, int, str))

# Writes a table to a file that the reader of the text can open, and returns its path.
Spool = Callable[[pa.Table], str]


def to_json(value: Any, spool: Spool | None = None) -> str:
    """Serialize a value as text without line ends; numbers of numpy become Python's.

    spool: writes in-memory tables to files; without it tables are part of the text. Raises TypeError for other types.
    """
    return json.dumps(_plain(value, spool), separators=(",", ":"), allow_nan=False)


def from_json(text: str | bytes) -> Any:
    """Read a value that `to_json` has written. Raises ValueError for any other text."""
    return _value(json.loads(text))


def _plain(value: Any, spool: Spool | None) -> Any:
    """Convert a value to JSON types."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if (names := _FIELDS.get(kind)) is not None:
        return {_TAG: kind.__name__, "of": {name: _plain(getattr(value, name), spool) for name in names}}
    if isinstance(value, str):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else {_TAG: "float", "is": str(float(value))}
    if isinstance(value, (list, tuple)):
        items = [_plain(item, spool) for item in value]
        return items if isinstance(value, list) else {_TAG: "tuple", "of": items}
    if isinstance(value, Mapping):
        return _mapping(value, spool)
    return _binary(value, spool)


def _mapping(value: Mapping[Any, Any], spool: Spool | None) -> Any:
    if all(isinstance(key, str) for key in value) and _TAG not in value:
        return {key: _plain(item, spool) for key, item in value.items()}
    return {_TAG: "dict", "of": [[_plain(key, spool), _plain(item, spool)] for key, item in value.items()]}


def _binary(value: Any, spool: Spool | None) -> dict[str, Any]:
    """Convert a value without members: paths, bytes, arrays, schemas, tables."""
    if isinstance(value, Path):
        return _path(value)
    if isinstance(value, bytes):
        return {_TAG: "bytes", "of": _letters(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        array = np.ascontiguousarray(value)
        return {_TAG: "array", "dtype": value.dtype.str, "shape": list(value.shape), "of": _letters(array.tobytes())}
    if isinstance(value, pa.Schema):
        return {_TAG: "schema", "of": _letters(value.serialize())}
    if isinstance(value, pa.Table):
        return {_TAG: "table", "file": spool(value)} if spool else {_TAG: "table", "of": _letters(_stream(value))}
    raise TypeError(f"{type(value).__name__} cannot be sent to another process")


def _path(path: Path) -> dict[str, Any]:
    home = _home()
    return {_TAG: "shipped", "of": str(path.relative_to(home))} if path.is_relative_to(home) else _named(path)


def _named(path: Path) -> dict[str, Any]:
    return {_TAG: "path", "of": str(path)}


@cache
def _home() -> Path:
    return shipped()


def _stream(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _letters(data: bytes | pa.Buffer) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(value: dict[str, Any]) -> bytes:
    return base64.b64decode(value["of"], validate=True)


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_value(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if _TAG not in plain:
        return {key: _value(item) for key, item in plain.items()}
    read = _READERS.get(plain[_TAG]) or _dataclass
    try:
        return read(plain)
    except (KeyError, TypeError, pa.ArrowException) as error:
        raise ValueError(f"no {plain[_TAG]!r} of this version of refinery: {error}") from error


def _dataclass(plain: dict[str, Any]) -> Any:
    return CLASSES[plain[_TAG]](**{name: _value(item) for name, item in plain["of"].items()})


def _array(plain: dict[str, Any]) -> np.ndarray:
    dtype = np.dtype(plain["dtype"])
    if dtype.kind not in "biuf":
        raise TypeError(f"an array of {dtype}")
    return np.frombuffer(_bytes(plain), dtype).reshape(plain["shape"]).copy()


def _table(plain: dict[str, Any]) -> pa.Table:
    return opened(plain["file"]) if "file" in plain else pa.ipc.open_stream(_bytes(plain)).read_all()


@lru_cache(maxsize=4)
def opened(path: str) -> pa.Table:
    """Open a table that `spooled` has written, memory-mapped, so that all readers share it."""
    with pa.memory_map(path) as source:
        return pa.ipc.open_file(source).read_all()


def spooled(table: pa.Table, path: Path) -> str:
    """Write a table for `opened`; returns the path of its file."""
    aside = path.with_suffix(".tmp")
    with pa.OSFile(str(aside), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    aside.rename(path)
    return str(path)


_READERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "float": lambda plain: float(plain["is"]),
    "tuple": lambda plain: tuple(_value(item) for item in plain["of"]),
    "dict": lambda plain: {_value(key): _value(item) for key, item in plain["of"]},
    "path": lambda plain: Path(plain["of"]),
    "shipped": lambda plain: _home() / plain["of"],
    "bytes": _bytes,
    "array": _array,
    "schema": lambda plain: pa.ipc.read_schema(pa.py_buffer(_bytes(plain))),
    "table": _table,
}
