"""Argument types of the kernels that Python calls, and the numbers by which machine code gets the arguments.

A declaration has one word for each argument: `int64`, `uint8`, `uint64`, `float64`, `bool` for a number; `uint8[]` for an
array of one dimension and `uint8[,]` for one of two, both C-contiguous; the name of a NamedTuple of arrays, whose
fields are declared by `record`.
"""

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyarrow import py_buffer

_fields: dict[type, str] = {}

VOID = "void"  # the result of a kernel that returns none

_WORD = re.compile(r"(\w+)(\[(,?)\])?")
_REAL = struct.Struct("<d")
_WHOLE = struct.Struct("<q")
_UNSIGNED = struct.Struct("<Q")


class NotDeclared(TypeError):
    """Argument of another type than the kernel declares."""


@dataclass(frozen=True)
class Number:
    """One number. name: of its numpy type."""

    name: str

    def pack(self, value: Any, values: list[int]) -> None:
        """Append the bits of a number, as a signed integer of 64 bits."""
        if type(value) is int and self.name != "float64":
            values.append(_signed(value))
        elif self.name == "float64":
            values.append(_WHOLE.unpack(_REAL.pack(value))[0])
        elif isinstance(value, (int, np.integer, np.bool_)):
            values.append(_signed(int(value)))
        else:
            raise NotDeclared(f"{value!r} is no {self.name}")

    def unpack(self, bits: int) -> int | float | bool:
        """The number of these bits."""
        if self.name == "float64":
            return float(_REAL.unpack(_WHOLE.pack(bits))[0])
        if self.name == "bool":
            return bool(bits)
        return bits & (1 << 64) - 1 if self.name.startswith("uint") else bits


@dataclass(frozen=True)
class Array:
    """A C-contiguous array. name: of its numpy type."""

    name: str
    dimensions: int
    dtype: Any

    def pack(self, value: Any, values: list[int]) -> None:
        """Append the address and the lengths."""
        if type(value) is not np.ndarray or value.dtype != self.dtype or value.ndim != self.dimensions:
            raise NotDeclared(f"{getattr(value, 'dtype', type(value))} of {np.ndim(value)} dimensions is no {self}")
        if not value.flags.c_contiguous:
            raise NotDeclared("an array that is not contiguous")
        values.append(py_buffer(value).address)
        values.extend(value.shape)


@dataclass(frozen=True)
class Record:
    """A NamedTuple of arrays."""

    kind: type
    fields: tuple[Array, ...]

    def pack(self, value: Any, values: list[int]) -> None:
        """Append the numbers of every field."""
        if not isinstance(value, self.kind):
            raise NotDeclared(f"{value!r} is no {self.kind.__name__}")
        for field, part in zip(self.fields, value, strict=True):  # type: ignore[call-overload]
            field.pack(part, values)


def _signed(value: int) -> int:
    return value if value < 1 << 63 else int(_WHOLE.unpack(_UNSIGNED.pack(value))[0])


def record(kind: type, declaration: str) -> None:
    """Declare the types of the fields of a NamedTuple of arrays."""
    _fields[kind] = declaration


def parse(declaration: str, records: Sequence[type] = ()) -> tuple[Number | Array | Record, ...]:
    """Argument types of a declaration. records: the NamedTuples in it."""
    known = {record.__name__: record for record in records}
    return tuple(_argument(word, known) for word in declaration.split())


def _argument(word: str, records: Mapping[str, Any]) -> Any:
    if word in records:
        return Record(records[word], tuple(_argument(field, {}) for field in _fields[records[word]].split()))
    found = _WORD.fullmatch(word)
    if not found or not hasattr(np, found[1]):
        raise ValueError(f"{word!r} is no type of a kernel's argument")
    return Array(found[1], 1 + len(found[3]), np.dtype(found[1])) if found[2] else Number(found[1])


def packed(types: Sequence[Number | Array | Record], args: Sequence[Any]) -> list[int]:
    """The arguments as signed integers of 64 bits. Raises NotDeclared."""
    if len(types) != len(args):
        raise NotDeclared(f"{len(args)} arguments in place of {len(types)}")
    values: list[int] = []
    for kind, value in zip(types, args, strict=True):
        kind.pack(value, values)
    return values
