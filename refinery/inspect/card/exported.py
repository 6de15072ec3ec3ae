"""The exported samples of a run as a relation of SQL, with their fields."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from refinery.common.fields import keys_of, quoted
from refinery.common.lazy import duckdb
from refinery.compiler.templates import lit
from refinery.errors import DataError, did_you_mean
from refinery.results.delivery import not_as_left
from refinery.storage.urls import is_url

# DuckDB's function for typed columns of a format, and for JSON the one for rows `json`.
_TABLES = {
    "jsonl": "read_json({files}, format = 'newline_delimited')",
    "json": "read_json({files}, format = 'array')",
    "parquet": "read_parquet({files}, hive_partitioning = false)",
}
_OBJECTS = {
    "jsonl": "read_json_objects({files}, format = 'newline_delimited')",
    "json": "read_json_objects({files}, format = 'array')",
}


# From this number on, files are named by a pattern.
_MANY = 8


@dataclass(frozen=True)
class Exported:
    """The export of a run. kind: its format. paths: its files, or a pattern. root: of the run folder. changed: see `not_as_left`."""

    con: duckdb.DuckDBPyConnection
    kind: str
    paths: Sequence[str]
    root: str
    changed: Sequence[str] = ()

    def printed(self, sql: str) -> str:
        """A query as a card has it: paths below the run folder are relative to it, so that it can be moved."""
        for path in self.paths:
            below = os.path.relpath(path, glob.escape(self.root)) if os.path.isabs(path) else path
            sql = sql if below.startswith("..") else sql.replace(lit(path), lit(below))
        return sql

    @cached_property
    def why_not(self) -> str:
        """Reason why it cannot be queried; empty if it can."""
        if not self.paths:
            return "the run exported no samples"
        if is_url(self.paths[0]):
            return "the export is at a URL; query a copy of it with DuckDB's extension httpfs"
        if self._format not in _TABLES:
            return f"DuckDB does not read the export's format, {self.kind}"
        try:
            self.con.execute(f"DESCRIBE FROM {self._table}").fetchall()
        except duckdb.Error as error:
            return f"the export cannot be read: {str(error).splitlines()[0]}"
        return f"{self.changed[0]}, so figures would be those of another file" if self.changed else ""

    @cached_property
    def fields(self) -> dict[str, str]:
        """Fields of the samples with their types; of JSON, as the first samples of each file have them."""
        if self.why_not:
            return {}
        rows = self.con.execute(f"DESCRIBE FROM {self._table}").fetchall()
        return {row[0]: row[1] for row in rows}

    @property
    def relation(self) -> str:
        """SQL of the relation: rows `json` of JSON, so that values of any type can be read, or typed columns."""
        return (_OBJECTS.get(self._format) or _TABLES[self._format]).format(files=lit(list(self.paths)))

    def field(self, names: Sequence[str], option: str) -> str | None:
        """SQL for the text of a field: the named one, else the first of the usual names that the samples have.

        option: the option that names the field; names: what it names, or the usual names. Raises DataError for a named field
        that the samples do not have.
        """
        for name in names:
            keys = (name,) if name in self.fields else keys_of(name)
            if self._has(keys):
                return self.text(keys)
        if option and not self.why_not:
            known = ", ".join(self.fields) or "none"
            raise DataError(
                f"{option} {names[0]}: the exported samples have no such field, but {known}{did_you_mean(names[0], self.fields)}"
            )
        return None

    def text(self, keys: Sequence[str]) -> str:
        """SQL for the value of a field, as a text."""
        if self._format in _OBJECTS:
            pointer = "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)
            return f"json ->> {lit(pointer)}"
        return f"CAST({'.'.join(map(quoted, keys))} AS VARCHAR)"

    def _has(self, keys: Sequence[str]) -> bool:
        """Return whether the samples have a field, which may be nested."""
        if keys[0] not in self.fields:
            return False
        try:
            self.con.execute(f"SELECT {'.'.join(map(quoted, keys))} FROM {self._table} LIMIT 0")
        except duckdb.Error:
            return False
        return True

    @property
    def _format(self) -> str:
        return self.kind.partition(".")[0]

    @property
    def _table(self) -> str:
        return _TABLES[self._format].format(files=lit(list(self.paths)))


def of_manifest(con: duckdb.DuckDBPyConnection, manifest: dict[str, Any], kind: str, root: str) -> Exported:
    """The export that a manifest lists. root: of the run folder."""
    paths = [item["path"] for item in manifest["outputs"] if item["rows"]]
    return Exported(con, kind, _patterns(paths), root, not_as_left(manifest))


def _patterns(paths: Sequence[str]) -> list[str]:
    """The files as patterns of DuckDB: many of them as one pattern, if it matches no other file."""
    if any(map(is_url, paths)):
        return list(paths)
    if len(paths) > _MANY:
        start, end = os.path.commonprefix(paths), "." + os.path.basename(paths[0]).partition(".")[2]
        several = any(os.sep in path[len(start) :] for path in paths)
        pattern = os.path.join(glob.escape(os.path.dirname(start)), "**", "*") if several else f"{glob.escape(start)}*"
        if set(glob.glob(f"{pattern}{glob.escape(end)}", recursive=True)) == set(paths):
            return [f"{pattern}{glob.escape(end)}"]
    return [glob.escape(path) for path in paths]
