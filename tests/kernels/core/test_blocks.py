"""Masks of sixty-four bytes against plain Python."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from numba import njit

from refinery.kernels.core import blocks
from refinery.kernels.core.blocks import (
    BLOCK,
    HALF,
    copy_lower,
    count_set,
    equal_to,
    first_set,
    last_set,
    load_word,
    low_bits,
)

MASKS: dict[str, Callable[[int], bool]] = {
    "wide": lambda byte: byte >= 0x80,
    "letters": lambda byte: chr(byte).isascii() and chr(byte).isalpha(),
    "digits": lambda byte: byte in b"0123456789",
    "separators": lambda byte: byte in b" \t\n",
    "controls": lambda byte: byte < 32 or byte == 127,
    "spacing": lambda byte: byte in b"\t\n\v\f\r",
    "tabs_and_line_feeds": lambda byte: byte in b"\t\n",
    "line_feeds": lambda byte: byte == 10,
    "ampersands": lambda byte: byte == 0x26,
    "at_signs": lambda byte: byte == 0x40,
}
BYTES = np.array(random.Random(1).sample(range(256), 256) * 2, np.uint8)


def mask_of(test: Callable[[int], bool], start: int) -> int:
    return sum(1 << k for k in range(BLOCK) if test(int(BYTES[start + k])))


@pytest.mark.parametrize("name", MASKS)
def test_masks(name: str) -> None:
    instruction = getattr(blocks, name)

    @njit
    def masked(data, i):  # type: ignore[no-untyped-def]
        return instruction(data, i)

    for start in (0, 1, 63, 64, 150, len(BYTES) - BLOCK):
        assert masked(BYTES, start) == mask_of(MASKS[name], start)


@njit
def _bits(mask):  # type: ignore[no-untyped-def]
    return first_set(mask), last_set(mask), count_set(mask)


@njit
def _low(n):  # type: ignore[no-untyped-def]
    return low_bits(n)


@njit
def _loads(data, i, byte, out):  # type: ignore[no-untyped-def]
    copy_lower(data, i, out, 3)
    return load_word(data, i), equal_to(data, i, byte)


def test_bits() -> None:
    assert _bits(np.uint64(0)) == (64, -1, 0)
    assert _bits(np.uint64(0b10100)) == (2, 4, 2)
    assert _bits(np.uint64(1 << 63)) == (63, 63, 1)
    assert [_low(n) for n in range(BLOCK + 1)] == [(1 << n) - 1 for n in range(BLOCK + 1)]


@pytest.mark.parametrize("start", [0, 5, 77])
def test_loads(start: int) -> None:
    out = np.zeros(HALF + 6, np.uint8)
    word, equal = _loads(BYTES, start, np.uint8(0xE2), out)
    assert word == int.from_bytes(BYTES[start : start + 8].tobytes(), "little")
    assert equal == mask_of(lambda byte: byte == 0xE2, start)
    lowered = BYTES[start : start + HALF].tobytes().lower()  # of bytes: ASCII only
    assert out.tobytes() == bytes(3) + lowered + bytes(3)
