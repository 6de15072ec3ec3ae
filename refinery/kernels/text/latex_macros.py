"""LaTeX macros without arguments, expanded as RedPajama's cleaner does it."""

from __future__ import annotations

from collections.abc import Iterator

import regex

# Beginnings of definitions, up to their values.
DEFINITIONS = (
    regex.compile(r"\\newcommand\b\*?\{(\\[a-zA-Z0-9]++)\}\{"),
    regex.compile(r"\\def\s*+(\\[a-zA-Z0-9]++)\s*+\{"),
)
GROWTH = 1 << 24  # bytes


def expanded(text: str) -> str:
    """The text with its macros without arguments replaced by their values. Raises ValueError if it grows by over 16 MiB."""
    macros = {name: value for begins in DEFINITIONS for name, value in _definitions(begins, text)}
    most = len(text.encode()) + GROWTH
    for name, value in macros.items():
        text = _replaced(text, name, value, most)
    return text


def _definitions(begins: regex.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    """Names and values of macros. A value ends with its line, whose last character closes it."""
    place = line_end = 0
    while match := begins.search(text, place):
        start = match.end()
        if line_end < start:  # else it is the line of the last match, whose end is known
            line_end = text.find("\n", start) % (len(text) + 1)
        if start < line_end and text[line_end - 1] == "}":
            yield match[1], text[start : line_end - 1]
            place = line_end
        else:
            place = match.start() + 1


def _replaced(text: str, name: str, value: str, most: int) -> str:
    """The text with the value in place of a name. Raises ValueError if it would have more bytes than `most`."""
    use = regex.compile(regex.escape(name) + r"([^a-zA-Z0-9])")
    count = sum(1 for _ in use.finditer(text))
    if len(text.encode()) + count * (len(value.encode()) - len(name)) > most:
        raise ValueError(f"the macros of this text ({len(text)} characters) add more than 16 MiB")
    return use.sub(lambda match: value + match[1], text)
