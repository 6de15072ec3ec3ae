"""Decimal numbers read by a kernel, against Python's float."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.core.decimals import FINE, HARD, NONE, number
from tests.examples import share_of


def read(text: str) -> tuple[float, int, int]:
    raw = text.encode()
    return number(padded(raw), 0, len(raw))


def padded(raw: bytes) -> np.ndarray:
    return np.frombuffer(raw + b" " * 32, np.uint8)


def bits(value: float) -> bytes:
    return struct.pack("d", value)


@settings(max_examples=share_of(1500))
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_python_prints(value: float) -> None:
    found, end, state = read(repr(value))
    assert state == FINE and end == len(repr(value)) and bits(found) == bits(value)


@settings(max_examples=share_of(1500))
@given(st.from_regex(r"\A-?(0|[1-9][0-9]{0,22})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,4})?\Z"))
def test_decimals(text: str) -> None:
    found, end, state = read(text)
    assert end == len(text)
    if state == HARD:
        assert sum(c.isdigit() for c in text.lower().split("e")[0]) > 19
    else:
        assert state == FINE and bits(found) == bits(float(text))


@settings(max_examples=share_of(1500))
@given(st.integers(0, 10**19 - 1), st.integers(-345, 310))
def test_all_powers(digits: int, power: int) -> None:
    found, _, state = read(f"{digits}e{power}")
    assert state == FINE and bits(found) == bits(float(f"{digits}e{power}"))


@settings(max_examples=share_of(500))
@given(st.integers(2**52, 2**53 - 1), st.integers(0, 9))
def test_half_way_between_two(mantissa: int, shift: int) -> None:
    text = str((2 * mantissa + 1) << shift)
    found, _, state = read(text)
    assert state == FINE and bits(found) == bits(float(text))


@pytest.mark.parametrize(
    "text",
    ["9007199254740993", "4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "1.7976931348623158e308",
     "1.7976931348623159e308", "2.2250738585072011e-308", "2.2250738585072014e-308", "1e400", "1e-400", "0e999999999999",
     "1e-99999999999", "0.00000000000000000000000012345", "-0", "-0.0", "1e23", "8.5e22", "5e-324"],
)  # fmt: skip
def test_edges(text: str) -> None:
    found, end, state = read(text)
    assert state == FINE and end == len(text) and bits(found) == bits(float(text))


@pytest.mark.parametrize("text", ["", "-", "01", ".5", "1.", "1e", "1e+", "+1", "x", "-x", "1.e5", "NaN"])
def test_what_is_no_number(text: str) -> None:
    assert read(text)[1:] == (0, NONE)


def test_bytes_after_the_end_do_not_count() -> None:
    raw = np.frombuffer(b"12345678901234567890123456789012345678901234567890", np.uint8)
    assert number(raw, 0, 3)[1:] != (3, FINE)  # a number that goes on behind the end is none
    assert number(padded(b"1.5,2"), 0, 3) == (1.5, 3, FINE)
