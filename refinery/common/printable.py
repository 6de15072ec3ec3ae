"""Texts of strangers on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """A text on one line, with invisible characters as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
