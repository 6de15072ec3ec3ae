"""Numbers at any place of bytes, arrays that begin with a line of the cache, hints to fetch memory, and arithmetic of 64 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from refinery.kernels.core.jit import instruction

LINE = 64  # bytes that a processor fetches at once


def aligned(count: int, kind: Any) -> np.ndarray:
    """Zeros that begin with a line of the cache; what is never written is never allocated by the system."""
    size = np.dtype(kind).itemsize
    room = np.zeros(count + LINE // size, kind)
    first = -room.ctypes.data % LINE // size
    return room[first : first + count]


def bytes_at(data: np.ndarray, i: int, count: int) -> np.ndarray:
    """The `count` bytes from data[i] on, as a view."""
    return np.asarray(data[i:]).view(np.uint8)[:count]


@instruction("memory.byte_at")
def byte_at(data, i):
    """Byte data[i], i not negative."""
    return data[i]


@instruction("memory.load_half")
def load_half(data, i):
    """Load four bytes from data[i] on as a little-endian uint32; all of them must exist."""
    return int.from_bytes(bytes_at(data, i, 4).tobytes(), "little")


@instruction("memory.as_float")
def as_float(bits):
    """The float32 that has these 32 bits."""
    return np.uint32(bits).view(np.float32)


@instruction("memory.as_double")
def as_double(bits):
    """The float64 that has these 64 bits."""
    return float(np.uint64(bits).view(np.float64))


@instruction("memory.prefetch")
def prefetch(data, i):
    """Fetch the memory of data[i] into the cache, without waiting for it; it need not exist."""


@instruction("memory.remainder")
def remainder(value, divisor):
    """Remainder of unsigned numbers; the divisor is not zero."""
    return np.uint64(int(value) % int(divisor))


@instruction("memory.quotient")
def quotient(value, divisor):
    """Quotient of unsigned numbers, rounded down; the divisor is not zero."""
    return np.uint64(int(value) // int(divisor))


@instruction("memory.high_product")
def high_product(left, right):
    """The upper 64 of the 128 bits of a product of unsigned numbers."""
    return np.uint64(int(left) * int(right) >> 64)
