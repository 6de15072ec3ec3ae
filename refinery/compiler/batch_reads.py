"""The first SELECT of a chain, over the batch as a worker hands it over: the values read from each sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from refinery.compiler.column_names import OF_BATCH, ColumnNames, Keys, stem
from refinery.compiler.model import REST, BatchColumn, Schema
from refinery.compiler.templates import ident, json_path, lit
from refinery.compiler.user_names import text_of_columns, text_of_line

# DuckDB accepts a comma before a closing bracket, which is not JSON. Strings may hold one, so they are checked last.
_COMMA = "',[ \t]*[]}]'"
_TRAILING_COMMA = (
    f"CASE WHEN regexp_matches(_line, {_COMMA}) "
    f"THEN regexp_matches(regexp_replace(_line, '\"([^\"\\\\]|\\\\.)*\"', '\"\"', 'g'), {_COMMA}) END"
)


@dataclass(frozen=True)
class BatchRead:
    """One value of a sample. sql: over the batch. of_rest: over the line without main text, if the value is in it."""

    sql: str
    of_rest: str | None = None


class BatchReads:
    """Columns that the first SELECT of a chain makes from the batch.

    batch_columns: the columns of the batch that the SELECT needs, by name.
    """

    def __init__(self, schema: Schema, text_key: Keys) -> None:
        self._schema, self._text_key = schema, text_key
        self._columns: dict[str, BatchRead] = {"_i": BatchRead("_i")}
        self._names = ColumnNames(OF_BATCH)
        self.batch_columns: dict[str, BatchColumn] = {}

    @property
    def columns(self) -> set[str]:
        """Names of the columns."""
        return {*self._columns}

    def add(self, name: str, read: BatchRead) -> None:
        """Make a column, unless it is made already."""
        self._columns.setdefault(name, read)

    def judge(self, text: str) -> None:
        """Make the column `_bad`, the reason a row has no text (`sql` does for lines). text: the main text's column."""
        if not self._schema.lines:
            self.add("_bad", BatchRead(f"CASE WHEN {self._columns[text].sql} IS NULL THEN 'no text' END"))

    def text(self, keys: Keys) -> BatchRead:
        """The text of a field."""
        if self._schema.lines and keys == self._text_key:
            return BatchRead(f"_line ->> {lit(json_path(keys))}")
        if self._schema.lines:
            return self.of_line(lambda line: text_of_line(keys, line), [keys])
        head = self.give("input", keys[0], keys[0], otherwise=f"_input_{stem(keys[:1])}")
        return BatchRead(text_of_columns((head, *keys[1:])))

    def value(self, name: str) -> BatchRead:
        """A column of a table."""
        read, kind = self.text((name,)), self._schema.written.get(name)
        return read if kind is None else BatchRead(f"CAST({read.sql} AS {kind})")  # no sample before the run has it

    def json(self, name: str) -> BatchRead:
        """A field of any type as JSON; NULL without it."""
        if self._schema.lines:
            return self.of_line(lambda line: f"CAST({line} -> {lit(json_path((name,)))} AS VARCHAR)", [(name,)])
        if name not in self._schema.columns:
            return BatchRead("CAST(NULL AS VARCHAR)")
        return BatchRead(f"CAST(to_json({ident(self.give('input', name, name))}) AS VARCHAR)")

    def suffix(self) -> BatchRead:
        """The suffix of the sample's file: its own field of that name goes before the file's."""
        of_file, field = self.give_fixed("suffix"), "__dj__suffix__"
        if self._schema.lines:
            path = lit(json_path((field,)))
            return self.of_line(lambda line: f"coalesce({line} ->> {path}, {of_file})", [(field,)])
        if field in self._schema.columns:
            return BatchRead(f"coalesce({ident(self.give('input', field, field))}, {of_file})")
        return BatchRead(of_file)

    def of_line(self, make: Callable[[str], str], fields: Sequence[Keys]) -> BatchRead:
        """A value of a line. make: returns the SQL over a column of lines. fields: those that the SQL reads."""
        rest = all(keys[0] != self._text_key[0] for keys in fields)
        return BatchRead(make("_line"), make(REST) if rest else None)

    def give(self, kind: str, name: str, wanted: str, otherwise: str = "") -> str:
        """Require a column of the batch; return its name there."""
        column = self._names.free(wanted, kind, name, otherwise=otherwise)
        self.batch_columns[column] = BatchColumn(column, kind, name)
        return column

    def give_fixed(self, kind: str, name: str | None = None) -> str:
        """Require a column of the batch that always has the same name."""
        column = name or f"_{kind}"
        self.batch_columns[column] = BatchColumn(column, kind, name or "")
        return column

    def sql(self, text: str, plain: bool = False) -> str:
        """The SELECT.

        text: the column of the main text. plain: no kernel has checked the lines before, as in scripts.
        """
        if not self._schema.lines:
            return f"SELECT {', '.join(_aliased(read.sql, name) for name, read in self._columns.items())} FROM batch"
        # One read decides if the line is JSON with a text; only other lines are checked for the error.
        trailing = "_kind = '' OR " if plain else ""
        bad_line = (
            f"CASE WHEN _kind = 'VARCHAR' THEN NULL WHEN {trailing}NOT json_valid(_line) THEN 'malformed JSON' "
            "WHEN json_type(_line) <> 'OBJECT' THEN 'not an object' ELSE 'no text' END AS _bad"
        )
        known = len(self._text_key) == 1 and not plain
        columns = {
            name: f"CASE WHEN _kind = 'VARCHAR' THEN {self._line_or_rest(read, known)} END AS {ident(name)}"
            for name, read in self._columns.items()
        }
        columns |= {name: name for name in ("_i", "_row", "_suffix") if name in columns}
        kind = f"TRY(json_type(_line, {lit(json_path(self._text_key))}))"
        if plain:
            kind = f"CASE WHEN {_TRAILING_COMMA} THEN '' ELSE {kind} END"
        if known:  # NULL: the text is unknown, not absent
            kind = f"CASE WHEN _text IS NULL THEN {kind} ELSE 'VARCHAR' END"
            read = f"CASE WHEN _kind = 'VARCHAR' THEN {self._columns[text].sql} END"
            columns[text] = f"CASE WHEN _text IS NULL THEN {read} ELSE _text END AS {ident(text)}"
        return f"SELECT {', '.join(columns.values())}, {bad_line} FROM (SELECT *, {kind} AS _kind FROM batch)"

    def _line_or_rest(self, read: BatchRead, known: bool) -> str:
        """SQL for a value of a line, over the line without its main text where the batch has that."""
        if not known or read.of_rest is None:
            return read.sql
        self.give_fixed("rest")
        return read.of_rest


def _aliased(sql: str, name: str) -> str:
    return sql if sql == ident(name) else f"{sql} AS {ident(name)}"
