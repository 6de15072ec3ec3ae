"""Find and replace links and IP addresses in one pass: Data-Juicer's default patterns without a regex engine.

A link is a head (`scheme:` with slashes, `www.`, or `host.tld/`) and a tail of at least two units, where a unit is
a character other than white space and `()<>`, or a parenthesised group nested at most twice. A backtracking engine
tries every position of the text as a start, and all ways to cut the tail. The kernel cuts the tail into units once,
from left to right: the match ends after the last unit that is allowed at the end, where backtracking first succeeds.
Starts are found backwards from the few places where a head can end, and addresses from the dot or colon behind their
first number. A tail that fails holds no other head, and neither heads nor groups are scanned more than a few times,
so the time is linear in the text.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pc
from refinery.kernels.core import arrow
from refinery.kernels.core.blocks import BLOCK, digits, equal_to, first_set, letters, wide
from refinery.kernels.core.charclass import DIGIT, RE_SPACE, WORD, classes
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.utf8 import before, decode
from refinery.kernels.text.patterns import IP_PATTERN, LINK_PATTERN, sub, whole_match_pieces
from refinery.kernels.text.replacing import replacer, template

LINKS, IPS = 0, 1  # what to replace
STOP, OPEN, LAST, INNER, WIDE = 0, 1, 2, 3, 4  # ends the tail; opens a group; allowed last; not allowed last; not ASCII

COLON, SLASH, DOT, DASH, PERCENT, PAREN, CLOSE = 0x3A, 0x2F, 0x2E, 0x2D, 0x25, 0x28, 0x29
BEFORE, AFTER = 5, 2  # context bytes around the byte under test


@lru_cache(maxsize=1)
def units() -> np.ndarray:
    """Kind of each byte in the tail of a link, uint8 (256)."""
    table = np.full(256, WIDE, np.uint8)
    table[:128] = LAST
    for char in "`![]{};:'\".,?":
        table[ord(char)] = INNER
    for char in "()<>":
        table[ord(char)] = STOP
    table[:128][(classes()[:128] & RE_SPACE) != 0] = STOP
    table[PAREN] = OPEN
    return table


@kernel
def _is_letter(cp):
    # `regex` folds the three others onto i, s and k.
    return 97 <= (cp | 32) <= 122 or cp == 0x130 or cp == 0x17F or cp == 0x212A


@kernel
def _is_host(cp):
    return _is_letter(cp) or 48 <= cp <= 57 or cp == DOT or cp == DASH


@kernel
def _word_before(data, i, low, classes):
    if i <= low:
        return False
    return (classes[decode(data, before(data, i, low))[0]] & WORD) != 0


@inlined
def _link_heads(data, i):
    """Mask of the bytes from i on at which a head may end (`www.`: start); no head is missed."""
    after = letters(data, i + 1) | digits(data, i + 1) | wide(data, i + 1)
    after |= equal_to(data, i + 1, SLASH) | equal_to(data, i + 1, PERCENT)
    wide1, wide2 = wide(data, i - 1), wide(data, i - 2)
    before = (letters(data, i - 1) | wide1) & (letters(data, i - 2) | wide2)
    dot = equal_to(data, i - 3, DOT) | equal_to(data, i - 4, DOT) | equal_to(data, i - 5, DOT)
    host = before & (dot | wide1 | wide2 | wide(data, i - 3) | wide(data, i - 4))
    www = _ws(data, i) & _ws(data, i + 1) & _ws(data, i + 2)
    return (equal_to(data, i, COLON) & after) | (equal_to(data, i, SLASH) & host) | www


@inlined
def _ws(data, i):
    return equal_to(data, i, 0x77) | equal_to(data, i, 0x57)


@inlined
def _first_numbers(data, i):
    """Mask of the bytes from i on that may be the first dot or colon of an address; some letters pass as digits."""
    dot = equal_to(data, i, DOT) & digits(data, i - 1) & digits(data, i + 1)
    before = letters(data, i - 1) | digits(data, i - 1) | wide(data, i - 1)
    after = letters(data, i + 1) | digits(data, i + 1) | wide(data, i + 1)
    return dot | (equal_to(data, i, COLON) & before & after)


@kernel
def _next(data, i, high, tables):
    """First position from i on, below high, where a match may be found, or high."""
    while i < high:
        if i < BEFORE or i + BLOCK + AFTER > len(data):  # at the edges of the buffer every byte is a candidate
            return i
        hits = _link_heads(data, i) if tables[0] == LINKS else _first_numbers(data, i)
        if hits:
            return min(i + first_set(hits), high)
        i += BLOCK
    return high


@kernel
def _group(data, i, high, units, classes):
    """End of the group that opens at i, or -1: `(`, characters and `(characters)`, `)`."""
    inner = -1  # where the inner group opened
    i += 1
    while i < high:
        kind = units[data[i]]
        after = i + 1
        if kind == OPEN:
            if inner >= 0:
                return -1
            inner = i
        elif data[i] == CLOSE:
            if inner < 0:
                return after
            if i == inner + 1:
                return -1
            inner = -1
        elif kind == STOP:
            return -1
        elif kind == WIDE:
            cp, after = decode(data, i)
            if classes[cp] & RE_SPACE:
                return -1
        i = after
    return -1


@kernel
def _tail(data, i, high, units, classes):
    """End of the tail that starts at i, or -1."""
    end = -1
    first = True
    while i < high:
        kind = units[data[i]]
        after = i + 1
        last = kind != INNER
        if kind == STOP:
            break
        if kind == OPEN:
            after = _group(data, i, high, units, classes)
            if after < 0:
                break
        elif kind == WIDE:
            cp, after = decode(data, i)
            if classes[cp] & RE_SPACE:
                break
            last = not (cp == 0xAB or cp == 0xBB or 0x2018 <= cp <= 0x2019 or 0x201C <= cp <= 0x201D)
        if last and not first:
            end = after
        first = False
        i = after
    return end


@kernel
def _scheme_start(data, colon, low, limit, classes):
    """Leftmost start from limit on of a scheme before the colon, at a word boundary; or -1."""
    i = colon
    while i > limit:
        back = before(data, i, limit)
        cp = decode(data, back)[0]
        if not (cp == DASH or classes[cp] & WORD):
            break
        i = back
    inside = _word_before(data, i, low, classes)
    while i < colon:
        cp, after = decode(data, i)
        if not inside and _is_letter(cp) and after < colon:
            return i
        inside = (classes[cp] & WORD) != 0
        i = after
    return -1


@kernel
def _scheme_end(data, colon, high, units, classes):
    i = colon + 1
    if i >= high:
        return -1
    if data[i] != SLASH:
        cp, after = decode(data, i)
        if _is_letter(cp) or 48 <= cp <= 57 or cp == PERCENT:
            return _tail(data, after, high, units, classes)
        return -1
    slashes = 1
    while slashes < 3 and i + slashes < high and data[i + slashes] == SLASH:
        slashes += 1
    while slashes > 0:  # fewer slashes in the head leave more for the tail
        end = _tail(data, i + slashes, high, units, classes)
        if end >= 0:
            return end
        slashes -= 1
    return -1


@kernel
def _host_start(data, slash, low, limit, classes):
    """Leftmost start from limit on of `host.tld` before the slash, at a word boundary; or -1."""
    i = slash
    letters = 0
    while True:
        if i <= limit or letters > 4:
            return -1
        i = before(data, i, limit)
        cp = decode(data, i)[0]
        if cp == DOT:
            break
        if not _is_letter(cp):
            return -1
        letters += 1
    if letters < 2:
        return -1
    dot = i
    while i > limit:
        back = before(data, i, limit)
        if not _is_host(decode(data, back)[0]):
            break
        i = back
    inside = _word_before(data, i, low, classes)
    while i < dot:
        cp, i_after = decode(data, i)
        word = (classes[cp] & WORD) != 0
        if word != inside:
            return i
        inside = word
        i = i_after
    return -1


@kernel
def _www_dot(data, i, low, high, classes):
    """Position after the dot of `www.`, `www7.` to `www123.` at i, or -1."""
    if i + 3 >= high or _word_before(data, i, low, classes):
        return -1
    for k in range(3):
        if data[i + k] | 32 != 0x77:
            return -1
    i += 3
    for _ in range(3):
        cp, after = decode(data, i)
        if not classes[cp] & DIGIT:
            break
        i = after
        if i >= high:
            return -1
    return i + 1 if data[i] == DOT else -1


@kernel
def _www(data, i, low, high, limit, units, classes):
    """Link that starts with `www.` at i, or the longer link `x-www.host.tld/` around it."""
    after = _www_dot(data, i, low, high, classes)
    if after < 0:
        return -1, -1
    slash = after
    while slash < high:
        cp, next_ = decode(data, slash)
        if not _is_host(cp):
            break
        slash = next_
    if slash < high and data[slash] == SLASH:
        start = _host_start(data, slash, low, limit, classes)
        if 0 <= start < i:
            end = _tail(data, slash + 1, high, units, classes)
            if end >= 0:
                return start, end
    return i, _tail(data, after, high, units, classes)


@kernel
def _is_octet(data, i, end):
    for k in range(i, end):
        if not 48 <= data[k] <= 57:
            return False
    if end - i == 3:
        hundreds, tens, ones = data[i], data[i + 1], data[i + 2]
        return hundreds == 0x31 or (hundreds == 0x32 and (tens < 0x35 or (tens == 0x35 and ones < 0x36)))
    return end - i == 1 or (end - i == 2 and data[i] != 0x30)


@kernel
def _v4(data, dot, high, limit):
    """Start, from limit on, and end of the address whose first number ends at this dot; end -1 without an address."""
    start = max(dot - 3, limit)
    while not _is_octet(data, start, dot):
        start += 1
        if start >= dot:
            return -1, -1
    i = dot + 1
    for _ in range(2):
        end = i
        while end < high and end < i + 3 and data[end] != DOT:
            end += 1
        if end >= high or data[end] != DOT or not _is_octet(data, i, end):
            return -1, -1
        i = end + 1
    for end in range(min(i + 3, high), i, -1):
        if _is_octet(data, i, end):
            return start, end
    return -1, -1


@kernel
def _is_hex(cp, classes):
    return 97 <= (cp | 32) <= 102 or (classes[cp] & DIGIT) != 0


@kernel
def _hex_end(data, i, high, classes):
    """End of the one to four hexadecimal digits at i; i when there are none."""
    for _ in range(4):
        if i >= high:
            break
        cp, after = decode(data, i)
        if not _is_hex(cp, classes):
            break
        i = after
    return i


@kernel
def _v6(data, colon, high, limit, classes):
    """Start, from limit on, and end of the address whose first group ends at this colon; end -1 without an address."""
    start = colon
    for _ in range(4):
        back = before(data, start, limit)
        if start <= limit or not _is_hex(decode(data, back)[0], classes):
            break
        start = back
    if start == colon:
        return -1, -1
    i = colon
    for _ in range(7):
        end = _hex_end(data, i + 1, high, classes)
        if i >= high or data[i] != COLON or end == i + 1:
            return -1, -1
        i = end
    return start, i


@kernel
def _match(data, i, low, high, limit, tables):
    """Start and end of the leftmost match for which `_next` may have stopped at i; the end is -1 without a match."""
    what, units, classes = tables
    b = data[i]
    if what == IPS:
        if b == DOT:
            return _v4(data, i, high, limit)
        if b == COLON:
            return _v6(data, i, high, limit, classes)
        return -1, -1
    if b == COLON:
        start = _scheme_start(data, i, low, limit, classes)
        return start, _scheme_end(data, i, high, units, classes) if start >= 0 else -1
    if b == SLASH:
        start = _host_start(data, i, low, limit, classes)
        return start, _tail(data, i + 1, high, units, classes) if start >= 0 else -1
    if b | 32 == 0x77:
        return _www(data, i, low, high, limit, units, classes)
    return -1, -1


_replace_rows = replacer(_next, _match)


@entry("uint8[] int64[] bool[] uint8[] int64[] uint8[] uint8[] int64[] int64 uint8[] uint8[] -> int64")
def replace(data, offsets, valid, out, out_offsets, state, literals, bounds, what, units, classes):
    """Kernel for `arrow.delta`: replace links or addresses (`what`; see `replacing.replacer`)."""
    return _replace_rows(data, offsets, valid, out, out_offsets, state, literals, bounds, (what, units, classes))


def clean_links(column: pa.Array | pa.ChunkedArray, repl: str) -> pa.Array:
    """`regex.sub(LINK_PATTERN, repl, text, flags=DOTALL)` of every text; NULL where nothing changes.

    A `repl` with other escapes than the whole match goes through the `regex` module, but only for texts with a link.
    Raises the `regex` module's errors when `repl` is no valid template.
    """
    pieces = whole_match_pieces(repl, groups=(0, 1))  # group 1 is the whole link
    return _clean(column, LINKS, LINK_PATTERN, pieces, repl)


def clean_ips(column: pa.Array | pa.ChunkedArray, repl: str) -> pa.Array:
    """`regex.sub(IP_PATTERN, repl, text, flags=DOTALL)` of every text, by the rules of `clean_links`."""
    return _clean(column, IPS, IP_PATTERN, whole_match_pieces(repl), repl)


def _clean(
    column: pa.Array | pa.ChunkedArray, what: int, pattern: str, pieces: list[str] | None, repl: str
) -> pa.Array:
    if pieces is not None:
        return arrow.delta(column, replace, *template(pieces), what, units(), classes())
    # Doubling every match changes exactly the texts that hold a match.
    matching = arrow.delta(column, replace, *template(["", "", ""]), what, units(), classes()).is_valid()
    return sub(pc.if_else(matching, column, None), pattern, repl)
