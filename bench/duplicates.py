"""Texts of known similarity: edited copies at a chosen Jaccard similarity, and exact similarities by brute force.

Base texts are random words of `vocabulary/`, so that two of them share almost no shingles and every pair is an
independent draw, unlike documents that share content. Shingles are computed in plain Python, independently of the
kernels that are measured with them. The same seed gives the same texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import md5
from itertools import combinations
from typing import NamedTuple

import numpy as np
import regex

from bench.prose import Dice, vocabulary

CHARACTERS = ("zh", "ja")  # languages written without spaces
FEW = 3  # shingles of fewer words than this would repeat from text to text
EDITS = ("replace", "delete", "insert")
END_EDITS = 12  # most tokens that are cut off or added at the end to reach the similarity
DRAWS = 200  # base texts to try, of slightly different lengths


@dataclass(frozen=True)
class Shingles:
    """Shingles of texts in lower case: every `window` tokens in a row.

    tokenization: `space` (runs of anything but U+0020), `word` (runs of letters and digits) or `character`. A text of
    fewer tokens than the window is one shingle; a text without tokens has none, as with `hash: fast`.
    """

    tokenization: str
    window: int

    def of(self, text: str) -> frozenset[str]:
        """The distinct shingles of a text."""
        return frozenset(self.all(text))

    def all(self, text: str) -> list[str]:
        """The shingles of a text in order, repeats included."""
        text = text.lower()
        if self.tokenization == "character":
            tokens = list(text)
        elif self.tokenization == "word":
            tokens = regex.findall(r"\w+", text)
        else:
            tokens = [token for token in text.split(" ") if token]
        between = "" if self.tokenization == "character" else " "
        window = min(self.window, len(tokens))
        return [between.join(tokens[i : i + window]) for i in range(len(tokens) - window + 1 if window else 0)]

    def __str__(self) -> str:
        return f"{self.tokenization}, {self.window}"


class Pair(NamedTuple):
    """Two texts and the exact Jaccard similarity of their shingles."""

    left: str
    right: str
    jaccard: float


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Jaccard similarity: size of the intersection over size of the union; 1.0 for two empty sets."""
    shared = len(left & right)
    total = len(left) + len(right) - shared
    return shared / total if total else 1.0


def all_pairs(texts: Sequence[str], shingles: Shingles, at_least: float = 0.0) -> dict[tuple[int, int], float]:
    """Exact similarities of all pairs (first, second) of texts that reach `at_least`, by brute force."""
    sets = [shingles.of(text) for text in texts]
    found = ((pair, jaccard(sets[pair[0]], sets[pair[1]])) for pair in combinations(range(len(sets)), 2))
    return {pair: similarity for pair, similarity in found if similarity >= at_least}


def simhash(text: str, shingles: Shingles) -> int:
    """The 64-bit SimHash of a text's shingles, as Data-Juicer computes it; for texts with at least one full shingle."""
    digests = b"".join(md5(shingle.encode(), usedforsecurity=False).digest()[:8] for shingle in shingles.all(text))
    bits = np.unpackbits(np.frombuffer(digests, np.uint8)).reshape(-1, 64)
    return int.from_bytes(np.packbits(2 * bits.sum(axis=0, dtype=np.int64) > len(bits)).tobytes(), "big")


def pairs(
    shingles: Shingles,
    similarity: float,
    count: int,
    length: int,
    languages: Sequence[str] = ("en",),
    seed: int | str = 0,
    tolerance: float = 0.01,
) -> Iterator[Pair]:
    """Pairs of texts of about `length` tokens, at most `tolerance` from `similarity`; languages alternate."""
    for number in range(count):
        dice = Dice(f"{seed} {shingles} {similarity:.4f} {length} {number}")
        yield pair(dice, shingles, similarity, length, languages[number % len(languages)], tolerance)


def pair(
    dice: Dice, shingles: Shingles, similarity: float, length: int, lang: str = "en", tolerance: float = 0.01
) -> Pair:
    """A base text and an edited copy. Raises ValueError when no edits come close enough to `similarity`."""
    writer = _Words(dice, lang, shingles)
    for draw in range(DRAWS):
        by = draw % (length // 10 + 2)
        base = writer.some(length - by if draw % 2 else length + by)
        copy = edited(dice, base, shingles, similarity, lang, tolerance)
        if copy is not None:
            return copy
    raise ValueError(f"no pair of {length} tokens ({shingles}) is within {tolerance} of {similarity}")


def family(
    dice: Dice, shingles: Shingles, similarities: Sequence[float], length: int, lang: str = "en"
) -> Iterator[str]:
    """A base text, then a copy for each similarity; two copies are less similar than each is to the base."""
    base = _Words(dice, lang, shingles).some(length)
    yield join(base, lang)
    for similarity in similarities:
        copy = edited(dice, base, shingles, similarity, lang, 0.05)
        if copy is not None:
            yield copy.right


def edited(
    dice: Dice, base: Sequence[str], shingles: Shingles, similarity: float, lang: str, tolerance: float
) -> Pair | None:
    """The base text and a copy with tokens inserted, replaced or deleted at random places; None if none fits.

    More edits leave fewer shared shingles: bisection finds their number. If one edit more is too much and one less too
    little, single tokens are cut off or added at the end, which changes one shingle at a time.
    """
    left = join(base, lang)
    of_left = shingles.of(left)
    edits = _Edits(dice, base, _Words(dice, lang, shingles))

    def copy(number: int, cut: int = 0, added: int = 0) -> Pair:
        right = join(edits.applied(number, cut, added), lang)
        return Pair(left, right, jaccard(of_left, shingles.of(right)))

    low, high = 0, len(base)  # copy(low) is similar enough, copy(high) is not
    while high - low > 1:
        middle = (low + high) // 2
        if copy(middle).jaccard >= similarity:
            low = middle
        else:
            high = middle
    tries = [(low, 0, 0), (high, 0, 0)]
    tries += [(low, cut, size - cut) for size in range(1, END_EDITS) for cut in range(size + 1)]
    found = (copy(*edit) for edit in tries)
    return next((one for one in found if abs(one.jaccard - similarity) <= tolerance), None)


class _Edits:
    """Edits of a base text at places in a fixed order; any number of them can be applied."""

    def __init__(self, dice: Dice, base: Sequence[str], words: _Words) -> None:
        self.base = base
        self.rank = {place: rank for rank, place in enumerate(dice.mixed(range(len(base))))}
        self.kinds = [dice.pick(EDITS) for _ in base]
        self.new = words.some(len(base))
        self.end = words.some(END_EDITS)

    def applied(self, number: int, cut: int, added: int) -> list[str]:
        """The tokens after the first `number` edits, without the last `cut` of them, and with `added` new ones."""
        tokens = []
        for place, token in enumerate(self.base):
            kind = self.kinds[place] if self.rank[place] < number else "keep"
            if kind in ("keep", "insert"):
                tokens.append(token)
            if kind in ("replace", "insert"):
                tokens.append(self.new[place])
        return tokens[: len(tokens) - cut] + self.end[:added]


class _Words:
    """Draws tokens of a language; numbered words where shingles of few words would be equal in many texts.

    Raises ValueError for shingles of few characters, which are equal in many texts in any case.
    """

    def __init__(self, dice: Dice, lang: str, shingles: Shingles) -> None:
        self.dice, self.words = dice, tokens_of(lang)
        self.numbered = shingles.window < FEW
        if self.numbered and shingles.tokenization == "character":
            raise ValueError(f"shingles of {shingles.window} characters do not tell texts apart; take {FEW} or more")

    def some(self, count: int) -> list[str]:
        drawn = [self.dice.pick(self.words) for _ in range(count)]
        return [f"{word}{self.dice.below(10**9)}" for word in drawn] if self.numbered else drawn


@cache
def tokens_of(lang: str) -> tuple[str, ...]:
    """Distinct words of a language's vocabulary in lower case; for Chinese and Japanese its characters."""
    lines = [regex.sub(r"\{[^{}]*\}", " ", line) for line in _lines(vocabulary(lang))]
    words = {word.lower() for line in lines for word in regex.findall(r"[\p{L}\p{M}]+", line)}
    return tuple(sorted(set("".join(words)) if lang in CHARACTERS else words))


def join(tokens: Sequence[str], lang: str) -> str:
    """A text of these tokens."""
    return ("" if lang in CHARACTERS else " ").join(tokens)


def _lines(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for value in node.values():
            yield from _lines(value)
    elif isinstance(node, list):
        yield from node
