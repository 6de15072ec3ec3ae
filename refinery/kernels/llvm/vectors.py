"""Vectors of bytes with Python's operators, and helpers to load and store them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

BYTE, INDEX, WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)


def address(context: Any, builder: Any, target: ir.Type, kind: Any, array: Any, position: Any) -> Any:
    """Address of array[position], as of a value of the type `target`. kind: numba's type of the array."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [position]), target.as_pointer())


def splat(byte: int, count: int) -> ir.Constant:
    """A vector of one byte `count` times."""
    return ir.Constant(ir.VectorType(BYTE, count), [byte & 0xFF] * count)


def repeated(builder: Any, value: Any, kind: ir.VectorType) -> Any:
    """A vector of one value."""
    single = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(INDEX, 0))
    places = ir.Constant(ir.VectorType(INDEX, kind.count), None)
    return builder.shuffle_vector(single, ir.Constant(kind, ir.Undefined), places)


@dataclass(frozen=True, eq=False)
class Vector:
    """A vector of bytes, or of truth values, that a test of `core.blocks.lanes` computes with."""

    builder: Any
    value: Any

    def _with(self, other: Vector | int) -> Any:
        return other.value if isinstance(other, Vector) else splat(other, self.value.type.count)

    def __or__(self, other: Vector | int) -> Vector:
        return Vector(self.builder, self.builder.or_(self.value, self._with(other)))

    def __and__(self, other: Vector | int) -> Vector:
        return Vector(self.builder, self.builder.and_(self.value, self._with(other)))

    def __sub__(self, other: int) -> Vector:
        return Vector(self.builder, self.builder.sub(self.value, self._with(other)))

    def __le__(self, other: int) -> Vector:
        return Vector(self.builder, self.builder.icmp_unsigned("<=", self.value, self._with(other)))

    def __eq__(self, other: object) -> Any:
        assert isinstance(other, int)
        return Vector(self.builder, self.builder.icmp_unsigned("==", self.value, self._with(other)))
