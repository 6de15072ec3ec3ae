"""Types of the kernels that Python calls, and their arguments as C functions take them.

A declaration has one word for each argument and, after `->`, one for each result: `int64`, `uint8`, `uint64`, `float64`,
`bool` for a number; `uint8[]` for an array of one dimension and `uint8[,]` for one of two, both C-contiguous; the name of
a NamedTuple of arrays, whose fields are declared by `record`.

A C function gets an array as its address and lengths, a NamedTuple as its fields one after another. It returns a single
result, and writes several to addresses that it gets after the arguments.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_fields: dict[type, str] = {}

_WORD = re.compile(r"(\w+)(\[(,?)\])?")
_NUMBERS = {
    "bool": ctypes.c_bool,
    "float64": ctypes.c_double,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8,
    "uint32": ctypes.c_uint32,
    "uint64": ctypes.c_uint64,
}


@dataclass(frozen=True)
class Number:
    """One number. name: of its numpy type."""

    name: str

    @property
    def ctypes(self) -> list[Any]:
        """Types of the C function's arguments."""
        return [_NUMBERS[self.name]]

    def pack(self, value: Any, values: list[Any]) -> None:
        """Append the number. Raises TypeError for anything else."""
        if self.name == "float64":
            values.append(float(value))
        elif isinstance(value, (int, np.integer, np.bool_)):
            values.append(int(value))
        else:
            raise TypeError(f"{value!r} is no {self.name}")


@dataclass(frozen=True)
class Array:
    """A C-contiguous array. name: of its numpy type."""

    name: str
    dimensions: int
    dtype: Any

    @property
    def ctypes(self) -> list[Any]:
        """Types of the C function's arguments: the address, and the length of each dimension."""
        return [ctypes.c_void_p, *[ctypes.c_ssize_t] * self.dimensions]

    def pack(self, value: Any, values: list[Any]) -> None:
        """Append the address and the lengths. Raises TypeError for another type or layout."""
        if type(value) is not np.ndarray or value.dtype != self.dtype or value.ndim != self.dimensions:
            raise TypeError(f"{getattr(value, 'dtype', type(value))} of {np.ndim(value)} dimensions is no {self}")
        if not value.flags.c_contiguous:
            raise TypeError("an array that is not contiguous")
        values.append(value.__array_interface__["data"][0])
        values.extend(value.shape)


@dataclass(frozen=True)
class Record:
    """A NamedTuple of arrays."""

    kind: type
    fields: tuple[Array, ...]

    @property
    def ctypes(self) -> list[Any]:
        """Types of the C function's arguments: those of every field."""
        return [kind for field in self.fields for kind in field.ctypes]

    def pack(self, value: Any, values: list[Any]) -> None:
        """Append the arguments of every field. Raises TypeError for another type."""
        if not isinstance(value, self.kind):
            raise TypeError(f"{value!r} is no {self.kind.__name__}")
        for field, part in zip(self.fields, value, strict=True):  # type: ignore[call-overload]
            field.pack(part, values)


Argument = Number | Array | Record


@dataclass(frozen=True)
class Signature:
    """Types of a kernel. results: none, one, or several."""

    arguments: tuple[Argument, ...]
    results: tuple[Number, ...]

    def caller(self, function: Any) -> Callable[..., Any]:
        """A Python function that calls a C function. It releases the interpreter's lock (the GIL) during the call."""
        several = [kind for result in self.results for kind in result.ctypes] if len(self.results) > 1 else []
        function.argtypes = [kind for argument in self.arguments for kind in argument.ctypes]
        function.argtypes += map(ctypes.POINTER, several)
        function.restype = self.results[0].ctypes[0] if len(self.results) == 1 else None

        def call(*args: Any) -> Any:
            values = self._packed(args)
            if not several:
                return function(*values)
            places = [kind() for kind in several]
            function(*values, *map(ctypes.byref, places))
            return tuple(place.value for place in places)

        return call

    def _packed(self, args: Sequence[Any]) -> list[Any]:
        if len(self.arguments) != len(args):
            raise TypeError(f"{len(args)} arguments in place of {len(self.arguments)}")
        values: list[Any] = []
        for kind, value in zip(self.arguments, args, strict=True):
            kind.pack(value, values)
        return values


def record(kind: type, declaration: str) -> None:
    """Declare the types of the fields of a NamedTuple of arrays."""
    _fields[kind] = declaration


def parse(declaration: str, records: Sequence[type] = ()) -> Signature:
    """Types of a declaration. records: the NamedTuples in it. Raises ValueError for one that is no declaration."""
    known = {record.__name__: record for record in records}
    arguments, _, results = declaration.partition("->")
    return Signature(tuple(_arguments(arguments, known)), tuple(map(Number, results.split())))


def _arguments(words: str, records: Mapping[str, Any]) -> Iterator[Any]:
    for word in words.split():
        if word in records:
            yield Record(records[word], tuple(_arguments(_fields[records[word]], {})))
            continue
        matched = _WORD.fullmatch(word)
        if not matched or not hasattr(np, matched[1]):
            raise ValueError(f"{word!r} is no type of a kernel's argument")
        name, is_array, comma = matched.groups()
        yield Array(name, 1 + len(comma), np.dtype(name)) if is_array else Number(name)
