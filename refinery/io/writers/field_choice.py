"""The fields of exported samples: chosen, renamed and left out, by `export_fields` of a recipe."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from refinery import kernels
from refinery.common.field_profile import FieldProfile, InputProfile
from refinery.common.fields import OTHERS, NamedFields, keys_of
from refinery.common.lazy import pc
from refinery.io.batch import LINE, as_json
from refinery.io.model import Keys
from refinery.io.writers.set_fields import set_members
from refinery.kernels.core.arrow import strings, texts

# Bytes of lines, and the offset of each.
Lines = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class FieldChoice:
    """The fields of an exported sample. fields: pairs of a field and its name in the export; (`*`, `*`): all others stay, too."""

    fields: NamedFields

    @cached_property
    def keeps_others(self) -> bool:
        """True if fields that are not named stay."""
        return any(field == OTHERS for field, _ in self.fields)

    @cached_property
    def named(self) -> list[tuple[Keys, str | None]]:
        """The named fields by their keys, each with its name in the export."""
        return [(keys_of(field), name) for field, name in self.fields if field != OTHERS]

    @cached_property
    def chosen(self) -> list[tuple[Keys, str]]:
        """The named fields that are exported."""
        return [(keys, name) for keys, name in self.named if name is not None]

    # Lines

    def of_lines(self, lines: Lines) -> Lines:
        """JSON lines with the chosen fields; a field that a sample lacks is left out of its line."""
        return self._edited(lines) if self.keeps_others else _chosen(lines, self.chosen)

    def _edited(self, lines: Lines) -> Lines:
        """Lines with some members renamed, moved or left out; all others stay where they are."""
        moved = [(name, _values(lines, keys)) for keys, name in self.chosen if len(keys) > 1]
        for keys, name in self.named:
            if name is None or len(keys) > 1:
                lines = _without(lines, keys)
        # A member may get the name of another one that is renamed itself, so they first get names that no sample has.
        given = [(keys[0], name) for keys, name in self.chosen if len(keys) == 1 and keys[0] != name]
        for number, (key, _) in enumerate(given):
            lines = _renamed(lines, key, _between(number))
        for name in (*(name for _, name in given), *(name for name, _ in moved)):
            lines = _without(lines, (name,))
        for number, (_, name) in enumerate(given):
            lines = _renamed(lines, _between(number), name)
        for name, values in moved:
            data, offsets = lines
            rows = np.arange(len(offsets) - 1)
            lines = set_members(_column(data, offsets), rows, (name,), values, quote=False)
        return lines

    # Tables

    def of_table(self, table: pa.Table) -> pa.Table:
        """A table with the chosen columns."""
        columns_by_name = [(keys, name, _column_at(table, keys)) for keys, name in self.chosen]
        if not self.keeps_others:
            there = [(name, column) for _, name, column in columns_by_name if column is not None]
            return pa.table([column for _, column in there], names=[name for name, _ in there])
        for keys, _ in self.named:
            if len(keys) > 1 and keys[0] in table.column_names:
                at = table.column_names.index(keys[0])
                table = table.set_column(at, keys[0], _without_field(table.column(at), keys[1:]))
        columns = {goal: table[name] for name in table.column_names if (goal := self._outer(name)) is not None}
        return pa.table(
            columns | {name: column for keys, name, column in columns_by_name if column is not None and len(keys) > 1}
        )

    def _outer(self, name: str) -> str | None:
        """The new name of an outer field where others stay; None if it does not stay."""
        plain = {keys[0]: goal for keys, goal in self.named if len(keys) == 1}
        return plain.get(name, None if name in {goal for _, goal in self.chosen} else name)

    def of_profile(self, profile: InputProfile) -> InputProfile:
        """The profile of the chosen fields, for the columns of an export without samples."""
        chosen = {name: _profile_at(profile, keys) for keys, name in self.chosen}
        own = {goal: name for name in profile.names if (goal := self._outer(name)) is not None}
        fields = {
            name: chosen.get(name) or profile.fields.get(own.get(name, name)) for name in self.names([*profile.names])
        }
        return InputProfile({name: field for name, field in fields.items() if field is not None}, dict.fromkeys(fields))

    def names(self, names: Sequence[str]) -> list[str]:
        """Names of outer fields after the choice."""
        stay = [goal for name in names if (goal := self._outer(name)) is not None] if self.keeps_others else []
        return list(dict.fromkeys([*stay, *(name for _, name in self.chosen)]))


def values_of(table: pa.Table, keys: Keys, lines: bool) -> pa.Array | pa.ChunkedArray:
    """A field of samples as text, JSON for lists and objects; NULL where it is missing or null. lines: of a column `_line`."""
    if not lines:
        column = _column_at(table, keys)
        if column is None:
            return pa.nulls(len(table), pa.string())
        if pa.types.is_nested(column.type):
            values = [None if value is None else as_json(value).decode() for value in column.to_pylist()]
            return pa.array(values, pa.string())
        return column.cast(pa.string())
    view = texts(table[LINE])
    return pa.array([_plain(value) for value in _values((view.data, view.offsets), keys).to_pylist()], pa.string())


def _plain(value: str | None) -> str | None:
    """A JSON value as text: a text without its quotes."""
    if value is None or value == "null":
        return None
    return str(json.loads(value)) if value.startswith('"') else value


def _between(number: int) -> str:
    """A name that a member has while others are renamed."""
    return f"\0refinery {number}"


def _path(keys: Keys) -> tuple[np.ndarray, np.ndarray]:
    encoded = [key.encode() for key in keys]
    return np.frombuffer(b"".join(encoded) + b"\0", np.uint8), np.cumsum([len(key) for key in encoded]).astype(np.int64)


def _spans(lines: Lines, keys: Keys) -> np.ndarray:
    """Start and end of the value of a field in each line, -1 in lines without it."""
    data, offsets = lines
    spans = np.empty((len(offsets) - 1, 2), np.int64)
    kernels.json.jsonmembers.member_spans(data, offsets, *_path(keys), spans)
    return spans


def _values(lines: Lines, keys: Keys) -> pa.Array:
    """The value of a field in each line, as JSON; NULL in lines without it."""
    spans, text = _spans(lines, keys), lines[0].tobytes()
    return pa.array([None if a < 0 else text[a:b].decode() for a, b in spans.tolist()], pa.large_string())


def _chosen(lines: Lines, fields: Sequence[tuple[Keys, str]]) -> Lines:
    data, offsets = lines
    rows, count = len(offsets) - 1, len(fields)
    spans = np.stack([_spans(lines, keys) for keys, _ in fields], axis=1).reshape(rows * count, 2)
    names = [json.dumps(name, ensure_ascii=False).encode() + b": " for _, name in fields]
    ends = np.cumsum([len(name) for name in names]).astype(np.int64)
    room = int((spans[:, 1] - spans[:, 0]).sum()) + rows * (int(ends[-1]) + 2 * count + 3)
    out, new_offsets = np.empty(room + 1, np.uint8), np.zeros(rows + 1, np.int64)
    kernels.json.jsonmembers.chosen(data, spans, np.frombuffer(b"".join(names), np.uint8), ends, out, new_offsets)
    return out[: new_offsets[-1]], new_offsets


def _without(lines: Lines, keys: Keys) -> Lines:
    data, offsets = lines
    out, new_offsets = np.empty(int(offsets[-1] - offsets[0]) + 1, np.uint8), np.zeros(len(offsets), np.int64)
    kernels.json.jsonmembers.without(data, offsets, *_path(keys), out, new_offsets)
    return out[: new_offsets[-1]], new_offsets


def _renamed(lines: Lines, key: str, name: str) -> Lines:
    data, offsets = lines
    old = np.frombuffer(key.encode() + b"\0", np.uint8)[: len(key.encode())]
    new = np.frombuffer(json.dumps(name, ensure_ascii=False).encode(), np.uint8)
    count = kernels.json.jsonmembers.count_members(data, offsets, len(offsets) - 1, old)
    out = np.empty(int(offsets[-1] - offsets[0]) + count * len(new) + 1, np.uint8)
    new_offsets = np.zeros(len(offsets), np.int64)
    kernels.json.jsonmembers.renamed(data, offsets, old, new, out, new_offsets)
    return out[: new_offsets[-1]], new_offsets


def _column(data: np.ndarray, offsets: np.ndarray) -> pa.Array:
    return strings(data, offsets, np.ones(len(offsets) - 1, np.bool_))


def _profile_at(profile: InputProfile, keys: Keys) -> FieldProfile | None:
    """Profile of a field, which may be nested; None if no sample has it."""
    field = profile.fields.get(keys[0])
    for key in keys[1:]:
        field = field.members.get(key) if field is not None and field.members is not None else None
    return field


def _column_at(table: pa.Table, keys: Keys) -> pa.ChunkedArray | None:
    """A column, or a field inside its structs; None if the table does not have it."""
    if keys[0] not in table.column_names:
        return None
    column = table[keys[0]]
    for key in keys[1:]:
        if not pa.types.is_struct(column.type) or column.type.get_field_index(key) < 0:
            return None
        column = pc.struct_field(column, key)
    return column


def _without_field(column: pa.ChunkedArray, keys: Keys) -> pa.ChunkedArray:
    """A column of structs without one of their fields."""
    kind = column.type
    if not pa.types.is_struct(kind) or kind.get_field_index(keys[0]) < 0:
        return column
    arrays = []
    for chunk in column.chunks or [pa.nulls(0, kind)]:
        fields = {field.name: child for field, child in zip(kind, chunk.flatten(), strict=True)}
        if len(keys) > 1:
            inner = _without_field(pa.chunked_array([fields[keys[0]]]), keys[1:])
            fields[keys[0]] = inner.combine_chunks() if inner.num_chunks != 1 else inner.chunk(0)
        else:
            del fields[keys[0]]
        if not fields:
            arrays.append(
                pa.array([None if missing else {} for missing in pc.is_null(chunk).to_pylist()], pa.struct([]))
            )
            continue
        arrays.append(pa.StructArray.from_arrays([*fields.values()], names=[*fields], mask=pc.is_null(chunk)))
    return pa.chunked_array(arrays)
