"""Reader of the fields of a protobuf message, without a schema."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5
_WIDTH = {EIGHT_BYTES: 8, FOUR_BYTES: 4}


class Damaged(ValueError):
    """The bytes are no message, or it ends too early."""


def fields(data: bytes | memoryview, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Number, wire type, and two integers of each field in data[start:end].

    The integers are the start and end of the value's bytes; of a varint its value, and 0. Raises Damaged.
    """
    i = start
    while i < end:
        key, i = varint(data, i, end)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, i = varint(data, i, end)
            yield number, wire, value, 0
            continue
        if wire == BYTES:
            size, i = varint(data, i, end)
        elif wire in _WIDTH:
            size = _WIDTH[wire]
        else:
            raise Damaged(f"byte {i} has a field of the unknown kind {wire}")
        if size > end - i or number == 0:
            raise Damaged(f"a field at byte {i} has {size} bytes, where {end - i} are left")
        yield number, wire, i, i + size
        i += size


def varint(data: bytes | memoryview, i: int, end: int) -> tuple[int, int]:
    """The integer at byte i, and the position after it. Raises Damaged."""
    value = shift = 0
    while i < end and shift < 70:
        byte = data[i]
        i += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, i
        shift += 7
    raise Damaged(f"an integer before byte {i} has no end")
