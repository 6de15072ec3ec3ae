"""The table macro `input_samples`, which reads the samples of a run's input again, by DuckDB alone."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from refinery.common.fields import quoted
from refinery.common.lazy import duckdb
from refinery.compiler.column_names import Keys
from refinery.compiler.templates import json_path, lit, template
from refinery.io.model import Shard, Source
from refinery.operators import read_sql
from refinery.storage.urls import is_url

COMMENT = (
    "samples of the input by their number, read from its files; a sample that is not as the run has read it is NULL"
)
# Format of samples that a program has handed over as a stream.
SAMPLES = "samples"
# Most files, which the macro lists one by one.
MOST = 10_000
_COMPRESSIONS = {None: "none", "gzip": "gzip", "zstd": "zstd"}
_DELIMITERS = {"csv": ",", "tsv": "\t"}


@dataclass(frozen=True)
class InputSamples:
    """The input of a run as its recipe's files have it. columns: of a table. text_key: of the text field."""

    sources: Sequence[Source]
    shards: Sequence[Shard]
    columns: Sequence[str]
    text_key: Keys


def create_macro(con: duckdb.DuckDBPyConnection, samples: InputSamples) -> None:
    """Create the macro in the database that a connection writes. No file is read before a query calls it."""
    con.execute(input_macro(samples)).fetchall()
    con.execute(f"COMMENT ON MACRO TABLE input_samples IS {lit(COMMENT)}").fetchall()


def input_macro(samples: InputSamples) -> str:
    """The statement that creates the macro. Where DuckDB cannot read the input, a call is an error with the reason."""
    reason, sources = why_not(samples), samples.sources
    values: dict[str, Any] = {
        "files": [] if reason else [_literal(source.path) for source in sources],
        "reason": reason,
    }
    if not reason:
        values["latest"] = max(_modified(source.path) for source in sources)
        is_lines, columns, keys = sources[0].format == "jsonl", samples.columns, samples.text_key
        values |= _of_lines(sources[0], keys) if is_lines else _of_columns(sources[0], columns, keys)
    return template(read_sql("views/input_samples.sql")).render(values)


def why_not(samples: InputSamples) -> str:
    """The reason why DuckDB cannot read the samples of a run's input; empty if it can."""
    sources = samples.sources
    kinds = {(source.format, source.compression) for source in sources}
    cure = "; keep_fields in the recipe stores fields in the tables"
    if not sources:
        return f"the input of this run has no files{cure}"
    if any(source.table is not None or source.format == SAMPLES for source in sources):
        return f"the samples of this run were passed in from Python{cure}"
    if any(is_url(source.path) for source in sources):
        return f"the input of this run is at a URL{cure}"
    if any(shard.only is not None for shard in samples.shards):
        return f"this run has read a choice of the samples of its input{cure}"
    if len(kinds) > 1 or not _readable(*next(iter(kinds))):
        names = ", ".join(sorted({source.format for source in sources}))
        return f"the input of this run is in a format or compression that one query of DuckDB does not read ({names}){cure}"
    if any(source.options or source.partitions or source.reader for source in sources):
        return f"the input of this run is read with options, or has fields from the names of folders{cure}"
    if len(sources) > MOST or not (samples.columns or sources[0].format == "jsonl"):
        return f"the input of this run has more than {MOST:,} files, or no samples{cure}"
    return ""


def _readable(kind: str, compression: str | None) -> bool:
    if kind == "parquet":
        return True
    return compression in _COMPRESSIONS and (kind == "jsonl" or kind in _DELIMITERS)


def _of_lines(source: Source, keys: Keys) -> dict[str, str]:
    """JSON lines: the sample is JSON. DuckDB skips blank lines, as refinery does, and a line that is no JSON is NULL."""
    compression = _COMPRESSIONS[source.compression]
    read = f"format := 'newline_delimited', ignore_errors := true, compression := '{compression}'"
    text = f"i.sample ->> {lit(json_path(keys))}"
    return {"sample": "json", "text": text, "source": f"read_json_objects(files, {read})"}


def _of_columns(source: Source, columns: Sequence[str], keys: Keys) -> dict[str, str]:
    """A table: the sample is a STRUCT of its columns; those of CSV are texts."""
    sample = ", ".join(f"{quoted(name)} := {quoted(name)}" for name in columns)
    text = ".".join(["i.sample", *map(quoted, keys)])
    if source.format == "parquet":
        options = "union_by_name := true, hive_partitioning := false"
        return {"sample": f"struct_pack({sample})", "text": text, "source": f"read_parquet(files, {options})"}
    kinds = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in columns)
    options = f"delim := {lit(_DELIMITERS[source.format])}, quote := '\"', escape := '\"', header := true, auto_detect := false"
    options += f", ignore_errors := true, compression := '{_COMPRESSIONS[source.compression]}', columns := {{{kinds}}}"
    return {"sample": f"struct_pack({sample})", "text": text, "source": f"read_csv(files, {options})"}


def _modified(path: str) -> int:
    """Time of a file's last change, in microseconds as DuckDB has it; 0 for one that is gone, so that no later one passes."""
    try:
        return os.stat(path).st_mtime_ns // 1000
    except OSError:
        return 0


def _literal(path: str) -> str:
    """A path in which DuckDB sees no pattern."""
    return re.sub(r"[*?\[]", lambda match: f"[{match[0]}]", path)
