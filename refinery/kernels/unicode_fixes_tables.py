"""What the installed ftfy does with every code point, as tables that the kernels of `unicode_fixes` read.

Nothing of ftfy is repeated here: character maps, entity names and the mojibake pattern are taken from the package when
the tables are built, and kept on disk under a name that holds the versions that they depend on.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import re._constants as sre
import re._parser as parser
import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np

from refinery.kernels import CACHE
from refinery.kernels.charclass import CODE_POINTS

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")

# A word of `Tables.info`: the mojibake signature in the low byte, and above it what the kernel has to do.
MAPPED = 0x100  # becomes another string, perhaps empty
ALONE = 0x200  # suspicious whatever stands beside it
MARK = 0x400  # combining class other than 0: the order of such characters matters
SECOND = 0x800  # normalization may join it to the character before
FIRST = 0x1000  # normalization may join a later character to it or to a part of it

NAME_BITS = 17  # entity names are looked up in a bitmap of their hashes

Element = tuple[bool, frozenset[int]]  # code points that a piece of a pattern matches; True: those that it does not
ANYTHING: Element = (True, frozenset())


class UnknownShape(Exception):
    """The pattern has something in it from which no necessary condition is derived."""


class Tables(NamedTuple):
    """Everything a kernel reads, in the order of its arguments.

    info: uint16 per code point. classes: uint8 per code point, the canonical combining class. pairs: uint8, at
    `before << 8 | after` what these two signatures side by side mean: 0 nothing; 1 that they may be mojibake; n that
    they may when a signature comes next for which `thirds[n << 8 | signature]` holds. mapped: int32, sorted, the code
    points with MAPPED; what the i-th becomes is `pool[ends[i]:ends[i + 1]]` (UTF-8). names: bool, a bitmap of the
    hashes of entity names. longest: one element, the code points of the longest segment that ftfy fixes at once.
    """

    info: np.ndarray
    classes: np.ndarray
    pairs: np.ndarray
    thirds: np.ndarray
    mapped: np.ndarray
    ends: np.ndarray
    pool: np.ndarray
    names: np.ndarray
    longest: np.ndarray


@lru_cache(maxsize=len(FORMS))
def tables(form: Form) -> Tables | None:
    """The tables for normalization `form`; None when the installed ftfy works in a way that they cannot describe."""
    versions = f"{sys.version_info[0]}.{sys.version_info[1]}-{unicodedata.unidata_version}"
    path = CACHE / f"ftfy-{form}-{versions}-{importlib.metadata.version('ftfy')}.npz"
    try:
        with np.load(path) as stored:
            return Tables(*(stored[name] for name in Tables._fields))
    except (OSError, ValueError, KeyError):
        pass
    if not _understood():
        return None
    built = build(form)
    try:
        aside = path.with_suffix(f".{os.getpid()}.tmp.npz")
        np.savez(aside, **built._asdict())
        os.replace(aside, path)
    except OSError:  # a read-only home costs half a second a run, nothing else
        pass
    return built


# The steps of ftfy 6: a release with further ones may do something that the kernel does not know of.
STEPS = """unescape_html remove_terminal_escapes fix_encoding restore_byte_a0 replace_lossy_sequences
    decode_inconsistent_utf8 fix_c1_controls fix_latin_ligatures fix_character_width uncurl_quotes fix_line_breaks
    fix_surrogates remove_control_chars normalization max_decode_length explain""".split()


def _understood() -> bool:
    import ftfy
    from ftfy import chardata, fixes

    escapes = parser.parse(fixes.ANSI_RE.pattern)
    quotes = [parser.parse(regex.pattern) for regex in (chardata.SINGLE_QUOTE_RE, chardata.DOUBLE_QUOTE_RE)]
    return (
        list(ftfy.TextFixerConfig._fields) == STEPS
        and ftfy.TextFixerConfig().unescape_html == "auto"
        and chardata.HTML_ENTITY_RE.pattern == "&#?[0-9A-Za-z]{1,24};"
        and list(escapes[:2]) == [(sre.LITERAL, 0x1B), (sre.LITERAL, ord("["))]
        and all(len(quote) == 1 and quote[0][0] in (sre.IN, sre.LITERAL) for quote in quotes)
    )


def build(form: Form) -> Tables:
    """Ask ftfy and `unicodedata` about every code point. Some 0.3 s."""
    import ftfy
    from ftfy.badness import BADNESS_RE

    everything = [chr(c) for c in range(CODE_POINTS)]
    classes = np.fromiter(map(unicodedata.combining, everything), np.uint8, CODE_POINTS)
    info, pairs, thirds = mojibake(BADNESS_RE)
    for c in range(0x80, 0xA0):  # C1 controls have a step of their own
        info[c] |= ALONE
    info[classes > 0] |= MARK
    if form in ("NFC", "NFKC"):
        first, second = joining(everything)
        info[first] |= FIRST
        info[second] |= SECOND
    becomes = replacements(form, everything)
    mapped = np.array(sorted(becomes), np.int32)
    info[mapped] = (info[mapped] & 0xFF) | (info[mapped] & ALONE) | MAPPED
    encoded = [becomes[int(c)].encode() for c in mapped]
    longest = np.array([ftfy.TextFixerConfig().max_decode_length], np.int64)
    return Tables(
        info,
        classes,
        pairs,
        thirds,
        mapped,
        np.cumsum([0, *map(len, encoded)], dtype=np.int32),
        np.frombuffer(b"".join(encoded), np.uint8),
        entity_names(),
        longest,
    )


def replacements(form: Form, everything: list[str]) -> dict[int, str]:
    """Code points that ftfy's character maps or the normalization change, and what they become in one round.

    Normalizing character by character is enough where the result, as a whole, turns out to be normalized.
    """
    from ftfy import chardata, fixes

    listed = {*chardata.LIGATURES, *chardata.WIDTH_MAP, *chardata.CONTROL_CHARS, *map(ord, "\r\x85\u2028\u2029")}
    text = "".join(everything)
    for regex in (chardata.SINGLE_QUOTE_RE, chardata.DOUBLE_QUOTE_RE):
        listed.update(ord(char) for match in regex.findall(text) for char in match)
    steps: list[Callable[[str], str]] = [
        fixes.fix_latin_ligatures,
        fixes.fix_character_width,
        fixes.uncurl_quotes,
        fixes.fix_line_breaks,
        fixes.remove_control_chars,
    ]
    normalize = unicodedata.normalize
    becomes = {c: normalize(form, char) for c, char in enumerate(everything) if normalize(form, char) != char}
    for c in listed:
        char = everything[c]
        for step in steps:
            char = step(char)
        becomes[c] = normalize(form, char)
    return {c: char for c, char in becomes.items() if char != everything[c] and not 0xD800 <= c < 0xE000}


def joining(everything: list[str]) -> tuple[list[int], list[int]]:
    """Code points that canonical composition joins: those that may take a later one, and those that may be taken.

    A composed letter counts as one that may take another: a mark below goes before its own mark above.
    """
    first, second = set(), set()
    for c, char in enumerate(everything):
        whole = unicodedata.normalize("NFD", char)
        if whole == char:
            continue
        first.add(c)
        parts = unicodedata.decomposition(char).split()
        if 0xAC00 <= c <= 0xD7A3:  # Hangul syllables decompose by arithmetic, of which unicodedata says nothing
            first.add(ord(unicodedata.normalize("NFC", whole[:-1])))
            second.add(ord(whole[-1]))
        elif len(parts) == 2 and unicodedata.normalize("NFC", char) == char:
            first.add(int(parts[0], 16))
            second.add(int(parts[1], 16))
    return sorted(first), sorted(second)


def name_hash(name: Iterable[int]) -> int:
    """Place of an entity's name (without `&` and `;`) in the bitmap; the kernel computes the same."""
    place = 0
    for byte in name:
        place = (place * 31 + byte) & ((1 << NAME_BITS) - 1)
    return place


def entity_names() -> np.ndarray:
    """bool (1 << NAME_BITS): True at the hashes of the entities that ftfy knows by name."""
    from ftfy.chardata import HTML_ENTITIES

    names = np.zeros(1 << NAME_BITS, np.bool_)
    for name in HTML_ENTITIES:
        names[name_hash(name.strip("&;").encode())] = True
    return names


def mojibake(regex: re.Pattern[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Signatures of code points, and pairs and thirds of them, one of which is in every text that `regex` finds.

    The condition is necessary, not sufficient: of every alternative of the pattern the least common pair of adjacent
    pieces is kept, and the piece that follows. Code points that matter by themselves are marked ALONE; so is everything
    beyond ASCII when the pattern is not understood. Texts of ASCII alone are never mojibake to ftfy.
    """
    info = np.zeros(CODE_POINTS, np.uint16)
    pairs = np.zeros(1 << 16, np.uint8)
    try:
        clues = _clues(regex)
        members = _signatures({element for clue in clues if len(clue) > 1 for element in clue}, info)
    except UnknownShape:
        info[0x80:] = ALONE
        return info, pairs, np.zeros(2 << 8, np.bool_)
    next_of: dict[int, set[Element | None]] = {}  # what may follow a pair; None: whatever there is
    for clue in clues:
        if len(clue) == 1:
            info[sorted(clue[0][1])] |= ALONE
        else:
            for before, after in product(members[clue[0]], members[clue[1]]):
                next_of.setdefault(before << 8 | after, set()).add(clue[2] if len(clue) > 2 else None)
    kinds: dict[frozenset[Element | None], int] = {}
    for place, following in next_of.items():
        kind = 1 if None in following else kinds.setdefault(frozenset(following), len(kinds) + 2)
        pairs[place] = kind if kind < 256 else 1
    thirds = np.zeros((len(kinds) + 2) << 8, np.bool_)
    for elements, kind in kinds.items():
        for element in elements:
            thirds[[kind << 8 | signature for signature in members[element]]] = True
    return info, pairs, thirds


def _clues(regex: re.Pattern[str]) -> list[tuple[Element, ...]]:
    if regex.flags & ~(re.UNICODE | re.VERBOSE | re.MULTILINE | re.DOTALL):
        raise UnknownShape(regex.flags)
    return [_best(sequence) for sequence in _sequences(parser.parse(regex.pattern, regex.flags))]


def _sequences(tree: Any) -> list[list[Element | None]]:
    """What a match may look like: pieces of one code point each; None where something unknown may stand between."""
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
    if op in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):  # they take no room
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
    if wide:  # looked up in ASCII only; beyond it, taken for anything, negated or not
        return True, frozenset(c for c in range(0x80) if (c in chars) is negated)
    return negated, frozenset(chars)


def _best(sequence: list[Element | None]) -> tuple[Element, ...]:
    """The rarest pair of neighbours with what follows it, or the rarest single piece where there are no neighbours."""
    places = range(len(sequence) - 1)
    rated = [(_commonness(a) * _commonness(b), i) for i, a, b in zip(places, sequence, sequence[1:]) if a and b]
    if rated:
        place = min(rated)[1]
        clue = tuple(element for element in sequence[place : place + 2] if element)
        third = sequence[place + 2 : place + 3]
    else:
        clue = tuple(sorted((element for element in sequence if element), key=_commonness)[:1])
        third = []
    if all(negated or min(chars) < 0x80 for negated, chars in clue):  # would be found in plain ASCII
        raise UnknownShape(clue)
    return (*clue, *(element for element in third if element))


def _commonness(element: Element) -> int:
    negated, chars = element
    return 1_000_000 if negated else 1 + len(chars) + 50 * sum(char < 0x80 for char in chars)


def _signatures(elements: set[Element], info: np.ndarray) -> dict[Element, list[int]]:
    """Number the code points by the elements that they belong to, into `info`; the numbers of every element."""
    ordered = sorted(elements, key=lambda element: (element[0], sorted(element[1])))
    numbers: dict[tuple[bool, ...], int] = {tuple(negated for negated, _ in ordered): 0}
    for char in sorted(frozenset().union(*(chars for _, chars in ordered))):
        belongs = tuple((char in chars) is not negated for negated, chars in ordered)
        info[char] = numbers.setdefault(belongs, len(numbers))
    if len(numbers) > 256:
        raise UnknownShape("more signatures than a byte holds")
    return {element: [n for key, n in numbers.items() if key[i]] for i, element in enumerate(ordered)}
