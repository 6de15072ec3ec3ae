"""Tables of the installed ftfy's treatment of every code point, for the kernels of `unicode_fixes`.

Nothing of ftfy is copied here: character maps, entity names and the mojibake pattern come from the package when the
tables are built. The tables are kept on disk under a name that holds the versions that they depend on.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from refinery.common.arrays import read_arrays, write_arrays
from refinery.common.packages import installed_version
from refinery.kernels.core.cache import CACHE
from refinery.kernels.core.charclass import CODE_POINTS
from refinery.kernels.unicode.unicode_fixes_mojibake import clues

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")

# Steps of ftfy that replace single characters, in its order.
MAPS = ("fix_latin_ligatures", "fix_character_width", "uncurl_quotes", "fix_line_breaks", "remove_control_chars")

# A word of `FixTables.info`: the mojibake signature in the low byte, and above it flags for the kernel.
MAPPED = 0x100  # becomes another string, perhaps empty
ALONE = 0x200  # suspicious beside any character
COMBINING = 0x400  # combining class other than 0: the order of these characters matters
SECOND = 0x800  # normalization may join it to the character before
FIRST = 0x1000  # normalization may join a later character to it or to a part of it

NAME_BITS = 17  # entity names are looked up in a bitmap of their hashes


class FixTables(NamedTuple):
    """Tables that a kernel reads, in the order of its arguments.

    info: uint16 per code point. classes: uint8 per code point, the canonical combining class. pairs: uint8, at
    `before << 8 | after` the meaning of two adjacent signatures: 0 nothing; 1 possible mojibake; n possible mojibake if
    the next signature satisfies `thirds[n << 8 | signature]`. mapped: int32, sorted, the code points with MAPPED; the
    replacement of the i-th is `pool[ends[i]:ends[i + 1]]` (UTF-8). names: bool, a bitmap of the hashes of entity names.
    longest: one element, the code points of the longest segment that ftfy fixes at once.
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


@lru_cache(maxsize=16)
def tables(form: Form | None, maps: tuple[str, ...] = MAPS) -> FixTables | None:
    """Tables for normalization `form` and some of the `MAPS`, in order; None if they cannot describe the installed ftfy."""
    versions = f"{sys.version_info[0]}.{sys.version_info[1]}-{unicodedata.unidata_version}"
    some = "" if maps == MAPS else f"-{sum(1 << MAPS.index(name) for name in maps)}"
    path = CACHE / f"ftfy-{form}{some}-{versions}-{installed_version('ftfy')}.arrow"
    try:
        return FixTables(*read_arrays(path, len(FixTables._fields)))
    except (OSError, ValueError):
        pass
    if not _understood():
        return None
    built = build(form, maps)
    try:
        aside = path.with_suffix(f".{os.getpid()}.tmp")
        write_arrays(aside, *built)
        os.replace(aside, path)
    except OSError:  # a read-only home costs only half a second per run
        pass
    return built


# The steps of ftfy 6: a release with further steps may change texts in ways unknown to the kernel.
STEPS = """unescape_html remove_terminal_escapes fix_encoding restore_byte_a0 replace_lossy_sequences
    decode_inconsistent_utf8 fix_c1_controls fix_latin_ligatures fix_character_width uncurl_quotes fix_line_breaks
    fix_surrogates remove_control_chars normalization max_decode_length explain""".split()


def _understood() -> bool:
    import ftfy
    from ftfy import chardata, fixes

    quotes = [regex.pattern for regex in (chardata.SINGLE_QUOTE_RE, chardata.DOUBLE_QUOTE_RE)]
    return (
        list(ftfy.TextFixerConfig._fields) == STEPS
        and ftfy.TextFixerConfig().unescape_html == "auto"
        and chardata.HTML_ENTITY_RE.pattern == "&#?[0-9A-Za-z]{1,24};"
        and fixes.ANSI_RE.pattern.startswith("\x1b\\[")
        and all(re.fullmatch(r"\[[^][\\]+\]", quote) for quote in quotes)
    )


def build(form: Form | None, maps: tuple[str, ...] = MAPS) -> FixTables:
    """Build the tables from ftfy and `unicodedata` for every code point; takes about 0.3 s."""
    import ftfy
    from ftfy.badness import BADNESS_RE

    everything = [chr(c) for c in range(CODE_POINTS)]
    classes = np.fromiter(map(unicodedata.combining, everything), np.uint8, CODE_POINTS)
    info, alone, pairs, thirds = clues(BADNESS_RE)
    info[alone] |= ALONE
    info[0x80:0xA0] |= ALONE  # C1 controls have a step of their own
    if form is not None:
        info[classes > 0] |= COMBINING
    if form in ("NFC", "NFKC"):
        first, second = joining(everything)
        info[first] |= FIRST
        info[second] |= SECOND
    becomes = replacements(form, everything, maps)
    mapped = np.array(sorted(becomes), np.int32)
    info[mapped] = (info[mapped] & 0xFF) | (info[mapped] & ALONE) | MAPPED
    encoded = [becomes[int(c)].encode() for c in mapped]
    longest = np.array([ftfy.TextFixerConfig().max_decode_length], np.int64)
    return FixTables(
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


def replacements(form: Form | None, everything: list[str], maps: tuple[str, ...] = MAPS) -> dict[int, str]:
    """Code points that ftfy's character maps or the normalization change, with their replacements after one round.

    Normalizing character by character is enough where the whole result is normalized.
    """
    from ftfy import chardata, fixes

    listed = {*chardata.LIGATURES, *chardata.WIDTH_MAP, *chardata.CONTROL_CHARS, *map(ord, "\r\x85\u2028\u2029")}
    text = "".join(everything)
    for regex in (chardata.SINGLE_QUOTE_RE, chardata.DOUBLE_QUOTE_RE):
        listed.update(ord(char) for match in regex.findall(text) for char in match)
    steps: list[Callable[[str], str]] = [getattr(fixes, name) for name in maps]

    def normalize(char: str) -> str:
        return char if form is None else unicodedata.normalize(form, char)

    becomes = {c: normalize(char) for c, char in enumerate(everything) if normalize(char) != char}
    for c in listed:
        char = everything[c]
        for step in steps:
            char = step(char)
        becomes[c] = normalize(char)
    return {c: char for c, char in becomes.items() if char != everything[c] and not 0xD800 <= c < 0xE000}


def joining(everything: list[str]) -> tuple[list[int], list[int]]:
    """Code points that canonical composition joins: possible first code points, and possible later ones.

    A composed letter counts as a possible first one: a mark below goes before its own mark above.
    """
    first, second = set(), set()
    for c, char in enumerate(everything):
        whole = unicodedata.normalize("NFD", char)
        if whole == char:
            continue
        first.add(c)
        parts = unicodedata.decomposition(char).split()
        if 0xAC00 <= c <= 0xD7A3:  # Hangul syllables decompose by arithmetic, which unicodedata does not report
            first.add(ord(unicodedata.normalize("NFC", whole[:-1])))
            second.add(ord(whole[-1]))
        elif len(parts) == 2 and unicodedata.normalize("NFC", char) == char:
            first.add(int(parts[0], 16))
            second.add(int(parts[1], 16))
    return sorted(first), sorted(second)


def name_hash(name: Iterable[int]) -> int:
    """Position of an entity's name (without `&` and `;`) in the bitmap; the kernel computes the same value."""
    place = 0
    for byte in name:
        place = (place * 31 + byte) & ((1 << NAME_BITS) - 1)
    return place


def entity_names() -> np.ndarray:
    """Bitmap of the hashes of the entity names that ftfy knows, bool (1 << NAME_BITS)."""
    from ftfy.chardata import HTML_ENTITIES

    names = np.zeros(1 << NAME_BITS, np.bool_)
    for name in HTML_ENTITIES:
        names[name_hash(name.strip("&;").encode())] = True
    return names
