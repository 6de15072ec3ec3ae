"""Join the parts of all shards to the files that a recipe asks for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from refinery.common.field_profile import InputProfile
from refinery.common.fields import quoted
from refinery.io.model import Written
from refinery.io.writers.export_files import behind_link, names, put, stem_of
from refinery.io.writers.model import ExportJob
from refinery.io.writers.registry import suffix_of, writer_of
from refinery.io.writers.tidy import tidy
from refinery.io.writers.write import writing

STATS = "__dj__stats__"


def export(
    parts: Sequence[str | os.PathLike[str]],
    export_path: str,
    kind: str,
    shard_size: int = 0,
    lines: bool = True,
    in_parallel: bool = True,
    profile: Callable[[], InputProfile] | None = None,
    whole: bool = False,
    note: Callable[[str], None] | None = None,
) -> list[Written]:
    """Write the samples of all parts, in the order of the parts, to `export_path`, or to `name-00-of-03.jsonl` and on.

    kind: one of the registered formats. shard_size: maximum bytes of uncompressed data in a file; 0: one file. lines: the
    parts are JSON lines, else Parquet. in_parallel: write several files at once; conversions use all cores anyway.
    profile, whole, note: see ExportJob.
    Each file gets its name when it is complete. Raises OutputError when that fails.
    """
    writer = writer_of(kind, export_path)
    workers = _cores() if in_parallel or not lines or writer.in_parallel else 1
    with writing(export_path):
        folder = os.path.dirname(os.path.abspath(os.path.expanduser(export_path)))
        os.makedirs(folder, exist_ok=True)
        tidy(os.path.expanduser(export_path))
        files, targets = [os.fspath(part) for part in parts], partial(names, export_path, kind)
        return writer.join(ExportJob(files, targets, shard_size, lines, workers, folder, profile, whole, note))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def stats_path(export_path: str) -> str:
    """The file for the statistics of `name.jsonl`: `name_stats.jsonl`, or the target of a link of that name."""
    return behind_link(stats_name(export_path))


def stats_name(export_path: str) -> str:
    """The name `name_stats.jsonl` for `name.jsonl`."""
    path = os.path.expanduser(export_path)
    return f"{stem_of(path, suffix_of(path))}_stats.jsonl"


def stats_query(columns: Sequence[str], relation: str, kept: str) -> str:
    """SQL for the statistics of kept samples as one column. kept: condition over the relation."""
    fields = ", ".join(f"{quoted(column)} := {quoted(column)}" for column in columns)
    return f"SELECT struct_pack({fields}) AS {STATS} FROM {relation} WHERE {kept}"


def join_stats(pieces: Iterable[str | os.PathLike[str]], rows: int, export_path: str) -> Written:
    """Put files with the statistics of kept samples, written by `stats_query`, together, as `write_stats` does with a table.

    rows: of all pieces.
    """

    def write(aside: str) -> int:
        with open(aside, "wb") as joined:
            for piece in pieces:
                with open(piece, "rb") as part:
                    shutil.copyfileobj(part, joined, 1 << 20)
        return rows

    return put(stats_path(export_path), write)


def write_stats(con: Any, export_path: str, columns: Sequence[str]) -> Written:
    """Write the statistics of the kept samples, a line for each as Data-Juicer does: {"__dj__stats__": {...}}.

    con: a DuckDB connection with the table `stats` (`kept`, and the columns), in the order of the samples.
    """
    select = stats_query(columns, "stats", "kept")

    def write(aside: str) -> int:
        literal = "'" + aside.replace("'", "''") + "'"
        [(rows,)] = con.execute(f"COPY ({select}) TO {literal} (FORMAT json)").fetchall()
        return int(rows)

    return put(stats_path(export_path), write)
