"""Texts on the page: nothing unseen is left, nothing is lost, and differences are those of the texts."""

from __future__ import annotations

from html import unescape

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from refinery.inspect.report.differences import DifferencePart, difference
from refinery.inspect.report.visible import beginning, plain, visible

HOSTILE = st.text(
    st.sampled_from("ab <>&\"'\n\t\r\0\x1b\u00a0\u00ad\u200b\u200d\u202e\u2066\u2028\ufeff\U000e0041é字"), max_size=60
)
SHORT = st.text(st.sampled_from("ab c\n\u00a0字é\u0301"), max_size=40)


def back(html: str) -> str:
    """The text that `visible` was given."""
    signs = {"↵": "", "⇥": ""}  # what they stand for follows them

    def character(found: regex.Match[str]) -> str:
        code, _, times = found[1].partition("×")
        return signs[code] if code in signs else chr(int(code[2:], 16)) * int(times or 1)

    return unescape(regex.sub(r'<i class="c">(.*?)</i>', character, html))


@given(HOSTILE | st.text(max_size=60), st.booleans())
def test_what_is_shown_is_the_text(text: str, every: bool) -> None:
    html = str(visible(text, every))
    assert back(html) == text
    bare = regex.sub(r'<i class="c">[^<]*</i>', "", html)
    assert not regex.search(r"[<>\"']|&(?!(?:amp|lt|gt|#34|#39);)", bare)
    hidden = regex.findall(r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]", html)
    assert set(hidden) <= {"\n", "\t"} | (
        set() if every else set(regex.findall(r"[\u200c\u200d\p{Prepended_Concatenation_Mark}]", text))
    )


@given(HOSTILE)
def test_names_in_plots_are_on_one_line_and_seen(text: str) -> None:
    assert not regex.search(r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]", plain(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("abc", "abc"), ("abcd", "abc…"), ("a\nb\nc", "a\nb…"), ("a\nb", "a\nb"), ("\n\n\n", "…"), ("", "")],
)
def test_beginnings(text: str, expected: str) -> None:
    assert beginning(text, 3, 2) == expected


@given(SHORT, SHORT)
def test_pieces_make_both_texts(before: str, after: str) -> None:
    pieces = difference(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after


def test_words_are_marked_in_what_surrounds_them() -> None:
    before = "x " * 500 + "see https://a.example/b for more" + " y" * 500
    after = before.replace("https://a.example/b ", "")
    pieces = difference(before, after)
    assert [piece for piece in pieces if piece.kind != "same"] == [DifferencePart("removed", "https://a.example/b ")]
    assert pieces[0].text.startswith("…") and pieces[-1].text.endswith("…")
    assert sum(len(piece.text) for piece in pieces) < 300


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a " * 200_000, "b " * 200_000),
        ("\n" * 5000, ""),
        ("字" * 100_000, "字"),
        ("\u202e\u2066a " * 9000, "b a c d " * 9000),
    ],
)
def test_large_differences_stay_small(before: str, after: str) -> None:
    pieces = difference(before, after)
    assert {piece.kind for piece in pieces} >= {"removed"}
    assert sum(len(piece.text) for piece in pieces) < 2000
    assert sum(piece.text.count("\n") for piece in pieces) < 20


def test_a_mark_stays_with_its_letter() -> None:
    assert difference("cafe\u0301 au", "cafe au") == [
        DifferencePart("removed", "cafe\u0301"),
        DifferencePart("added", "cafe"),
        DifferencePart("same", " au"),
    ]
