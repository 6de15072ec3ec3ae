"""Conditions on the samples of an input, as SQL over a batch of samples."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from refinery.common.fields import OTHERS, keys_of
from refinery.compiler.templates import json_path, lit
from refinery.errors import DataError
from refinery.io.batch import LINE

# Words, and several words in quotes.
_WORDS = re.compile(r'"([^"]+)"|(\S+)')
# The host of an address, without user, port and path.
_HOST = r"^(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?://)?(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]+)"
WHOLE = OTHERS
KINDS = ("contains", "is", "host", "missing")


@dataclass(frozen=True)
class SampleFields:
    """SQL for the fields of samples. columns: name in SQL and type by the column's name; None for lines of JSON."""

    columns: Mapping[str, tuple[str, pa.DataType]] | None = None

    @staticmethod
    def of(table: pa.Table, lines: bool) -> tuple[pa.Table, SampleFields]:
        """Samples to query, and their fields. Columns get other names: for DuckDB, `Text` and `text` are the same."""
        if lines:
            return table.select([LINE]), SampleFields()
        names = [f"column_{at}" for at in range(table.num_columns)]
        known = dict(zip(table.schema.names, zip(names, table.schema.types, strict=True), strict=True))
        return table.rename_columns(names), SampleFields(known)

    def text(self, field: str) -> str:
        """The text of a field; NULL where the samples have no such field."""
        if self.columns is None:
            return LINE if field == WHOLE else f"({LINE} ->> {lit(json_path(keys_of(field)))})"
        if field == WHOLE:
            members = ", ".join(f"{lit(name)}, {column}" for name, (column, _) in self.columns.items())
            return f"CAST(json_object({members}) AS VARCHAR)"
        name, *keys = keys_of(field)
        value, kind = self.columns.get(name, ("NULL", pa.null()))
        for key in keys:
            if not pa.types.is_struct(kind) or kind.get_field_index(key) < 0:
                return "CAST(NULL AS VARCHAR)"
            value, kind = f"struct_extract({value}, {lit(key)})", kind.field(key).type
        return f"CAST({value} AS VARCHAR)"


@dataclass(frozen=True)
class SampleCondition:
    """A condition on a field of a sample as it stands in the input.

    field: its name, with dots for nested ones; WHOLE stands for the whole sample as JSON. kind: "contains": all words of
    `value` stand in it, with any letter case, words in quotes as a phrase; "is": it is exactly `value`; "host": it is an address on the host
    `value` or below; "missing": it is absent or null.
    """

    field: str
    kind: str
    value: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DataError(f"a field is compared by {', '.join(KINDS[:-1])} or {KINDS[-1]}, not by {self.kind!r}")
        if self.kind == "contains" and not self.words:
            raise DataError("no word to search for; write at least one")

    @property
    def words(self) -> list[str]:
        """Words and phrases, all of which have to stand in the field."""
        return [phrase or word for phrase, word in _WORDS.findall(self.value)]

    def sql(self, fields: SampleFields) -> str:
        """The condition over samples."""
        text = fields.text(self.field)
        if self.kind == "missing":
            return f"{text} IS NULL"
        if self.kind == "is":
            return f"{text} = {lit(self.value)}"
        if self.kind == "host":
            host = f"lower(regexp_extract({text}, {lit(_HOST)}, 1))"
            wanted = self.value.strip().lower().strip(".")
            return f"({host} = {lit(wanted)} OR ends_with({host}, {lit('.' + wanted)}))"
        return " AND ".join(f"contains(lower({text}), lower({lit(word)}))" for word in self.words)
