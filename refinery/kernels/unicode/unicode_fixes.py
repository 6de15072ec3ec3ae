"""Kernels for ftfy's fixes: they prove that a text is unchanged, or apply character maps and prove the result final.

ftfy fixes a segment (a line) round by round until nothing changes: entities, mojibake, character maps, normalization.
A normalized text without known entities, without a pair of characters that mojibake needs, and without mapped
characters is such a fixed point. A text that becomes a fixed point when every mapped character is replaced was fixed
in one round. Other texts are left to the rounds themselves (`once`), or to ftfy, segment by segment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from refinery.kernels.core.arrow import CHANGED, EXACT, UNCHANGED
from refinery.kernels.core.blocks import BLOCK, ampersands, controls, first_set, tabs_and_line_feeds, wide
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.utf8 import copy, decode
from refinery.kernels.unicode.unicode_fixes_tables import ALONE, COMBINING, FIRST, MAPPED, NAME_BITS, SECOND, FixTables

AMPERSAND, LESS, NEWLINE, RETURN, TAB, ESCAPE, BRACKET, HASH, SEMICOLON = b"&<\n\r\t\x1b[#;"
NAME_LENGTH = 24  # of an entity; longer entities stay
NAME_MASK = (1 << NAME_BITS) - 1
RARE = MAPPED | ALONE | COMBINING | SECOND

# Checks of a scan: all; all but the normalization; neither normalization nor pairs, because the caller knows that the
# text is no mojibake.
STRICT, LOOSE, TRUSTING = 0, 1, 2


@kernel
def _skip(data, i, end, info):
    """Position of the first byte from i on that is not plain ASCII: beyond ASCII, mapped, or `&`."""
    while i < end and i + BLOCK <= len(data):
        hits = wide(data, i) | ampersands(data, i) | (controls(data, i) & ~tabs_and_line_feeds(data, i))
        if hits:
            i += first_set(hits)
            if i >= end:
                return end
            b = data[i]
            if b >= 0x80 or b == AMPERSAND or info[b] & MAPPED:
                return i
            i += 1
        else:
            i += BLOCK
    while i < end:
        b = data[i]
        if b >= 0x80 or b == AMPERSAND or info[b] & MAPPED:
            break
        i += 1
    return min(i, end)


@kernel
def _entity(data, i, end, names):
    """True if `&` at i may begin an entity that ftfy replaces: a known name, or any number."""
    i += 1
    numeric = i < end and data[i] == HASH
    if numeric:
        i += 1
    start = i
    place = 0
    while i < end and i - start <= NAME_LENGTH:
        b = int(data[i])
        if not (48 <= b <= 57 or 65 <= b <= 90 or 97 <= b <= 122):
            break
        place = (place * 31 + b) & NAME_MASK
        i += 1
    return 0 < i - start <= NAME_LENGTH and i < end and data[i] == SEMICOLON and (numeric or names[place])


@kernel
def _markup(data, start, end, longest):
    """Position from which entities are not replaced: the line of the first `<`, or the end.

    In a text that may have lines of several segments, the position of `<` itself: possibly too late, never too early.
    """
    i = start
    while i < end and data[i] != LESS:
        i += 1
    if i == end or end - start > longest:
        return i
    while i > start and data[i - 1] != NEWLINE:
        i -= 1
    return i


@kernel
def _completed(data, i, end, kind, info, thirds):
    """True if a pair of this kind, which ends before i, is followed by a signature that mojibake needs."""
    if kind == 1 or i >= end:
        return kind == 1
    cp, _ = decode(data, i)
    return thirds[kind << 8 | (info[cp] & 0xFF)]


@kernel
def _scan(data, start, end, markup, mode, info, classes, pairs, thirds, names, longest):
    """Check data[start:end]: UNCHANGED when ftfy leaves it alone, CHANGED when ftfy only replaces mapped characters.

    EXACT when another check of `mode` fails. Entities are replaced before position `markup`; -1: find it.
    """
    verdict = UNCHANGED
    before = 0  # signature of the last code point
    open_first = False  # normalization may join a later character to the last one of combining class 0
    order = 0  # combining class of the last code point
    i = start
    while i < end:
        b = data[i]
        if b < 0x80:
            kind = int(pairs[before << 8 | (info[b] & 0xFF)])
            if kind and mode != TRUSTING and _completed(data, i + 1, end, kind, info, thirds):
                return EXACT
            if b == AMPERSAND:
                if _entity(data, i, end, names):
                    if markup < 0:
                        markup = _markup(data, start, end, longest)
                    if i < markup:
                        return EXACT
            elif info[b] & MAPPED:
                # a terminal escape; a character beyond ASCII may become part of one
                if b == ESCAPE and i + 1 < end and (data[i + 1] == BRACKET or data[i + 1] >= 0x80):
                    return EXACT
                verdict = CHANGED
            i = _skip(data, i + 1, end, info)
            last = info[data[i - 1]]
            before = last & 0xFF
            open_first = last & FIRST != 0
            order = 0
            continue
        cp, i = decode(data, i)
        word = info[cp]
        if word | before == 0:
            open_first = False
            order = 0
            continue
        signature = word & 0xFF
        kind = int(pairs[before << 8 | signature])
        if kind and mode != TRUSTING and _completed(data, i, end, kind, info, thirds):
            return EXACT
        before = signature
        if word & RARE:
            if word & ALONE and (mode != TRUSTING or cp < 0xA0):
                return EXACT
            if word & MAPPED:
                verdict = CHANGED
            elif word & SECOND and open_first and mode == STRICT:
                return EXACT
            elif word & COMBINING:
                if order > classes[cp] and mode == STRICT:
                    return EXACT
                order = classes[cp]
                continue
        open_first = word & FIRST != 0
        order = 0
    return verdict


@kernel
def _place(mapped, cp):
    """Index of cp in `mapped`, which must hold it."""
    low, high = 0, len(mapped) - 1
    while low < high:
        middle = (low + high) // 2
        if mapped[middle] < cp:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _rewrite(data, start, end, out, w, info, mapped, ends, pool):
    """Write data[start:end] with mapped characters replaced at out[w:]; returns the position after, -1 without room."""
    i = start
    while i < end:
        here = i
        cp = 0
        while i < end:  # to the next mapped character
            if data[i] < 0x80:
                i = _skip(data, i, end, info)
                if i == end:
                    break
            cp, after = decode(data, i)
            if info[cp] & MAPPED:
                break
            i = after
        if w + i - here > len(out):
            return -1
        w = copy(data, here, i, out, w)
        if i == end:
            break
        i = after
        if cp == RETURN and i < end and data[i] == NEWLINE:
            continue
        at = _place(mapped, cp)
        if w + ends[at + 1] - ends[at] > len(out):
            return -1
        w = copy(pool, ends[at], ends[at + 1], out, w)
    return w


@kernel
def _fix(data, start, end, markup, out, w, info, classes, pairs, thirds, mapped, ends, pool, names, longest):
    """Fix data[start:end] to out[w:]; returns the state and the position after the output, -1 without room."""
    verdict = _scan(data, start, end, markup, STRICT, info, classes, pairs, thirds, names, longest)
    if verdict != CHANGED:
        return verdict, w
    if markup < 0:
        if end - start > longest:  # segments may end within a line
            return EXACT, w
        markup = _markup(data, start, end, longest)
    markup = min(max(markup, start), end)
    middle = _rewrite(data, start, markup, out, w, info, mapped, ends, pool)
    if middle < 0:
        return EXACT, middle
    after = _rewrite(data, markup, end, out, middle, info, mapped, ends, pool)
    if after < 0:
        return EXACT, after
    if _scan(out, w, after, middle, STRICT, info, classes, pairs, thirds, names, longest) != UNCHANGED:
        return EXACT, w
    return CHANGED, after


@entry(
    "uint8[] int64[] bool[] int64 uint8[] int64[] uint8[] uint16[] uint8[] uint8[] bool[] int32[] int32[] uint8[] bool[] int64[] -> int64"
)
def _fix_all(
    data,
    offsets,
    valid,
    markup,
    out,
    out_offsets,
    state,
    info,
    classes,
    pairs,
    thirds,
    mapped,
    ends,
    pool,
    names,
    longest,
):
    w = 0
    for row in range(len(valid)):
        if valid[row]:
            state[row], w = _fix(
                data, offsets[row], offsets[row + 1], markup, out, w,
                info, classes, pairs, thirds, mapped, ends, pool, names, longest[0],
            )  # fmt: skip
            if w < 0:
                return -1
        out_offsets[row + 1] = w
    return w


@entry("uint8[] int64 uint8[] uint16[] uint8[] uint8[] bool[] int32[] int32[] uint8[] bool[] int64[] -> int64")
def _once(data, mode, out, info, classes, pairs, thirds, mapped, ends, pool, names, longest):
    if _scan(data, 0, len(data), 0, mode, info, classes, pairs, thirds, names, longest[0]) == EXACT:
        return -2
    return _rewrite(data, 0, len(data), out, 0, info, mapped, ends, pool)


@entry("uint8[] int64 int64[] -> int64 int64")
def _cut(data, longest, bounds):
    """Write the ends of ftfy's segments; returns their number and the start of the first with `<` (else the end)."""
    count = 0
    length = 0
    markup = -1
    for i in range(len(data)):
        b = data[i]
        if b & 0xC0 != 0x80:
            if length == longest:
                count += 1
                bounds[count] = i
                length = 0
            length += 1
        if b == LESS and markup < 0:
            markup = bounds[count]
        if b == NEWLINE or i + 1 == len(data):
            count += 1
            bounds[count] = i + 1
            length = 0
    return count, markup if markup >= 0 else len(data)


def fix_rows(data: np.ndarray, offsets: np.ndarray, valid: np.ndarray, *rest: Any, markup: int = -1) -> int:
    """Kernel for `arrow.delta`, given `FixTables`: fix texts as ftfy does; EXACT where a map is not enough.

    `markup`: the place in `data` from which entities stay; -1: in each text from the line of the first `<`.
    """
    data = data.view()
    data.flags.writeable = False
    return _fix_all(data, offsets, valid, markup, *rest)


def once(text: str, mode: int, tables: FixTables) -> str | None:
    """Replace the mapped characters of `text`; None where it may be mojibake or a terminal escape.

    `mode`: LOOSE, or TRUSTING when the text is known to be no mojibake.
    """
    if not text:
        return text
    data = np.frombuffer(text.encode(), np.uint8)
    room = len(data) + 64
    while (used := _once(data, mode, out := np.empty(room, np.uint8), *tables)) == -1:
        room *= 2
    return out[:used].tobytes().decode() if used >= 0 else None


def by_segments(text: str, tables: FixTables, exact: Callable[[str, bool], str], place: int = -1) -> str:
    """Fix `text` with kernels where they suffice, and the remaining segments by `exact(segment, entities)`.

    `entities`: True if `exact` must replace entities in the segment. `place`: of the byte from which they stay; -1: the
    line of the first `<`.
    """
    data = np.frombuffer(text.encode(), np.uint8)
    bounds = np.zeros(np.count_nonzero(data == NEWLINE) + len(data) // int(tables.longest[0]) + 2, np.int64)
    count, markup = _cut(data, tables.longest[0], bounds)
    markup = markup if place < 0 else place
    valid = np.ones(count, np.bool_)
    state = np.zeros(count, np.uint8)
    out_bounds = np.zeros(count + 1, np.int64)
    room = len(data) + 64
    while _fix_all(data, bounds, valid, markup, out := np.empty(room, np.uint8), out_bounds, state, *tables) < 0:
        room *= 2
    pieces: list[bytes] = []
    done = 0
    for i in np.flatnonzero(state != UNCHANGED):
        start, end = int(bounds[i]), int(bounds[i + 1])
        pieces.append(data[done:start].tobytes())
        if state[i] == CHANGED:
            pieces.append(out[out_bounds[i] : out_bounds[i + 1]].tobytes())
        else:
            pieces.append(exact(data[start:end].tobytes().decode(), start < markup).encode())
        done = end
    pieces.append(data[done:].tobytes())
    return b"".join(pieces).decode()
