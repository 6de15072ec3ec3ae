"""Folders named key=value (hive partitions): each is a field of the samples below it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

import pyarrow as pa

from refinery.io.model import Partitions

# Hive's and Spark's name for a missing value.
MISSING = "__HIVE_DEFAULT_PARTITION__"
_PAIR = re.compile(r"([^=]+)=(.*)", re.DOTALL)
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")


def pair_of(folder: str) -> tuple[str, str | None] | None:
    """Key and value of a folder's name; None if it is no partition."""
    match = _PAIR.fullmatch(folder)
    if match is None:
        return None
    return unquote(match[1]), None if match[2] == MISSING else unquote(match[2])


def partitions_of(folders: Iterable[str]) -> dict[str, str | None]:
    """The pairs of the folders above a file; of one key, the innermost."""
    return dict(pair for folder in folders if (pair := pair_of(folder)) is not None)


def typed(partitions: Sequence[dict[str, str | None]]) -> list[Partitions]:
    """The pairs of files with their types: integer if all values of a key are; leading zeros make a text."""
    values: dict[str, list[str]] = {}
    for pairs in partitions:
        for key, value in pairs.items():
            values.setdefault(key, []).extend([] if value is None else [value])
    integers = {key for key, listed in values.items() if listed and all(map(_INTEGER.fullmatch, listed))}
    return [tuple((key, value, key in integers) for key, value in pairs.items()) for pairs in partitions]


def with_columns(table: pa.Table, partitions: Partitions) -> pa.Table:
    """A table with the partitions' columns; a column of the table itself stays."""
    known = {name.lower() for name in table.column_names} if partitions else set()
    for key, value, is_integer in partitions:
        if key.lower() not in known:  # names that differ in case only are one for DuckDB
            kind = pa.int64() if is_integer else pa.string()
            plain = int(value) if is_integer and value is not None else value
            table = table.append_column(key, pa.repeat(pa.scalar(plain, kind), len(table)))
    return table
