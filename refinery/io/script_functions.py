"""Functions by which the scripts of `refinery sql` read and write lines as a run does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pc
from refinery.io.duplicate_keys import last_of_each
from refinery.io.writers.set_fields import set_members
from refinery.kernels.core.arrow import ints, texts
from refinery.kernels.json import jsoncheck
from refinery.operators import Function

SET_MEMBER = "set_member"

LINE_FUNCTIONS = (
    Function(
        name=SET_MEMBER,
        columns=("VARCHAR", "VARCHAR"),
        constants=("VARCHAR", "BOOLEAN"),
        returns="VARCHAR",
        runs="kernel",
        call="set_member",
        path=Path(__file__),
    ),
    Function(
        name="last_members",
        columns=("VARCHAR",),
        constants=(),
        returns="VARCHAR",
        runs="kernel",
        call="last_members",
        path=Path(__file__),
    ),
)


def set_member(lines: pa.Array, values: pa.Array, keys: str, quote: bool) -> pa.Array:
    """Lines with a new value of a (nested) member; every other byte stays, and so does a line whose value is NULL.

    keys: the names on the way to the member, as a JSON array. quote: values are texts; else JSON.
    """
    data, offsets = set_members(lines, np.arange(len(lines)), tuple(json.loads(keys)), values, quote)
    buffers = [None, ints(offsets).buffers()[1], pa.py_buffer(data)]
    made = pa.Array.from_buffers(pa.large_string(), len(lines), buffers)
    return pc.utf8_rtrim(made, "\n").cast(pa.string())


def last_members(lines: pa.Array) -> pa.Array:
    """Lines with the last one alone of members of one name, at any depth; every other byte stays."""
    read, kinds = texts(lines), np.zeros(len(lines), np.uint8)
    jsoncheck.objects(read.data, read.offsets[:-1], read.offsets[1:], kinds)
    repeating = np.flatnonzero(kinds == jsoncheck.REPEATING)
    if not len(repeating):
        return lines
    rewritten = lines.to_pylist()
    for row in repeating.tolist():
        rewritten[row] = last_of_each(rewritten[row].encode()).decode()
    return pa.array(rewritten, lines.type)
