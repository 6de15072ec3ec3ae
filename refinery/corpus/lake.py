"""Publishes snapshots to a table of a database: a DuckDB file, or a DuckLake catalogue where DuckDB has the extension.

The table gets the difference between its own snapshot and the present one in a single transaction of the database.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from refinery.common.lazy import duckdb
from refinery.common.redaction import hide
from refinery.compiler.templates import lit
from refinery.corpus.folder import CorpusFolder
from refinery.corpus.manifest import Manifest
from refinery.corpus.view import query_of, retracted_since
from refinery.errors import OutputError, Problem, RecipeError, did_you_mean

# Schemes of targets, each with the extension of DuckDB that it needs.
SCHEMES = {"duckdb": "", "ducklake": "ducklake"}
_TABLE = "kept"


@dataclass(frozen=True)
class Target:
    """A table of a database: `ducklake:catalogue.ducklake#table`, by default the table `kept`."""

    scheme: str
    place: str
    table: str

    @staticmethod
    def of(text: str) -> Target:
        """The target of a text. Raises RecipeError."""
        scheme, separator, rest = text.partition(":")
        place, _, table = rest.partition("#")
        if not separator or scheme not in SCHEMES or not place:
            known = " or ".join(f"{name}:FILE" for name in SCHEMES)
            if scheme == "iceberg":
                known += "; Iceberg tables are not written, but engines that read Parquet can read the corpus itself"
            what = f"publish: {hide(text)!r} names no database{did_you_mean(scheme, SCHEMES)}"
            raise RecipeError([Problem("", what, f"Write {known}.")])
        return Target(scheme, place, table or _TABLE)

    def require(self) -> None:
        """Check that DuckDB has the extension, which is never downloaded. Raises OutputError with the cure."""
        with duckdb.connect() as con:
            self._load(con)

    def _load(self, con: duckdb.DuckDBPyConnection) -> None:
        extension = SCHEMES[self.scheme]
        if not extension:
            return
        try:
            con.execute("SET autoinstall_known_extensions = false").fetchall()
            con.execute(f"LOAD {extension}").fetchall()
        except duckdb.Error as error:
            cure = f"Install it once, with access to the network: python -c \"import duckdb; duckdb.sql('INSTALL {extension}')\""
            raise OutputError(
                f"publish: DuckDB has no extension {extension}, which {self.scheme}: needs. {cure}"
            ) from error

    def publish(self, folder: CorpusFolder, manifest: Manifest) -> str:
        """Bring the table to a snapshot; return a line on what was done. Raises OutputError."""
        corpus_id = json.loads(folder.mark.read_text(encoding="utf-8"))["corpus_id"]
        with duckdb.connect() as con:
            self._load(con)
            try:
                if self.scheme == "duckdb":
                    _make(Path(self.place))
                where = self.place if self.scheme == "duckdb" else f"{self.scheme}:{self.place}"
                con.execute(f"ATTACH {lit(where)} AS lake").fetchall()
                con.execute("BEGIN").fetchall()
                done = self._write(con, folder, manifest, corpus_id)
                con.execute("COMMIT").fetchall()
            except (duckdb.Error, OSError) as error:
                what = str(error).splitlines()[0]
                raise OutputError(f"publish: {self.scheme}:{hide(self.place)}: {hide(what)}") from error
        return f"table {self.table} of {self.scheme}:{hide(self.place)}: {done}"

    def _write(self, con: duckdb.DuckDBPyConnection, folder: CorpusFolder, manifest: Manifest, corpus_id: str) -> str:
        table, note = f"lake.main.{_quoted(self.table)}", f"lake.main.{_quoted(self.table + '_snapshot')}"
        query = query_of(manifest, folder)
        base = self._base(con, note, corpus_id)
        if base == manifest.snapshot:
            return f"has snapshot {base} already"
        con.execute(
            f"CREATE OR REPLACE TABLE {note} AS SELECT {lit(corpus_id)} AS corpus_id, {manifest.snapshot} AS snapshot"
        ).fetchall()
        if base is None or not self._follows(con, table, query, manifest, base):
            con.execute(f"CREATE OR REPLACE TABLE {table} AS {query} ORDER BY _part, _row").fetchall()
            return f"snapshot {manifest.snapshot} is written, {manifest.counts.kept:,} rows"
        if gone := retracted_since(manifest, folder, base):
            con.execute(f"DELETE FROM {table} WHERE (_part, _row) IN ({gone})").fetchall()
        if any(file.snapshot > base for file in manifest.additions):
            new = query_of(manifest, folder, since=base)
            con.execute(f"INSERT INTO {table} BY NAME {new} ORDER BY _part, _row").fetchall()
        return f"snapshot {base} is now {manifest.snapshot}"

    def _base(self, con: duckdb.DuckDBPyConnection, note: str, corpus_id: str) -> int | None:
        """The snapshot that the table has; None if there is no table. Raises OutputError for a table of others."""
        names = {
            name
            for (name,) in con.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'lake'").fetchall()
        }
        if f"{self.table}_snapshot" not in names:
            if self.table in names:
                raise OutputError(
                    f"publish: the table {self.table} in {hide(self.place)} is not of a corpus. Name another one: #name"
                )
            return None
        [(owner, snapshot)] = con.execute(f"SELECT corpus_id, snapshot FROM {note}").fetchall()
        if owner != corpus_id:
            raise OutputError(
                f"publish: the table {self.table} in {hide(self.place)} is of another corpus. Name another one: #name"
            )
        return int(snapshot)

    def _follows(self, con: duckdb.DuckDBPyConnection, table: str, query: str, manifest: Manifest, base: int) -> bool:
        """True if the difference from an earlier snapshot is known, and the columns are the same."""
        if base > manifest.snapshot or all((file.first or file.snapshot) > base for file in manifest.additions):
            return False
        was = con.execute(f"DESCRIBE {table}").fetchall()
        now = con.execute(f"DESCRIBE {query}").fetchall()
        return [row[:2] for row in was] == [row[:2] for row in now]


def _make(place: Path) -> None:
    """Make an empty database where there is none, in one step: of one that is cut off by a full disk a rest would stay that is none."""
    if place.exists():
        return
    aside = place.with_name(f".unfinished-{place.name}")
    aside.unlink(missing_ok=True)
    try:
        duckdb.connect(aside).close()
        try:
            os.link(aside, place)  # never over a file that is there meanwhile
        except OSError:  # it is, or the file system has no links
            if not place.exists():
                os.replace(aside, place)
    finally:
        aside.unlink(missing_ok=True)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
