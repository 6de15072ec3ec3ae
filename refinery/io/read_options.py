"""Options of reading that a source of a recipe sets: pairs of name and value, each for the formats that take it."""

from __future__ import annotations

import codecs
from typing import Any

from refinery.io.chat_texts import Template

Options = tuple[tuple[str, Any], ...]

# Of CSV and TSV.
DELIMITED = frozenset({"delimiter", "quote", "header", "columns", "encoding"})
# Of every format: the samples are then JSON lines.
OF_ALL = frozenset({"text_from", "template"})
# Names of encodings that a misspelt one may mean.
ENCODINGS = (
    "cp1250",
    "cp1251",
    "cp1252",
    "gb18030",
    "latin-1",
    "shift_jis",
    "utf-8",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
)
_SAME_AS_UTF8 = ("utf-8", "utf-8-sig", "ascii")


def option(options: Options, name: str, default: Any) -> Any:
    """The value of an option, or the default."""
    return next((value for key, value in options if key == name), default)


def problem_of(name: str, value: Any) -> str:
    """The reason why an option cannot have a value; "" if it can."""
    if name in ("delimiter", "quote") and not _is_mark(value, empty=name == "quote"):
        return f"{name} must be one ASCII character, and no letter, digit or line end, not {value!r}"
    if name == "encoding" and codec_of(value) is None:
        return f"encoding {value!r} is not known to Python"
    if name == "template":
        try:
            Template.of(value)
        except ValueError as error:
            return f"template {error}"
    if name == "columns" and (len(set(value)) < len(value) or not all(value)):
        return "columns must be different names"
    return ""


def _is_mark(value: str, empty: bool) -> bool:
    if not value:
        return empty
    return len(value) == 1 and value.isascii() and not value.isalnum() and value not in "\r\n\0"


def codec_of(name: str) -> str | None:
    """Python's name of an encoding of text; "" for those that are read as UTF-8 is, None for unknown ones."""
    try:
        found = codecs.lookup(name).name
        b"a".decode(name, "ignore")
    except (LookupError, ValueError):  # unknown, or no encoding of text, such as base64
        return None
    return "" if found in _SAME_AS_UTF8 else found
