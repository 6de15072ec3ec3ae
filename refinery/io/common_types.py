"""Types that hold the values of two types exactly, or whose values are checked when they are cast."""

from __future__ import annotations

import pyarrow as pa


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type for values of both. Raises ArrowException where there is none."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if pa.types.is_dictionary(one) or pa.types.is_dictionary(other):
        return common_type(*(kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (one, other)))
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        return _struct(one, other)
    if pa.types.is_map(one) and pa.types.is_map(other):
        return pa.map_(common_type(one.key_type, other.key_type), common_type(one.item_type, other.item_type))
    if _is_list(one) and _is_list(other):
        return _list(one, other)
    return _flat(one, other)


def _struct(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    fields = {field.name: field for field in one}
    for field in other:
        kind = common_type(fields[field.name].type, field.type) if field.name in fields else field.type
        fields[field.name] = pa.field(field.name, kind)
    return pa.struct([field.with_nullable(True) for field in fields.values()])


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _list(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    value = pa.field("item", common_type(one.value_type, other.value_type))
    sizes = [kind.list_size for kind in (one, other) if pa.types.is_fixed_size_list(kind)]
    if len(sizes) == 2 and sizes[0] == sizes[1]:
        return pa.list_(value, sizes[0])
    return pa.large_list(value) if pa.types.is_large_list(one) or pa.types.is_large_list(other) else pa.list_(value)


def _flat(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type by Arrow's rules, but for pairs of which these lose values without an error."""
    kinds = (one, other)
    if any(map(pa.types.is_uint64, kinds)) and any(map(pa.types.is_signed_integer, kinds)):
        return pa.decimal128(20, 0)
    if any(map(pa.types.is_decimal, kinds)) and any(map(pa.types.is_floating, kinds)):
        raise pa.ArrowTypeError(f"{one} and {other} have no type that holds both exactly")
    schemas = [pa.schema([("", kind)]) for kind in kinds]
    return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
