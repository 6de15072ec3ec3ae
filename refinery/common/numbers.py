"""Human-readable numbers, for all output."""

from __future__ import annotations

import re

_BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def size(count: float) -> str:
    """Format bytes: 587 B, 1.2 MB."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"


def bytes_of(text: str) -> int:
    """Parse bytes: `10GB`, `500 MB` or a plain number; a kB has 1000. Raises ValueError."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)b?\s*", text.lower())
    if match is None:
        raise ValueError(f"{text!r} is no size, such as 10GB or 500MB")
    return int(float(match[1]) * _BYTES[match[2]])


def rate(count: float, seconds: float) -> str:
    """Format bytes per second."""
    return f"{size(count / max(seconds, 1e-9))}/s"


def number(value: object) -> str:
    """Format a statistic: up to six significant digits."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
