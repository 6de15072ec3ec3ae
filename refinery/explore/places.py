"""Values that stand in an SQL condition, by their places: numbers, texts beside `=` and `<>`, and lists behind `IN`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refinery.compiler.templates import lit

_EQUAL = ("EQ", "NEQ")

# Start and end of a value in an SQL condition.
Place = tuple[int, int]
# A list is a tuple of texts, or of whole numbers.
Value = int | float | str | tuple[int | str, ...]


def values_of(text: str) -> dict[Place, Value]:
    """Values in an SQL condition by their places, in order; the place of a list includes its brackets."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tokens = sqlglot.tokenize(text, read="duckdb")
    except SqlglotError:
        return {}
    lists = dict(_lists(tokens, text))
    single = dict(_single(tokens, text))
    outside = {place: value for place, value in single.items() if not any(a < place[0] < b for a, b in lists)}
    return dict(sorted({**outside, **lists}.items(), key=_by_place))


def _by_place(item: tuple[Place, Value]) -> Place:
    return item[0]


def _single(tokens: Sequence[Any], text: str) -> Iterator[tuple[Place, Value]]:
    for at, token in enumerate(tokens):
        place, kind = (token.start, token.end + 1), token.token_type.name
        beside = {one.token_type.name for one in (*tokens[max(at - 1, 0) : at], *tokens[at + 1 : at + 2])}
        if kind == "NUMBER" and _is_number(text[slice(*place)]):
            yield place, _number(text[slice(*place)])
        elif beside & {*_EQUAL} and _is_text(token, text):
            yield place, token.text


def _lists(tokens: Sequence[Any], text: str) -> Iterator[tuple[Place, Value]]:
    """Lists of texts, or of whole numbers, behind `IN`."""
    for at, token in enumerate(tokens):
        if token.token_type.name != "IN" or [one.text for one in tokens[at + 1 : at + 2]] != ["("]:
            continue
        end = next(
            (n for n in range(at + 2, len(tokens)) if tokens[n].text == ")" and not _is_text(tokens[n], text)), 0
        )
        members, commas = tokens[at + 2 : end : 2], tokens[at + 3 : end : 2]
        is_list = len(members) == len(commas) + 1 and all(one.token_type.name == "COMMA" for one in commas)
        place = (tokens[at + 1].start, tokens[end].end + 1)
        if is_list and all(_is_text(one, text) for one in members):
            yield place, tuple(one.text for one in members)
        elif is_list and all(one.token_type.name == "NUMBER" and one.text.isdecimal() for one in members):
            yield place, tuple(int(one.text) for one in members)


def _is_text(token: Any, text: str) -> bool:
    """True for a text as `lit` writes it."""
    return token.token_type.name == "STRING" and text[token.start : token.end + 1] == lit(token.text)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _number(text: str) -> int | float:
    return int(text) if text.isdecimal() else float(text)


def with_values(text: str, values: Mapping[Place, Value]) -> str:
    """An SQL condition with other values at some places."""
    for (start, end), value in sorted(values.items(), reverse=True):
        text = f"{text[:start]}{_written(value)}{text[end:]}"
    return text


def _written(value: Value) -> str:
    """A value as SQL; a number below 0 is in brackets."""
    if isinstance(value, tuple):
        return f"({', '.join(lit(one) for one in value)})"
    return lit(value) if isinstance(value, str) else f"({value!r})" if value < 0 else repr(value)
