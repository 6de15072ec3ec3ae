"""Necessary condition for ftfy's pattern to find mojibake in a text, in a form that a kernel can test.

It is derived from the parsed pattern: of every alternative, the least common pair of adjacent pieces and the piece
that follows them. So it is necessary, not sufficient, for the pattern of any installed release.
"""

from __future__ import annotations

import re
import re._constants as sre
import re._parser as parser
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from refinery.kernels.core.charclass import CODE_POINTS

Element = tuple[bool, frozenset[int]]  # code points that a piece of a pattern matches; True: does not match
ANYTHING: Element = (True, frozenset())


class UnknownShape(Exception):
    """The pattern has a part from which no necessary condition can be derived."""


class MojibakeClues(NamedTuple):
    """Clues to search for: one of `alone`, or a pair of signatures, with a third where the pair needs it.

    signatures: uint16 per code point, below 256. alone: code points. pairs: uint8, at `before << 8 | after` 0 where the
    pair is no clue, 1 where it is enough, n where the next signature must satisfy `thirds[n << 8 | signature]`.
    """

    signatures: np.ndarray
    alone: np.ndarray
    pairs: np.ndarray
    thirds: np.ndarray


def clues(regex: re.Pattern[str]) -> MojibakeClues:
    """Derive the condition for `regex`, for texts beyond ASCII.

    When the shape of the pattern is unknown, every code point beyond ASCII is a clue.
    """
    try:
        sequences = _of_alternatives(regex)
        signatures, members = _number({element for clue in sequences if len(clue) > 1 for element in clue})
    except UnknownShape:
        none = np.zeros(CODE_POINTS, np.uint16), np.arange(0x80, CODE_POINTS)
        return MojibakeClues(*none, np.zeros(1 << 16, np.uint8), np.zeros(2 << 8, np.bool_))
    alone = {char for clue in sequences if len(clue) == 1 for char in clue[0][1]}
    pairs, thirds = _combine([clue for clue in sequences if len(clue) > 1], members)
    return MojibakeClues(signatures, np.array(sorted(alone), np.int64), pairs, thirds)


def _combine(sequences: list[tuple[Element, ...]], members: dict[Element, list[int]]) -> tuple[np.ndarray, np.ndarray]:
    following: dict[int, set[tuple[Element, ...]]] = {}  # possible successors of a pair; (): anything, or nothing
    for clue in sequences:
        for before, after in product(members[clue[0]], members[clue[1]]):
            following.setdefault(before << 8 | after, set()).add(clue[2:])
    kinds: dict[frozenset[tuple[Element, ...]], int] = {}
    pairs = np.zeros(1 << 16, np.uint8)
    for place, options in following.items():
        kind = 1 if () in options else kinds.setdefault(frozenset(options), len(kinds) + 2)
        pairs[place] = kind if kind < 256 else 1
    thirds = np.zeros((len(kinds) + 2) << 8, np.bool_)
    for thirds_of, kind in kinds.items():
        for (element,) in thirds_of:
            thirds[[kind << 8 | signature for signature in members[element]]] = True
    return pairs, thirds


def _of_alternatives(regex: re.Pattern[str]) -> list[tuple[Element, ...]]:
    if regex.flags & ~(re.UNICODE | re.VERBOSE | re.MULTILINE | re.DOTALL):
        raise UnknownShape(regex.flags)
    return [_best(sequence) for sequence in _sequences(parser.parse(regex.pattern, regex.flags))]


def _sequences(tree: Any) -> list[list[Element | None]]:
    """Possible matches as sequences of pieces of one code point each; None where unknown pieces may lie between."""
    done: list[list[Element | None]] = [[]]
    for op, argument in tree:
        done = [head + tail for head, tail in product(done, _pieces(op, argument))]
        if len(done) > 1000:
            raise UnknownShape("too many alternatives")
    return done


def _pieces(op: Any, argument: Any) -> list[list[Element | None]]:
    if op is sre.LITERAL:
        return [[(False, frozenset([argument]))]]
    if op is sre.NOT_LITERAL:
        return [[(True, frozenset([argument]))]]
    if op is sre.ANY:
        return [[ANYTHING]]
    if op is sre.IN:
        return [[_element(argument)]]
    if op in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):  # zero-width
        return [[]]
    if op is sre.BRANCH:
        return [sequence for branch in argument[1] for sequence in _sequences(branch)]
    if op is sre.SUBPATTERN and not argument[1] and not argument[2]:
        return _sequences(argument[3])
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        low, high, inner = argument
        if low == 0:
            return [[None]]
        once = _sequences(inner)
        return once if high == 1 else [[*head, None, *tail] for head, tail in product(once, once)]
    raise UnknownShape(op)


CATEGORIES = {
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
}


def _element(items: list[tuple[Any, Any]]) -> Element:
    negated = items[0][0] is sre.NEGATE
    chars: set[int] = set()
    wide = False
    for op, argument in items[1:] if negated else items:
        if op is sre.LITERAL:
            chars.add(argument)
        elif op is sre.RANGE and argument[1] - argument[0] < 10_000:
            chars.update(range(argument[0], argument[1] + 1))
        elif op is sre.CATEGORY and argument in CATEGORIES:
            chars.update(c for c in range(0x80) if re.match(CATEGORIES[argument], chr(c)))
            wide = True
        else:
            return ANYTHING
    if wide:  # exact in ASCII only; beyond ASCII it matches anything, negated or not
        return True, frozenset(c for c in range(0x80) if (c in chars) is negated)
    return negated, frozenset(chars)


def _best(sequence: list[Element | None]) -> tuple[Element, ...]:
    """Choose the rarest pair of neighbours with its successor, or the rarest single piece without neighbours."""
    rated = [(_commonness(a) * _commonness(b), i, (a, b)) for i, (a, b) in enumerate(pairwise(sequence)) if a and b]
    clue: tuple[Element, ...]
    if rated:
        _, place, clue = min(rated)
        third = tuple(element for element in sequence[place + 2 : place + 3] if element)
    else:
        clue = tuple(sorted((element for element in sequence if element), key=_commonness)[:1])
        third = ()
    if all(negated or min(chars) < 0x80 for negated, chars in clue):  # would be found in plain ASCII
        raise UnknownShape(clue)
    return clue + third


def _commonness(element: Element) -> int:
    negated, chars = element
    return 1_000_000 if negated else 1 + len(chars) + 50 * sum(char < 0x80 for char in chars)


def _number(elements: set[Element]) -> tuple[np.ndarray, dict[Element, list[int]]]:
    """Number the code points by their elements; returns the numbers of code points and those of each element."""
    signatures = np.zeros(CODE_POINTS, np.uint16)
    ordered = sorted(elements, key=lambda element: (element[0], sorted(element[1])))
    numbers: dict[tuple[bool, ...], int] = {tuple(negated for negated, _ in ordered): 0}
    for char in sorted(frozenset().union(*(chars for _, chars in ordered))):
        belongs = tuple((char in chars) is not negated for negated, chars in ordered)
        signatures[char] = numbers.setdefault(belongs, len(numbers))
    if len(numbers) > 256:
        raise UnknownShape("more signatures than a byte holds")
    return signatures, {element: [n for key, n in numbers.items() if key[i]] for i, element in enumerate(ordered)}
