"""Texts as CCNet prepares them for its language models: lower case, numbers as 0, no accents, plain punctuation."""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import regex

from refinery.kernels.core.arrow import of_texts

_NUMBER = regex.compile(r"\p{Nd}+(?:[.,،٫⎖⎗⎘]\p{Nd}+)?")
_PLAIN = {
    ",": "，、",
    ".": "。",
    '"': "„”“«»１」「《》",
    "'": "´’",
    ":": "∶：",
    "?": "？",
    "!": "！",
    "(": "（",
    ")": "）",
    ";": "；",
    "-": "–━►",
    "~": "～",
    "<": "〈",
    ">": "〉",
    "[": "【",
    "]": "】",
    "%": "％",
    " - ": "—",
    ". ": "．",
    "...": "…",
}
_CONTROLS = (*range(32), *range(127, 160))
_TABLE = {ord(char): plain for plain, chars in _PLAIN.items() for char in chars} | dict.fromkeys(_CONTROLS)


def normalized(text: str) -> str:
    """One text as CCNet's models are asked about it. Ends of lines are control characters, and go, too."""
    text = _NUMBER.sub("0", text.lower())
    if not text.isascii():
        text = unicodedata.normalize("NFD", text)
        marks = [char for char in set(text) if unicodedata.category(char) == "Mn"]
        text = text.translate(dict.fromkeys(map(ord, marks)))
    return text.strip().translate(_TABLE)


def normalize(column: pa.Array) -> pa.Array:
    """Every text of a column; NULL for NULL."""
    return of_texts([None if text is None else normalized(text) for text in column.to_pylist()])
