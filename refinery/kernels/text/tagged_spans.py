"""Spans within a text that dolma's taggers mark: addresses and numbers of persons, lines, paragraphs, repetition."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import regex

from refinery.kernels.text.character_runs import repeated_groups

EMAIL, PHONE, IP = "EMAIL_ADDRESS", "PHONE_NUMBER", "IP_ADDRESS"

# Facts about dolma 1.2.1, which also has a pattern for addresses of pages that never matches.
_PATTERNS = {
    EMAIL: re.compile(r"[.\s@,?!;:)(]*([^\s@]+@[^\s@,?!;:)(]+?)[.\s@,?!;:)(]?\s"),
    PHONE: re.compile(r"\s+\(?(\d{3})\)?[-. ]*(\d{3})[-. ]?(\d{4})"),
    IP: re.compile(r"(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)"),
}
_WINDOW = 100  # characters on both sides of a number in which a word speaks against it
_AGAINST = ("isbn", "doi", "#")
_MOST_QUESTIONS = 10_000  # a text with more question marks is not searched by line

_PARAGRAPH = re.compile(r"[^\n]*\n|[^\n]+$")
_MARKS = regex.compile(
    r"(?:[[:punct:]]|\s|[\U0001f300-\U0001f64f\U0001f680-\U0001f6ff\u2600-\u26ff\u2700-\u27bf])+", regex.UNICODE
)
_LETTER = re.compile(r"[a-zA-Z0-9]")


class Span(NamedTuple):
    """Part of a text: bounds in characters, the type, and the score that a tagger gives it."""

    start: int
    end: int
    type: str
    score: float = 1.0


def paragraphs(text: str, blank: bool = False) -> Iterator[tuple[int, str]]:
    """Lines with their line feeds, by their start. blank: also those of white space."""
    for match in _PARAGRAPH.finditer(text):
        if blank or match.group().strip():
            yield match.start(), match.group()


def pii(text: str) -> list[Span]:
    """E-mail addresses, phone numbers and IPv4 addresses, unless what is around them speaks against it."""
    return [
        Span(*match.span(), kind)
        for kind, pattern in _PATTERNS.items()
        if _may_match(kind, text)
        for match in pattern.finditer(text)
        if (_is_email(match.group()) if kind == EMAIL else not _is_other_number(text, *match.span()))
    ]


def pii_by_line(text: str) -> list[Span]:
    """E-mail addresses, phone numbers and IPv4 addresses within lines."""
    if text.count("?") > _MOST_QUESTIONS:
        return []
    return [
        Span(start + match.start(), start + match.end(), kind)
        for start, line in paragraphs(text)
        for kind, pattern in _PATTERNS.items()
        if _may_match(kind, line)
        for match in pattern.finditer(line)
        if kind != EMAIL or _is_email(match[1])
    ]


def _may_match(kind: str, text: str) -> bool:
    """A test for a sign of a match, which is much faster than the pattern."""
    return "@" in text if kind == EMAIL else "." in text if kind == IP else any(map(str.isdecimal, text))


def _is_email(match: str) -> bool:
    addressee, domain = match.split("@")[:2]
    return addressee.strip() != "(" and "." in domain


def _is_other_number(text: str, start: int, end: int) -> bool:
    around = text[max(0, start - _WINDOW) : end + _WINDOW]
    return any(word in around for word in _AGAINST)


def c4_lines(text: str) -> list[Span]:
    """Lines without an end mark, and lines of fewer than three words, both with their line feeds.

    c4_v2 has the bounds of lines of the text in lower case, which differ behind an İ.
    """
    spans, start = [], 0
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        end = start + len(line) + (number < len(lines))
        if not line.strip().endswith((".", "?", "!", '"')):
            spans.append(Span(start, end, "lines_with_no_ending_punctuation"))
        if len(line.split()) < 3:
            spans.append(Span(start, end, "lines_with_too_few_words"))
        start = end
    return spans


def marks_only(text: str) -> list[Span]:
    """Paragraphs of punctuation, white space and emoji."""
    return [
        Span(start, start + len(line), "all_punct")
        for start, line in paragraphs(text)
        if not _LETTER.search(line) and _MARKS.fullmatch(line)
    ]


def repetitions(text: str, by_line: bool) -> list[Span]:
    """Groups of characters that occur at least four times in a row, with the number of their occurrences."""
    return [
        Span(start, end, "repetition", text.count(text[start : start + size], start, end))
        for start, end, size in repeated_groups(text, by_line)
    ]


def paragraph_chars(text: str) -> list[Span]:
    """Paragraphs with their length in characters."""
    return [Span(start, start + len(line), "paragraph", len(line)) for start, line in paragraphs(text)]


def paragraph_words(text: str) -> list[Span]:
    """Paragraphs with the number of their word segments that are more than white space, also as a negative number."""
    from refinery.kernels.unicode.word_segments import segment_counts

    lines = list(paragraphs(text))
    counts = segment_counts(pa.array([line.strip() for _, line in lines], pa.string())).field("python_ink").to_pylist()
    return [
        Span(start, start + len(line), kind, sign * count)
        for (start, line), count in zip(lines, counts, strict=True)
        for kind, sign in (("paragraph", 1), ("negative_paragraph", -1))
    ]


# Functions that find the spans of taggers within a text, and the types of these.
_LINES = ("lines_with_no_ending_punctuation", "lines_with_too_few_words")
TAGGERS: dict[str, tuple[Callable[[str], list[Span]], tuple[str, ...]]] = {
    "pii_regex_v1": (pii, (EMAIL, PHONE, IP)),
    "pii_regex_v2": (pii, (EMAIL, PHONE, IP)),
    "pii_regex_with_counts_v2": (pii, (EMAIL, PHONE, IP)),
    "pii_regex_with_counts_fast_v2": (pii_by_line, (EMAIL, PHONE, IP)),
    "c4_v1": (c4_lines, _LINES),
    "c4_v2": (lambda text: c4_lines(text.lower()), _LINES),
    "not_alphanum_paragraph_v1": (marks_only, ("all_punct",)),
    "repetitions_v1": (partial(repetitions, by_line=False), ("repetition",)),
    "paragraph_repetitions_v1": (partial(repetitions, by_line=True), ("repetition",)),
    "char_length_with_paragraphs_v1": (paragraph_chars, ("paragraph",)),
    "uniseg_length_paragraphs_v1": (paragraph_words, ("paragraph", "negative_paragraph")),
}


def tagged_spans(column: pa.Array, tagger: str) -> pa.Array:
    """A list of the spans of each text; NULL for NULL."""
    find, _ = TAGGERS[tagger]
    rows = [None if text is None else [span._asdict() for span in find(text)] for text in column.to_pylist()]
    fields = [("start", pa.int64()), ("end", pa.int64()), ("type", pa.string()), ("score", pa.float64())]
    return pa.array(rows, pa.list_(pa.struct(fields)))


def replaced(text: str, spans: list[tuple[Span, str]]) -> str:
    """A text with spans replaced, from the left; one that begins in an earlier one stays. `{}` stands for the span."""
    pieces, at = [], 0
    for span, replacement in sorted(spans, key=lambda pair: pair[0].start):
        if span.start >= at and span.end > span.start:
            pieces += [text[at : span.start], replacement.replace("{}", text[span.start : span.end])]
            at = span.end
    return "".join([*pieces, text[at:]])
