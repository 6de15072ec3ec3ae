"""Passages taken out of texts, against ordinary Python."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.dedup.substring_cuts import BOUNDARIES, bounds_in_bytes, passage_share, remove_passages
from tests.examples import share_of

PLACES = pa.list_(pa.int64())
texts = st.text("ab é漢😀\n\u3000", max_size=40)


def without(text: str, places: list[int], tokens: bool, gap: int, boundaries: str, least: int) -> str | None:
    [left] = remove_passages(
        pa.array([text]), pa.array([places], PLACES), tokens, gap, boundaries, least
    ).to_pylist()  # fmt: skip
    return left


def places_in(text: str, numbers: list[int], tokens: bool) -> list[int]:
    """Ascending places of a text, an even number of them; of some numbers, a passage begins where the one before ends."""
    count = len(text.split() if tokens else text.encode())
    places = sorted({number % (count + 1) for number in numbers})
    if sum(numbers) % 2:
        return [place for pair in zip(places, places[1:], strict=False) for place in pair]
    return places[: len(places) // 2 * 2]


def in_bytes(text: str, places: list[int], tokens: bool) -> list[tuple[int, int]]:
    pairs = list(zip(places[::2], places[1::2], strict=True))
    if not tokens:
        return pairs
    starts, ends, at = [], [], 0
    for token in text.split():
        at = text.index(token, at)
        starts.append(len(text[:at].encode()))
        at += len(token)
        ends.append(len(text[:at].encode()))
    followed = {end for _, end in pairs}
    return [(ends[first - 1] if first in followed else starts[first], ends[last - 1]) for first, last in pairs]


def may_cut(text: str, boundaries: str, ends: bool) -> set[int]:
    """Bytes at which a passage may begin, or end."""
    places = set()
    for i in range(len(text) + 1):
        before, after = text[i - 1 : i] if i else "", text[i : i + 1]
        whole = not before or not after or boundaries == "character"
        if boundaries == "word":
            whole |= before.isspace() or (ends and after.isspace())
        if boundaries == "line":
            whole |= before == "\n" or (ends and after == "\n")
        if whole:
            places.add(len(text[:i].encode()))
    return places


def expected(text: str, places: list[int], tokens: bool, gap: int, boundaries: str, least: int) -> str | None:
    joined: list[list[int]] = []
    for start, end in in_bytes(text, places, tokens):
        if joined and start - joined[-1][1] <= gap:
            joined[-1][1] = end
        else:
            joined.append([start, end])
    data, at, left, cuts = text.encode(), 0, b"", 0
    for start, end in joined:
        first = min((i for i in may_cut(text, boundaries, False) if i >= start), default=end)
        last = max((i for i in may_cut(text, boundaries, True) if i <= end), default=start)
        if first < last:
            left, at, cuts = left + data[at:first], last, cuts + 1
    if not cuts:
        return None
    left += data[at:]
    return "" if len(left) < least or (least and not left.decode().strip()) else left.decode()


numbers = st.lists(st.integers(0, 200), max_size=8)


@settings(max_examples=share_of(1000), deadline=None)
@given(texts, numbers, st.booleans(), st.integers(0, 6), st.sampled_from(BOUNDARIES), st.integers(0, 9))
def test_passages_are_cut_as_in_python(text, chosen, tokens, gap, boundaries, least):
    places = places_in(text, chosen, tokens)
    arguments = text, places, tokens, gap, boundaries, least
    assert without(*arguments) == expected(*arguments)
    bounds = in_bytes(text, places, tokens)
    assert bounds_in_bytes(text, places, tokens) == bounds
    share = passage_share(pa.array([text]), pa.array([places], PLACES), tokens).to_pylist()
    assert share == [sum(end - start for start, end in bounds) / max(1, len(text.encode()))]


def test_some_texts():
    column, places = pa.array(["one two three", None, "", "é one"]), pa.array([[4, 8], None, [], None], PLACES)
    assert remove_passages(column, places, False, 0, "character", 1).to_pylist() == ["one three", None, None, None]
    assert passage_share(column, places, False).to_pylist() == [4 / 13, 0, 0, 0]
    assert without("one  two three", [1, 3], True, 0, "character", 1) == "one  "
    assert without("one  two three", [1, 2, 2, 3], True, 0, "character", 1) == "one  "
    assert without("aé漢b", [2, 5], False, 0, "character", 1) is None
    assert bounds_in_bytes("é one two", [1, 2], True) == [(3, 6)]
