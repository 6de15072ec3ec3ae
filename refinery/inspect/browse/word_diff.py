"""Differences of two texts, word by word."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import NamedTuple

_TOKEN = re.compile(r"\w+|\s|[^\w\s]")
# Characters of both texts from which on whole lines are compared, since words would take minutes.
_LONG, _LINE = 4_000_000, re.compile(r"[^\n]*\n|[^\n]+")
# Largest product of the two lengths that difflib compares: it takes quadratic time. Larger pieces differ as a whole.
_MOST_PAIRS = 250_000
# Tokens of a run that is looked for where no word stands once.
_RUN = 9


class Piece(NamedTuple):
    """A part of a difference. kind: "=" stands in both texts, "-" in the first one only, "+" in the second one only."""

    kind: str
    text: str


def word_diff(before: str, after: str) -> list[Piece]:
    """Pieces whose "=" and "-" are the first text, and whose "=" and "+" are the second one."""
    token = _TOKEN if len(before) + len(after) < _LONG else _LINE
    a, b = token.findall(before), token.findall(after)
    pieces = _ordered(_pieces(a, b))
    return [
        Piece(kind, "".join(piece.text for piece in run)) for kind, run in groupby(pieces, key=lambda one: one.kind)
    ]


def folded(pieces: Sequence[Piece], most: int) -> list[Piece]:
    """The pieces, without the middle of equal ones of more than `most` characters; "…" stands for it, with their number."""
    short: list[Piece] = []
    for piece in pieces:
        left = len(piece.text) - most
        if piece.kind != "=" or left <= 0:
            short.append(piece)
        else:
            ends = piece.text[: most // 2], piece.text[-(most // 2) :]
            short += [Piece("=", ends[0]), Piece("…", str(len(piece.text) - 2 * (most // 2))), Piece("=", ends[1])]
    return short


def _pieces(a: Sequence[str], b: Sequence[str]) -> Iterator[Piece]:
    start, end = _same_ends(a, b)
    yield Piece("=", "".join(a[:start]))
    yield from _middle(a[start : len(a) - end], b[start : len(b) - end])
    yield Piece("=", "".join(a[len(a) - end :]))


def _same_ends(a: Sequence[str], b: Sequence[str]) -> tuple[int, int]:
    """Numbers of tokens that are equal at the start and at the end."""
    most = min(len(a), len(b))
    start = next((at for at in range(most) if a[at] != b[at]), most)
    left = most - start
    return start, next((at for at in range(left) if a[-1 - at] != b[-1 - at]), left)


def _middle(a: Sequence[str], b: Sequence[str]) -> Iterator[Piece]:
    """Cut at words that stand once in both texts (a patience difference), then compare the short pieces between them."""
    if not a or not b or len(a) * len(b) <= _MOST_PAIRS:
        yield from _compared(a, b)
        return
    anchors = _anchors(a, b)
    if not anchors:
        yield from (Piece("-", "".join(a)), Piece("+", "".join(b)))
        return
    last_a = last_b = 0
    for at, other in [*anchors, (len(a), len(b))]:
        yield from _pieces(a[last_a:at], b[last_b:other])
        yield Piece("=", "".join(a[at : at + 1]))
        last_a, last_b = at + 1, other + 1


def _compared(a: Sequence[str], b: Sequence[str]) -> Iterator[Piece]:
    for kind, a0, a1, b0, b1 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            yield Piece("=", "".join(a[a0:a1]))
        else:
            yield from (Piece("-", "".join(a[a0:a1])), Piece("+", "".join(b[b0:b1])))


def _anchors(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Places of tokens, or else of runs of tokens, that stand once in either text, in the longest run that ascends in both."""
    for width in (1, _RUN):
        runs_a, runs_b = _runs(a, width), _runs(b, width)
        times_a, times_b = Counter(runs_a), Counter(runs_b)
        place_b = {run: at for at, run in enumerate(runs_b) if times_b[run] == 1}
        pairs = [(at, place_b[run]) for at, run in enumerate(runs_a) if times_a[run] == 1 and run in place_b]
        if pairs:
            return _longest_ascending(pairs)
    return []


def _runs(tokens: Sequence[str], width: int) -> list[tuple[str, ...]]:
    return list(zip(*(tokens[at:] for at in range(width)), strict=False))


def _longest_ascending(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence whose second numbers ascend; the first ones do."""
    ends: list[int] = []
    members: list[int] = []
    before: list[int | None] = []
    for index, (_, other) in enumerate(pairs):
        place = bisect_left(ends, other)
        before.append(members[place - 1] if place else None)
        ends[place : place + 1], members[place : place + 1] = [other], [index]
    chain: list[tuple[int, int]] = []
    index_or_none = members[-1] if members else None
    while index_or_none is not None:
        chain.append(pairs[index_or_none])
        index_or_none = before[index_or_none]
    return chain[::-1]


def _ordered(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Pieces that are not empty, all removed ones of a change before the added ones."""
    for _, run in groupby((piece for piece in pieces if piece.text), key=lambda one: one.kind == "="):
        yield from sorted(run, key=lambda one: one.kind == "+")
