"""Literals and simple regular expressions, searched at once for each character (Shift-And; Baeza-Yates and Gonnet 1992).

A simple expression is a sequence of characters, `.`, and classes such as `[^ ]`, each of which may be optional (`?`) if the
one before it is not. Each is a bit of a word; a bit is set while the characters up to its own match.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from refinery.kernels.core.charclass import CODE_POINTS
from refinery.kernels.core.jit import kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.core.utf8 import decode

BITS = 64

_ATOM = re.compile(
    r"(?P<any>\.)|\[(?P<no>\^?)(?P<set>[^\[\]\\&~-]+)\]|\\(?P<mark>[^\w\s])|(?P<char>[^\\.*+?{}()\[\]|^$])"
)


class Atom(NamedTuple):
    """One place of a pattern: the characters that it lists, which match or with `negated` do not."""

    chars: frozenset[str]
    negated: bool
    optional: bool


class Patterns(NamedTuple):
    """Patterns in the form that the kernel reads.

    kinds: uint16 (code points), number of a character's kind. masks: uint64 (kinds, words), the places that a kind matches.
    firsts, lasts, optional: uint64 (words), first and last places of patterns, and those that may be left out.
    """

    kinds: np.ndarray
    masks: np.ndarray
    firsts: np.ndarray
    lasts: np.ndarray
    optional: np.ndarray


record(Patterns, "uint16[] uint64[,] uint64[] uint64[] uint64[]")


def literal_places(text: str) -> list[Atom] | None:
    """The places of a literal; None if it is empty or too long."""
    return [Atom(frozenset(char), False, False) for char in text] if 0 < len(text) <= BITS else None


def simple_places(pattern: str) -> list[Atom] | None:
    """The places of a simple expression in the syntax of Rust; None for another one."""
    atoms, at = list[Atom](), 0
    while at < len(pattern):
        match = _ATOM.match(pattern, at)
        if match is None:
            return None
        at = match.end()
        optional = pattern[at : at + 1] == "?"
        if optional and (not atoms or atoms[-1].optional):
            return None
        at += optional
        chars = "\n" if match["any"] else match["set"] or match["mark"] or match["char"]
        atoms.append(Atom(frozenset(chars), bool(match["any"] or match["no"]), optional))
    return atoms if 0 < len(atoms) <= BITS else None


def pattern_table(patterns: Sequence[Sequence[Atom]]) -> Patterns:
    """Compile patterns of at most BITS places each."""
    chars = sorted({char for atoms in patterns for atom in atoms for char in atom.chars})
    words = _words(patterns)
    kinds = np.zeros(CODE_POINTS, np.uint16)
    kinds[[ord(char) for char in chars]] = np.arange(1, len(chars) + 1)
    masks = np.zeros((len(chars) + 1, max(len(words), 1)), np.uint64)
    ends = np.zeros((3, max(len(words), 1)), np.uint64)
    for word, members in enumerate(words):
        bit = 0
        for atoms in members:
            ends[0, word] |= np.uint64(1 << bit)
            for atom in atoms:
                one = np.uint64(1 << bit)
                for kind, char in enumerate(["", *chars]):
                    masks[kind, word] |= one if (char in atom.chars) is not atom.negated else np.uint64(0)
                ends[2, word] |= one if atom.optional else np.uint64(0)
                bit += 1
            ends[1, word] |= np.uint64(1 << (bit - 1))
    return Patterns(kinds, masks, *ends)


def _words(patterns: Sequence[Sequence[Atom]]) -> list[list[Sequence[Atom]]]:
    """Patterns distributed over words, the longest first."""
    words: list[list[Sequence[Atom]]] = []
    for atoms in sorted(patterns, key=len, reverse=True):
        room = (one for one in words if sum(map(len, one)) + len(atoms) <= BITS)
        place = next(room, None)
        if place is None:
            words.append([atoms])
        else:
            place.append(atoms)
    return words


@kernel
def holds_any(data, start, end, patterns, state):
    """Return whether data[start:end] has a match of a pattern. state: uint64, room for the words."""
    words = len(patterns.firsts)
    state[:] = 0
    i = start
    while i < end:
        cp, i = decode(data, i)
        kind = patterns.kinds[cp]
        for word in range(words):
            bits = ((state[word] << np.uint64(1)) | patterns.firsts[word]) & patterns.masks[kind, word]
            bits |= (bits << np.uint64(1)) & patterns.optional[word]
            if bits & patterns.lasts[word]:
                return True
            state[word] = bits
    return False
