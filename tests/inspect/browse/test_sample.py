"""The way of a sample, clusters, and what two of their members share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from refinery.errors import DataError
from refinery.inspect.browse.clusters import clusters, members, side_by_side
from refinery.inspect.browse.sample import sample_way
from refinery.inspect.browse.shared_shingles import MarkedText, marked_texts
from refinery.inspect.why.query import RowHistories
from tests.inspect.browse.conftest import SAMPLES

PARAMS = {"tokenization": "space", "window_size": 3, "lowercase": True, "ignore_pattern": None}


@pytest.fixture(scope="module")
def histories(folder: Path) -> Iterator[RowHistories]:
    with RowHistories(folder / "run") as histories:
        yield histories


def text(marked: MarkedText) -> str:
    return "".join(piece for _, piece in marked.pieces)


def shared(marked: MarkedText) -> list[str]:
    return [piece for is_shared, piece in marked.pieces if is_shared]


def test_a_changed_sample_has_its_change_and_its_whole_text(histories: RowHistories) -> None:
    way = sample_way(histories, 3)
    change = [("=", "document 3 has words 21 and 0 more, write to "), ("-", "me3@example.org")]
    assert list(way.events[0].diff or ()) == change and [event.diff for event in way.events[1:]] == [None] * 4
    [field] = way.fields
    assert (field.field, list(field.diff), field.changed_by) == ("text", change, (1,))


def test_an_unchanged_sample_has_its_text(histories: RowHistories) -> None:
    [field] = sample_way(histories, 10).fields
    assert (list(field.diff), field.changed_by) == ([("=", "Short 10")], ())


def test_a_line_that_was_not_read_has_no_texts(histories: RowHistories) -> None:
    way = sample_way(histories, 40)
    assert way.fields == () and way.events == () and way.history.fate == "quarantined"


def test_clusters_are_listed_by_size(histories: RowHistories) -> None:
    found = clusters(histories.con)
    assert [(one["step"], one["size"], one["survivor"]) for one in found.clusters] == [(4, 10, 1), (5, 5, 2)]
    assert found.total == 2 and found.next is None
    assert [one["step"] for one in clusters(histories.con, 5).clusters] == [5]
    assert [one["step"] for one in clusters(histories.con, None, "[10, 4, 0]").clusters] == [5]
    with pytest.raises(DataError, match="no place"):
        clusters(histories.con, None, "[1]")


def test_members_have_the_match_that_joined_them(histories: RowHistories) -> None:
    found = members(histories.con, 5, 0)
    assert [member["row"] for member in found] == [2, 22, 42, 82, 102] and found[0]["survivor"]
    assert all(member["kept"] == 2 and member["estimated_jaccard"] > 0.6 for member in found[1:])
    assert [member["row"] for member in members(histories.con, 5, 0, 42)] == [82, 102]


def test_members_side_by_side(histories: RowHistories) -> None:
    pair = side_by_side(histories, 5, 2, 42)
    assert text(pair.left) == SAMPLES[2]["text"] and text(pair.right) == SAMPLES[42]["text"]  # type: ignore[index]
    assert shared(pair.left) == shared(pair.right) == [" ".join(f"word{at}" for at in range(30))]
    assert pair.shared == "shingles of 3 tokens" and pair.counts is not None
    assert (pair.counts.count, pair.counts.here, pair.counts.there) == (28, 29, 29)


def test_copies_side_by_side(histories: RowHistories) -> None:
    pair = side_by_side(histories, 4, 1, 71)
    assert pair.left == pair.right == MarkedText(((True, SAMPLES[1]["text"]),)) and pair.shared == "words"  # type: ignore[index]


@pytest.mark.parametrize(
    ("step", "row", "message"),
    [(2, 1, "compares no samples"), (9, 1, "no samples"), (5, 10, "row 10 did not reach step 5")],
)
def test_rows_that_were_not_compared(histories: RowHistories, step: int, row: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        side_by_side(histories, step, 2, row)


@pytest.mark.parametrize(
    ("one", "other", "params", "marks"),
    [
        ("The CAT sat on it", "a cat sat on the mat", {}, ["CAT sat on"]),
        ("one two", "one two", {}, ["one two"]),  # fewer tokens than a shingle
        ("a b c d e f", "x", {}, []),
        ("", "a b c", {}, []),
        ("漢字漢字", "x漢字漢", {"tokenization": "character"}, ["漢字漢"]),
        ("a, b. c", "a b c", {"tokenization": "word"}, ["a, b. c"]),
        ("x y z!", "x y z", {"ignore_pattern": r"\p{P}"}, ["x y z"]),
    ],
)
def test_shared_shingles(one: str, other: str, params: dict[str, object], marks: list[str]) -> None:
    left, right, _ = marked_texts(one, other, PARAMS | params)
    assert text(left) == one and text(right) == other
    assert shared(left) == marks


def test_tokens_that_do_not_stand_in_the_text_are_shown_themselves() -> None:
    left, right, _ = marked_texts(
        "Ünïted  Kíngdom of", "united kingdom of", {**PARAMS, "tokenization": "word", "normalize": "datatrove"}
    )
    assert left.as_compared and shared(left)[0].split() == ["united", "kingdom", "of"]
    assert not right.as_compared and text(right) == "united kingdom of"
