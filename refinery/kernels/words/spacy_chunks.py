"""spaCy's words of many texts: each chunk between white space is cut once and looked up later.

spaCy's rule tokenizer cuts every chunk between white space by itself. Then it searches the words of the whole text for
its exceptions. An exception that spans white space, as `=(` does in `= (`, hides others at its place. Chunks that could
take part in such an exception, by the characters at their ends, are cut together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# Most chunks, and most characters of chunks, in the cache: about 300 MB in all.
MOST, MOST_CHARACTERS = 1_000_000, 50_000_000

_BREAK = "\n"  # a word of its own; no exception has it beside others
_CHUNK = re.compile(r"\S+")


class Words:
    """Numbered words. written: their texts. length: code points. upper, title: as by `str.isupper` and `str.istitle`."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.written: list[str] = []
        self.length, self.upper, self.title = _Growing(), _Growing(), _Growing()

    def number(self, word: str) -> int:
        """Number of a word; a new word is added."""
        place = self.numbers.get(word)
        if place is None:
            place = self.numbers[word] = len(self.numbers)
            self.written.append(word)
            self.length.append(len(word))
            self.upper.append(word.isupper())
            self.title.append(word.istitle())
        return place


class ChunkTokenizer:
    """Words of chunks, by a tokenizer of the class `spacy.tokenizer.Tokenizer`."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.words = Words()
        self._known: dict[str, int] = {}
        self._characters = 0
        self._first, self._count, self._flat = _Growing(), _Growing(), _Growing()  # words of each chunk
        pairs = _pairs(tokenizer)
        self._left = {character: number for number, character in enumerate(sorted({left for left, _ in pairs}), 1)}
        self._right = {character: number for number, character in enumerate(sorted({right for _, right in pairs}), 1)}
        self._linked = np.zeros((len(self._left) + 1, len(self._right) + 1), np.bool_)
        for left, right in pairs:
            self._linked[self._left[left], self._right[right]] = True
        self._begins, self._ends = _Growing(), _Growing()  # numbers of their first and last characters, or 0

    @property
    def full(self) -> bool:
        """True if the cache takes too much memory."""
        return len(self._known) > MOST or self._characters > MOST_CHARACTERS

    def of(self, text: str) -> np.ndarray:
        """Numbers of the words of a text, int64, in their order; white space is no word."""
        pieces = text.split()
        new = set(pieces).difference(self._known)
        if new:
            self._learn(sorted(new))
        chunks = np.fromiter(map(self._known.__getitem__, pieces), np.int64, len(pieces))
        linked = np.flatnonzero(self._linked[self._ends.array[chunks[:-1]], self._begins.array[chunks[1:]]])
        if len(linked):
            chunks = self._together(text, chunks, linked.tolist())
        counts = self._count.array[chunks]
        starts = np.cumsum(counts) - counts
        places = np.repeat(self._first.array[chunks] - starts, counts) + np.arange(int(counts.sum()))
        return self._flat.array[places]

    def _together(self, text: str, chunks: np.ndarray, linked: Sequence[int]) -> np.ndarray:
        """Chunks of a text, with consecutive linked chunks (each of `linked` to the next) joined to one."""
        spans = [match.span() for match in _CHUNK.finditer(text)]
        left, k = np.ones(len(chunks), np.bool_), 0
        while k < len(linked):
            first = last = linked[k]
            while k < len(linked) and linked[k] == last:
                last, k = last + 1, k + 1
            chunk = text[spans[first][0] : spans[last][1]]
            if chunk not in self._known:
                self._add(chunk, _cut(self._tokenizer, chunk))
            chunks[first] = self._known[chunk]
            left[first + 1 : last + 1] = False
        return chunks[left]

    def _learn(self, new: Sequence[str]) -> None:
        """Cut new chunks, all in one call; a line break between two is a word of its own."""
        cut: list[list[str]] = [[]]
        for token in self._tokenizer(_BREAK.join(new)):
            if token.text == _BREAK:
                cut.append([])
            else:
                cut[-1].append(token.text)
        for chunk, words in zip(new, cut, strict=True):
            self._add(chunk, words)

    def _add(self, chunk: str, words: Sequence[str]) -> None:
        self._known[chunk] = len(self._known)
        self._characters += len(chunk)
        self._first.append(len(self._flat))
        self._count.append(len(words))
        self._begins.append(self._right.get(chunk[0], 0))
        self._ends.append(self._left.get(chunk[-1], 0))
        for word in words:
            self._flat.append(self.words.number(word))


class TextTokenizer:
    """Words of texts by a function that cuts every text as a whole."""

    def __init__(self, cut: Callable[[str], Sequence[str]]) -> None:
        self._cut = cut
        self.words = Words()

    @property
    def full(self) -> bool:
        """True if the cache takes too much memory."""
        return len(self.words.numbers) > MOST

    def of(self, text: str) -> np.ndarray:
        """Numbers of the words of a text, int64, in their order."""
        return np.array([self.words.number(word) for word in self._cut(text)], np.int64)


def _cut(tokenizer: Any, text: str) -> list[str]:
    stripped = (token.text.strip() for token in tokenizer(text))
    return [word for word in stripped if word]


def _pairs(tokenizer: Any) -> set[tuple[str, str]]:
    """Pairs of characters around every cut that the rules alone make inside an exception."""
    plain = type(tokenizer)(
        tokenizer.vocab,
        prefix_search=tokenizer.prefix_search,
        suffix_search=tokenizer.suffix_search,
        infix_finditer=tokenizer.infix_finditer,
        token_match=tokenizer.token_match,
        url_match=tokenizer.url_match,
    )
    pairs: set[tuple[str, str]] = set()
    for exception in tokenizer.rules:
        words = [token.text for token in plain(exception)]
        pairs |= {(left[-1], right[0]) for left, right in zip(words, words[1:], strict=False)}
    return pairs


class _Growing:
    """Growing array of numbers."""

    def __init__(self) -> None:
        self._numbers, self._count = np.zeros(1024, np.int64), 0

    def __len__(self) -> int:
        return self._count

    def append(self, value: int) -> None:
        if self._count == len(self._numbers):
            self._numbers = np.concatenate((self._numbers, np.zeros_like(self._numbers)))
        self._numbers[self._count] = value
        self._count += 1

    @property
    def array(self) -> np.ndarray:
        """All numbers, int64."""
        return self._numbers[: self._count]
