"""Memory of the commands that read finished runs: it follows from a limit, not from the number of rows."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from refinery.common.lazy import duckdb
from refinery.workers.machine import memory, share_of_memory

# Least bytes for a query, however small the run's own limit was; most bytes on a machine of less than four times as much.
_LEAST, _MOST = 128 << 20, 1 << 30
_RECORDED = re.compile(r"^memory_limit: *(\d+) *$", re.MULTILINE)


def limit_memory(con: duckdb.DuckDBPyConnection, recipes: str | None = None, beside: Path | None = None) -> None:
    """Limit a connection to the memory_limit of the runs that it reads, or to a share of what this process may use.

    The share is a quarter; of less than 4 GB, up to three fifths. DuckDB's own limit, four fifths, leaves less than Python and the C library need beside it. recipes: texts
    of the runs' recipes. beside: a file of the run, beside which DuckDB spills if its folder can be written to.
    """
    recorded = [int(limit) for limit in _RECORDED.findall(recipes or "")]
    share = min(share_of_memory(1), max(_MOST, memory() // 4))
    most = max(_LEAST, min([share, *recorded]))
    con.execute("SET memory_limit = ?", [f"{most // 1000}KB"]).fetchall()
    if beside is None or not os.access(beside.parent, os.W_OK):
        con.execute("SET temp_directory = ?", [str(Path(spill_place()) / "duckdb")]).fetchall()


_places: list[tempfile.TemporaryDirectory[str]] = []  # at most one, removed when the process ends


def spill_place() -> str:
    """A folder of this process for data that does not fit into memory."""
    if not _places:
        _places.append(tempfile.TemporaryDirectory(prefix="refinery-"))
    return _places[0].name
