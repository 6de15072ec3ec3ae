"""Tests of 64 bytes at once, with a mask of one bit per byte as the result, and loads of several bytes.

LLVM does not compile a loop over bytes to such masks, so these instructions are written by hand. Bit k of a mask
stands for byte i + k. The caller ensures that all bytes exist: `i + BLOCK <= len(data)`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, reduce
from operator import and_, or_
from typing import Any

import numpy as np

from refinery.kernels.core.jit import Instruction, inlined, instruction, llvm_form
from refinery.kernels.core.memory import bytes_at

BLOCK = 64
HALF = 32


def lanes(test: Callable[..., Any]) -> Any:
    """Make an instruction `(data, i)` that returns the mask of a test.

    test: gets the bytes from i on, and where it has more parameters those from i + 1 on, i + 2 on, as numpy's or as LLVM's
    vectors, and returns a truth value for each byte.
    """
    count = len(inspect.signature(test).parameters)

    def mask(data: Any, i: int) -> Any:
        blocks = [np.asarray(data[i + k : i + k + BLOCK]) for k in range(count)]
        return np.packbits(test(*blocks), bitorder="little").view(np.uint64)[0]

    return Instruction(mask, partial(llvm_form, "blocks.mask", test, count))


def within(block: Any, low: int, high: int) -> Any:
    """Bytes in low..high."""
    return block - low <= high - low  # bytes below `low` become large numbers


def is_byte(block: Any, char: bytes) -> Any:
    """Bytes that are this one."""
    return block == char[0]


def any_of(*masks: Any) -> Any:
    """Bytes of any of the masks."""
    return reduce(or_, masks)


def all_of(*masks: Any) -> Any:
    """Bytes of all masks."""
    return reduce(and_, masks)


wide = lanes(lambda x: within(x, 0x80, 0xFF))
letters = lanes(lambda x: within(x | 0x20, 0x61, 0x7A))
digits = lanes(lambda x: within(x, 0x30, 0x39))
# Separators of words: U+0020, tab, line feed
separators = lanes(lambda x: any_of(is_byte(x, b" "), is_byte(x, b"\t"), is_byte(x, b"\n")))
blanks = lanes(lambda x: is_byte(x, b" "))
controls = lanes(lambda x: any_of(within(x, 0, 0x1F), is_byte(x, b"\x7f")))
tabs_and_line_feeds = lanes(lambda x: within(x, 0x09, 0x0A))
spacing = lanes(lambda x: within(x, 0x09, 0x0D))  # tab to carriage return
line_feeds = lanes(lambda x: is_byte(x, b"\n"))
ampersands = lanes(lambda x: is_byte(x, b"&"))
at_signs = lanes(lambda x: is_byte(x, b"@"))


@instruction("blocks.equal_to")
def equal_to(data, i, byte):
    """Mask of the bytes that are `byte`."""
    return np.packbits(np.asarray(data[i : i + BLOCK]) == byte, bitorder="little").view(np.uint64)[0]


@instruction("blocks.first_set")
def first_set(mask):
    """Position of the lowest set bit; 64 when none is set."""
    mask = int(mask)
    return (mask & -mask).bit_length() - 1 if mask else 64


@instruction("blocks.last_set")
def last_set(mask):
    """Position of the highest set bit; -1 when none is set."""
    return int(mask).bit_length() - 1


@instruction("blocks.count_set")
def count_set(mask):
    """Number of set bits."""
    return int(mask).bit_count()


@inlined
def low_bits(n):
    """Mask of the n lowest bits, n from 0 to 64."""
    half = np.uint64(n >> 1)  # a shift by 64 is undefined
    return ~((~np.uint64(0) << half) << np.uint64(n - (n >> 1)))


@instruction("memory.load_word")
def load_word(data, i):
    """Load eight bytes from data[i] on as a little-endian uint64; all of them must exist."""
    return np.uint64(int.from_bytes(bytes_at(data, i, 8).tobytes(), "little"))


@instruction("memory.store_word")
def store_word(data, i, word):
    """Write a uint64 to data[i:], little-endian; all eight bytes must exist."""
    bytes_at(data, i, 8)[:] = np.frombuffer(int(word).to_bytes(8, "little"), np.uint8)


@instruction("blocks.copy_block")
def copy_block(data, i, out, w):
    """Write the 64 bytes from data[i] on to out[w:]; all of them must exist. The arrays may be of larger numbers."""
    bytes_at(out, w, BLOCK)[:] = bytes_at(data, i, BLOCK)


@instruction("blocks.copy_lower")
def copy_lower(data, i, out, w):
    """Write the 32 bytes from data[i] on to out[w:], ASCII letters in lower case; all of them must exist."""
    block = np.asarray(data[i : i + HALF])
    out[w : w + HALF] = block | (0x20 * within(block, 0x41, 0x5A)).astype(np.uint8)
