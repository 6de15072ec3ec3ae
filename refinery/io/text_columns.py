"""Columns that a recipe names as text: types that count as text, and the type that each column is read as."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from refinery.common.fields import field_name

# The keys of a field, outermost first.
Keys = tuple[str, ...]


def is_text(kind: pa.DataType) -> bool:
    """True if a column of this type holds text."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return is_text(kind.value_type)
    return is_plain_text(kind) or pa.types.is_string_view(kind)


def is_plain_text(kind: pa.DataType) -> bool:
    """True if values of this type are texts in Arrow's usual layout."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def is_bytes(kind: pa.DataType) -> bool:
    """True if a column of this type holds bytes, which may be those of a text."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return is_bytes(kind.value_type)
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)


def with_texts(schema: pa.Schema, texts: Sequence[Keys]) -> pa.Schema:
    """The columns as they are read: columns that are named as text and hold bytes, or only NULL, become text."""
    for keys in texts:
        for place, field in enumerate(schema):
            if field.name == keys[0] and (kind := _as_text(field.type, keys[1:])) != field.type:
                schema = schema.set(place, field.with_type(kind))
    return schema


def _as_text(kind: pa.DataType, keys: Keys) -> pa.DataType:
    if not keys:
        if pa.types.is_null(kind):
            return pa.string()
        return pa.large_string() if is_bytes(kind) else kind
    if not pa.types.is_struct(kind):
        return kind
    return pa.struct(
        [field.with_type(_as_text(field.type, keys[1:])) if field.name == keys[0] else field for field in kind]
    )


def read_anew(schema: pa.Schema, texts: Sequence[Keys]) -> list[tuple[Keys, bool]]:
    """The fields whose type `with_texts` changes, each with True if it holds bytes."""
    kinds, text_kinds = kinds_of(schema), kinds_of(with_texts(schema, texts))
    names = [(keys, field_name(keys)) for keys in texts]
    return [(keys, is_bytes(kinds[name])) for keys, name in names if name in kinds and kinds[name] != text_kinds[name]]


def cast_to(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """A column cast to the type that it is read as; bytes become text unchecked: a later step checks their rows."""
    if pa.types.is_binary_view(column.type):
        column = column.cast(pa.large_binary())
    return column.cast(kind, safe=not (_holds_bytes(column.type) and _holds_text(kind)))


def _holds_bytes(kind: pa.DataType) -> bool:
    return any(map(_holds_bytes, (field.type for field in kind))) if pa.types.is_struct(kind) else is_bytes(kind)


def _holds_text(kind: pa.DataType) -> bool:
    return any(map(_holds_text, (field.type for field in kind))) if pa.types.is_struct(kind) else is_text(kind)


def kinds_of(schema: pa.Schema) -> dict[str, pa.DataType]:
    """The types of all fields and members, by their names in a recipe."""
    kinds: dict[str, pa.DataType] = {}
    _note(schema, "", kinds)
    return kinds


def _note(fields: pa.Schema | pa.DataType, above: str, kinds: dict[str, pa.DataType]) -> None:
    for field in fields:
        spelled = above + field_name((field.name,))
        kinds[spelled] = field.type
        if pa.types.is_struct(field.type):
            _note(field.type, f"{spelled}.", kinds)
