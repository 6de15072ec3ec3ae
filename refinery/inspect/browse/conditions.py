"""Conditions on the samples of an input, as SQL over a batch of samples."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from refinery.common.fields import OTHERS, keys_of
from refinery.compiler.templates import ident, json_path, lit
from refinery.errors import DataError
from refinery.io.batch import LINE

# Words, and several words in quotes.
_WORDS = re.compile(r'"([^"]+)"|(\S+)')
# The host of an address, without user, port and path.
_HOST = r"^(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?://)?(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]+)"
WHOLE = OTHERS
KINDS = ("contains", "is", "host", "missing")


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

    def sql(self, schema: pa.Schema) -> str:
        """The condition over a table of samples with a schema: lines of JSON, or columns."""
        text = _text(self.field, schema)
        if self.kind == "missing":
            return f"{text} IS NULL"
        if self.kind == "is":
            return f"{text} = {lit(self.value)}"
        if self.kind == "host":
            host = f"lower(regexp_extract({text}, {lit(_HOST)}, 1))"
            wanted = self.value.strip().lower().strip(".")
            return f"({host} = {lit(wanted)} OR ends_with({host}, {lit('.' + wanted)}))"
        return " AND ".join(f"contains(lower({text}), lower({lit(word)}))" for word in self.words)


def _text(field: str, schema: pa.Schema) -> str:
    """SQL for the text of a field; NULL where the samples have no such field."""
    if field == WHOLE:
        packed = ", ".join(f"{ident(name)} := {ident(name)}" for name in schema.names)
        return LINE if LINE in schema.names else f"CAST(to_json(struct_pack({packed})) AS VARCHAR)"
    keys = keys_of(field)
    if LINE in schema.names:
        return f"({LINE} ->> {lit(json_path(keys))})"
    if keys[0] not in schema.names:
        return "CAST(NULL AS VARCHAR)"
    value, kind = ident(keys[0]), schema.field(keys[0]).type
    for key in keys[1:]:
        if not pa.types.is_struct(kind) or kind.get_field_index(key) < 0:
            return "CAST(NULL AS VARCHAR)"
        value, kind = f"struct_extract({value}, {lit(key)})", kind.field(key).type
    return f"CAST({value} AS VARCHAR)"
