"""Spans of sentences as units to compare and remove, as in datatrove 0.10.1 (the rule is C4's).

Sentences come from `fast`, our own rules that closely follow spaCy's English tokenizer and sentencizer; from `spacy`,
the sentencizer itself; or they are `lines`. A unit is a span of n consecutive sentences, its key a hash of the
normalised sentences (see `line_units` for its quality); a text of fewer than n sentences has no unit.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import regex

from refinery.common.extras import install_command
from refinery.kernels.core.arrow import texts
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.dedup.line_units import key_of, lists
from refinery.kernels.dedup.sentence_words import OTHER, TERMINAL, TERMINALS, characters, tokens

LOWER, SPACES, PUNCTUATION, DIACRITICS, NUMBERS, WEEKDAYS, MONTHS = 1, 2, 4, 8, 16, 32, 64  # flags of `normalised`
USUAL = LOWER | SPACES | PUNCTUATION | DIACRITICS | NUMBERS

_NO_KEYS = np.zeros(0, np.uint64)
SPACY_STRINGS = 2_000_000  # a tokenizer with more strings is replaced: it never frees a string


# datatrove's punctuation.
MARKS = characters("""
    0-8 B-1F 21-2F 3A-40 5B-60 7B-9F AB B4 BB 2013-2014 2019 201C-201E 2026 2236 2501 25BA 3001-3002 3008-300D 3010-3011
    FF01 FF05 FF08-FF09 FF0C FF0E FF11 FF1A-FF1B FF1F FF5E
""")

_TO_SPACES = str.maketrans(MARKS, " " * len(MARKS))
_NUMBER = regex.compile(r"\p{Nd}+(?:[.,،٫⎖⎗⎘]\p{Nd}+)?")
_WEEKDAY = re.compile("(?:mon|tues|wednes|thurs|fri|satur|sun)day")
_MONTH = re.compile("january|february|march|april|may|june|july|august|september|october|november|december")
_SPACES = re.compile(r"\s+")
_ACCENTED = re.compile("[^\x00-\xbf]")

_ASCII_TERMINAL = re.compile("[.!?]")
_ANY_TERMINAL = re.compile(f"[{''.join(sorted(TERMINALS))}]")


def normalised(text: str, how: int) -> str:
    """Normalise a sentence for comparison by the flags of this module; the order of the steps is datatrove's."""
    if how & LOWER:
        text = text.lower()
    if how & NUMBERS:
        text = _NUMBER.sub("0", text)
    if how & WEEKDAYS:
        text = _WEEKDAY.sub("WEEKDAY", text)
    if how & MONTHS:
        text = _MONTH.sub("MONTH", text)
    if how & PUNCTUATION:
        text = text.translate(_TO_SPACES)
    if how & SPACES:
        text = _SPACES.sub(" ", text.strip())
    if how & DIACRITICS and _ACCENTED.search(text):
        text = _combining_marks().sub("", unicodedata.normalize("NFD", text))
    return text.strip()


@lru_cache(maxsize=1)
def _combining_marks() -> re.Pattern[str]:
    """Characters of the category Mn; none lies between U+20000 and the tags from U+E0000 on."""
    points = (*range(0x300, 0x20000), *range(0xE0000, 0xE0200))
    return re.compile(f"[{''.join(chr(c) for c in points if unicodedata.category(chr(c)) == 'Mn')}]")


def spans(text: str, sentences: str, language: str = "en") -> list[tuple[int, int]]:
    """Begin and end of each sentence in code points; white space between two is in neither, or in the second."""
    if sentences == "spacy":
        return [(s.start_char, s.end_char) for s in _spacy(language)(text).sents]
    if not text:
        return []
    starts = _starts(text)
    ends = [start - (text[start - 1] == " ") for start in starts[1:]]
    trailing = len(text) > 1 and text[-1] == " " and not text[-2].isspace()
    return list(zip(starts, [*ends, len(text) - trailing], strict=True))


def word_count(text: str, sentences: str, language: str = "en") -> int:
    """Number of words and punctuation marks in the text."""
    if sentences == "spacy":
        return sum(not token.is_space for token in _spacy(language).tokenizer(text))
    return sum(len(tokens(word)) for word in text.split())


def _starts(text: str) -> list[int]:
    """Starts of sentences: the first token that is not punctuation after a token that is a terminal mark."""
    starts, i = [0], 0
    terminal = _ASCII_TERMINAL if text.isascii() else _ANY_TERMINAL
    while match := terminal.search(text, i):
        begin = match.start()
        while begin > i and not text[begin - 1].isspace():
            begin -= 1
        i = _ended(text, begin, starts)
    return starts


def _ended(text: str, begin: int, starts: list[int]) -> int:
    """Read words from `begin` on until no terminal mark is pending; returns the position to resume at."""
    seen = False
    while True:
        space = _SPACES.search(text, begin)
        end = space.start() if space else len(text)
        word = text[begin:end]
        for offset, kind in tokens(word):
            if kind == TERMINAL:
                seen = True
            elif kind == OTHER and seen:
                starts.append(begin + offset)
                seen = False
        if not seen or space is None:
            return end
        begin = end + (
            text[end] == " "
        )  # a single space is no token; any other white space is one, and begins a sentence
        if begin == len(text):
            return begin
        if text[begin].isspace() or text[begin].isalnum():
            starts.append(begin)
            return begin


def problems(sentences: str, language: str) -> list[str]:
    """Reasons why this source of sentences is unusable, as sentences that name the cure."""
    if sentences != "spacy":
        return []
    try:
        _spacy(language)
    except ImportError as error:
        needed = "spaCy" if error.name == "spacy" else f"a package that spaCy needs for {language!r} ({error})"
        return [f"sentences: spacy needs {needed}; {install_command('spacy')}, or use sentences: fast"]
    return []


_local = threading.local()


def _spacy(language: str) -> Any:
    """Blank tokenizer of a language with the sentencizer, one per thread because it is not thread-safe."""
    known = _local.__dict__.setdefault("tokenizers", {})
    nlp = known.get(language)
    if nlp is None or len(nlp.vocab.strings) > SPACY_STRINGS:
        import spacy

        nlp = spacy.blank(language)
        nlp.add_pipe("sentencizer")
        nlp.max_length = 1 << 30
        known[language] = nlp
    return nlp


def sentence_keys(
    column: pa.Array | pa.ChunkedArray, sentences: str, language: str, n_sentences: int, how: int
) -> pa.Array:
    """Key of each span of n_sentences sentences of each text (`list<uint64>`); NULL for NULL.

    Span i begins with sentence i; a text of fewer sentences has an empty list. `how`: flags of this module, which
    normalise a sentence before the comparison. The key is 0 for spans that normalisation leaves empty.
    """
    view = texts(column)
    firsts = np.zeros(len(view) + 1, np.int64)
    parts = []
    for row, text in enumerate(view.array.to_pylist()):
        keys = _NO_KEYS if text is None else _keys(text, sentences, language, n_sentences, how)
        firsts[row + 1] = firsts[row] + len(keys)
        parts.append(keys)
    return lists(firsts, np.concatenate([_NO_KEYS, *parts]), view.valid)


def _keys(text: str, sentences: str, language: str, n: int, how: int) -> np.ndarray:
    if sentences == "lines":
        pieces = text.splitlines()
    else:
        pieces = [text[start:end] for start, end in _not_blank(text, spans(text, sentences, language))]
    if len(pieces) < n:
        return _NO_KEYS
    if how == USUAL and text.isascii() and "\0" not in text:
        joined = "\0".join(pieces).encode()
        keys, room = np.zeros(len(pieces) - n + 1, np.uint64), np.empty(len(joined) + 1, np.uint8)
        _ascii_keys(np.frombuffer(joined, np.uint8), len(pieces), n, room, np.zeros(len(pieces) + 1, np.int64), keys)
        return keys
    encoded = [normalised(piece, how).encode() for piece in pieces]
    starts = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(piece) + 1 for piece in encoded], out=starts[1:])
    keys = np.zeros(len(starts) - n, np.uint64)
    _span_keys(np.frombuffer(b" ".join(encoded) + b" ", np.uint8), starts, n, keys)
    return keys


def remove_sentences(
    column: pa.Array | pa.ChunkedArray,
    removed: pa.Array | pa.ChunkedArray,
    sentences: str,
    language: str,
    n_sentences: int,
    min_words: int,
) -> pa.Array:
    """Remove from each text the sentences of the spans with the numbers (from 0) in its list; NULL where unchanged.

    A sentence is removed with the white space before it, and the rest begins without white space. Consecutive sentences
    that have fewer than min_words words together stay. Lines are joined by U+000A, whatever ended them.
    """
    results = []
    for text, numbers in zip(column.to_pylist(), removed.to_pylist(), strict=True):
        result = None
        if text is not None and numbers:
            result = _without(text, set(numbers), sentences, language, n_sentences, min_words)
        results.append(None if result == text else result)
    return pa.array(results, pa.string() if sum(len(r) for r in results if r) < 2**28 else pa.large_string())


def _without(text: str, numbers: set[int], sentences: str, language: str, n: int, min_words: int) -> str:
    if sentences == "lines":
        pieces = text.splitlines()
        units = list(range(len(pieces)))
    else:
        places = spans(text, sentences, language)
        ends = [end for _, end in places]
        pieces = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        units = [i for i, (start, end) in enumerate(places) if not text[start:end].isspace()]
    gone = {i for number in numbers if 0 <= number <= len(units) - n for i in units[number : number + n]}
    if not gone:
        return text
    kept: list[str] = []
    for goes, run in groupby(enumerate(pieces), lambda item: item[0] in gone):
        run_pieces = [piece for _, piece in run]
        if not goes or word_count("\n".join(run_pieces), sentences, language) < min_words:
            kept += run_pieces
    if len(kept) == len(pieces):
        return text
    return ("\n" if sentences == "lines" else "").join(kept).lstrip()


def enough_or_empty(
    column: pa.Array | pa.ChunkedArray, sentences: str, language: str, min_words: int, min_sentences: int
) -> pa.Array:
    """Replace texts of fewer than min_words words or min_sentences sentences by the empty text; NULL for NULL."""
    results = [
        text if text is None or _enough(text, sentences, language, min_words, min_sentences) else ""
        for text in column.to_pylist()
    ]
    return pa.array(results, column.type)


def _enough(text: str, sentences: str, language: str, min_words: int, min_sentences: int) -> bool:
    if min_words > 0 and word_count(text, sentences, language) < min_words:
        return False
    return min_sentences <= 0 or len(spans(text, sentences, language)) >= min_sentences


def _not_blank(text: str, places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(start, end) for start, end in places if not text[start:end].isspace()]


@entry("uint8[] int64[] int64 uint64[]")
def _span_keys(data, starts, n, keys):
    """Write the key of every n sentences, sentence i being data[starts[i]:starts[i + 1] - 1]; 0 when all are empty."""
    for i in range(len(keys)):
        end = starts[i + n] - 1
        if end - starts[i] > n - 1:
            keys[i] = key_of(data, starts[i], end)


@entry("uint8[] int64 int64 uint8[] int64[] uint64[]")
def _ascii_keys(data, sentences, n, room, starts, keys):
    """`_span_keys` of raw ASCII sentences with a zero byte between two, normalised here by the flags USUAL."""
    w, i, gap = 0, 0, False
    for sentence in range(sentences):
        gap = False
        while i < len(data) and data[i] != 0:
            b = data[i]
            i += 1
            upper, digit = 65 <= b <= 90, 48 <= b <= 57
            if not (upper or digit or 97 <= b <= 122):
                gap = True
                continue
            if gap and w > starts[sentence]:
                room[w] = 32
                w += 1
            gap = False
            if digit:
                b = np.uint8(48)
                i = _number_end(data, i)
            room[w] = b + np.uint8(32) if upper else b
            w += 1
        room[w] = 32
        w += 1
        i += 1
        starts[sentence + 1] = w
    _span_keys(room, starts, n, keys)


@kernel
def _number_end(data, i):
    """End of the number whose first digit is data[i - 1]: digits, and once a point or comma and digits."""
    while i < len(data) and 48 <= data[i] <= 57:
        i += 1
    if i + 1 < len(data) and (data[i] == 46 or data[i] == 44) and 48 <= data[i + 1] <= 57:
        i += 1
        while i < len(data) and 48 <= data[i] <= 57:
            i += 1
    return i
