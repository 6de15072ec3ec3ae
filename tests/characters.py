"""All characters, for tests that hold tables and kernels against Python: those of two planes in `make test`."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

# Nearly all characters with properties of their own are in the first two planes.
by_planes = pytest.mark.parametrize(
    "planes", [range(2), pytest.param(range(2, 17), marks=pytest.mark.long)], ids=["two planes", "others"]
)


def characters(planes: Iterable[int] = range(17)) -> list[str]:
    """The characters of these planes, without surrogates."""
    codes = (code for plane in planes for code in range(plane << 16, (plane + 1) << 16))
    return [chr(code) for code in codes if not 0xD800 <= code < 0xE000]
