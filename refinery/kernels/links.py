"""Find and replace links in one pass: the default pattern of Data-Juicer's `clean_links_mapper` without a regex engine.

The pattern is a head (`scheme:` with slashes, `www.`, or `host.tld/`) and a tail of at least two units, where a unit is
a character other than white space and `()<>`, or a parenthesised group nested at most twice. A backtracking engine
tries every position of the text as a start, and all ways to cut the tail. Here the tail is cut into units once, from
left to right: the match ends after the last unit that may stand last, because that is where backtracking first
succeeds. Starts are found backwards from the few places where a head can end. No two heads share a character that
is scanned more than a fixed number of times, so the time is linear in the text.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
from numba import njit, uint8

from refinery.kernels import arrow
from refinery.kernels.arrow import CHANGED
from refinery.kernels.charclass import DIGIT, RE_SPACE, WORD, classes
from refinery.kernels.patterns import sub, whole_match_pieces
from refinery.kernels.utf8 import before, copy, decode, same

# The pattern that the kernel stands for (a fact about Data-Juicer 1.6.1), for the `regex` module with DOTALL.
PATTERN = (
    r"(?i)\b((?:[a-z][\w-]+:(?:\/{1,3}|[a-z0-9%])|www\d{0,3}[.]|[a-z0-9.\-]+[.][a-z]{2,4}\/)"
    r"(?:[^\s()<>]+|\(([^\s()<>]+|(\([^\s()<>]+\)))*\))+"
    r"(?:\(([^\s()<>]+|(\([^\s()<>]+\)))*\)|[^\s`!()\[\]{};:\'\".,<>?«»“”‘’]))"
)

STOP, OPEN, LAST, INNER, WIDE = 0, 1, 2, 3, 4  # ends the tail; opens a group; may stand last; may not; not ASCII

COLON, SLASH, DOT, DASH, PERCENT, PAREN, CLOSE = 0x3A, 0x2F, 0x2E, 0x2D, 0x25, 0x28, 0x29
WINDOW, BEFORE, AFTER = 64, 5, 2  # bytes tested at once, and the bytes that a test of one looks at around it


@lru_cache(maxsize=1)
def units() -> np.ndarray:
    """uint8 (256): what a byte is in the tail of a link."""
    table = np.full(256, WIDE, np.uint8)
    table[:128] = LAST
    for char in "`![]{};:'\".,?":
        table[ord(char)] = INNER
    for char in "()<>":
        table[ord(char)] = STOP
    table[:128][(classes()[:128] & RE_SPACE) != 0] = STOP
    table[PAREN] = OPEN
    return table


@njit(nogil=True, cache=True)
def _is_letter(cp):
    # The three others are what `regex` folds onto i, s and k.
    return 97 <= (cp | 32) <= 122 or cp == 0x130 or cp == 0x17F or cp == 0x212A


@njit(nogil=True, cache=True)
def _is_host(cp):
    return _is_letter(cp) or 48 <= cp <= 57 or cp == DOT or cp == DASH


@njit(nogil=True, cache=True)
def _word_before(data, i, low, classes):
    if i <= low:
        return False
    return (classes[decode(data, before(data, i, low))[0]] & WORD) != 0


@njit(nogil=True, cache=True, inline="always")
def _head_may_end(data, i):
    """A cheap test of byte i + BEFORE, never wrong when it says no. Written without branches, for vector code."""
    b, next1, next2 = data[i + 5], data[i + 6], data[i + 7]
    last1, last2, last3, last4, last5 = data[i + 4], data[i + 3], data[i + 2], data[i + 1], data[i]
    scheme = (
        (next1 == uint8(SLASH))
        | (next1 == uint8(PERCENT))
        | (uint8((next1 | uint8(32)) - uint8(97)) < uint8(26))
        | (uint8(next1 - uint8(48)) < uint8(10))
        | (next1 >= uint8(128))
    )
    letters = ((uint8((last1 | uint8(32)) - uint8(97)) < uint8(26)) | (last1 >= uint8(128))) & (
        (uint8((last2 | uint8(32)) - uint8(97)) < uint8(26)) | (last2 >= uint8(128))
    )
    dot = (last3 == uint8(DOT)) | (last4 == uint8(DOT)) | (last5 == uint8(DOT))
    wide = (last1 >= uint8(128)) | (last2 >= uint8(128)) | (last3 >= uint8(128)) | (last4 >= uint8(128))
    www = (
        ((b | uint8(32)) == uint8(119)) & ((next1 | uint8(32)) == uint8(119)) & ((next2 | uint8(32)) == uint8(119))
    )
    return ((b == uint8(COLON)) & scheme) | ((b == uint8(SLASH)) & letters & (dot | wide)) | www


@njit(nogil=True, cache=True)
def _any(block):
    found = uint8(0)  # stays eight bits wide: a wider type would cost the loop seven eighths of its vector width
    for k in range(WINDOW):
        found = uint8(found | uint8(_head_may_end(block, k)))
    return found != 0


@njit(nogil=True, cache=True)
def _next(data, i, high):
    """First position from i on, below high, where a head may end (or, for `www.`, start); else high."""
    while i < high:
        if i < BEFORE or i + WINDOW + AFTER > len(data):  # at the very edges of the buffer every byte is looked at
            return i
        if _any(data[i - BEFORE : i + WINDOW + AFTER]):
            for k in range(i, min(i + WINDOW, high)):
                b = data[k]
                if (b == COLON or b == SLASH or b | 32 == 0x77) and _head_may_end(data, k - BEFORE):
                    return k
        i += WINDOW
    return high


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def _tail(data, i, high, units, classes):
    """End of the tail that starts at i, or -1 when there is none."""
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


@njit(nogil=True, cache=True)
def _scheme_start(data, colon, low, limit, classes):
    """Leftmost start from limit on of a letter at a word boundary, word characters or dashes, up to the colon; or -1."""
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


@njit(nogil=True, cache=True)
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
    while slashes > 0:  # with fewer slashes in the head, one more is left for the tail
        end = _tail(data, i + slashes, high, units, classes)
        if end >= 0:
            return end
        slashes -= 1
    return -1


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def _www(data, i, low, high, limit, units, classes):
    """The link that starts with `www.` at i, or the longer one `x-www.host.tld/` around it."""
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


@njit(nogil=True, cache=True)
def _match(data, i, low, high, limit, units, classes):
    """Start and end of the leftmost link whose head ends (`www.`: starts) at i; the end is -1 when there is none."""
    if data[i] == COLON:
        start = _scheme_start(data, i, low, limit, classes)
        return start, _scheme_end(data, i, high, units, classes) if start >= 0 else -1
    if data[i] == SLASH:
        start = _host_start(data, i, low, limit, classes)
        return start, _tail(data, i + 1, high, units, classes) if start >= 0 else -1
    if data[i] | 32 == 0x77:
        return _www(data, i, low, high, limit, units, classes)
    return -1, -1


@njit(nogil=True, cache=True)
def emit(data, done, start, end, out, w, literals, bounds):
    """Write data[done:start], then the replacement of the match data[start:end]; position after it, -1 without room.

    The replacement is the pieces literals[bounds[k]:bounds[k + 1]] with the match itself between each two.
    """
    pieces = len(bounds) - 1
    if w + (start - done) + len(literals) + (pieces - 1) * (end - start) > len(out):
        return -1
    w = copy(data, done, start, out, w)
    for k in range(pieces):
        if k:
            w = copy(data, start, end, out, w)
        w = copy(literals, bounds[k], bounds[k + 1], out, w)
    return w


@njit(nogil=True, cache=True)
def _replace_row(data, low, high, out, w, literals, bounds, units, classes):
    """Write data[low:high] with its links replaced; whether there are any, and the position after it, -1 without room."""
    done = low
    i = _next(data, low, high)
    while i < high:
        start, end = _match(data, i, low, high, done, units, classes)
        if end >= 0:
            w = emit(data, done, start, end, out, w, literals, bounds)
            if w < 0:
                return True, w
            done = end
        i = _next(data, max(i + 1, done), high)
    if done == low:
        return False, w
    if w + high - done > len(out):
        return True, -1
    return True, copy(data, done, high, out, w)


@njit(nogil=True, cache=True)
def replace_links(data, offsets, valid, out, out_offsets, state, literals, bounds, units, classes):
    """Kernel for `arrow.delta`; `literals` and `bounds` as for `emit`."""
    w = 0
    for row in range(len(valid)):
        if valid[row]:
            low, high = offsets[row], offsets[row + 1]
            found, end = _replace_row(data, low, high, out, w, literals, bounds, units, classes)
            if end < 0:
                return -1
            if found and not same(data, low, high, out, w, end):
                state[row] = CHANGED
                w = end
        out_offsets[row + 1] = w
    return w


def template(pieces: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """`literals` (uint8) and `bounds` (int64) of `emit` for the pieces of a replacement."""
    encoded = [piece.encode() for piece in pieces]
    bounds = np.cumsum([0] + [len(piece) for piece in encoded], dtype=np.int64)
    return np.array(bytearray(b"".join(encoded)), np.uint8), bounds


def clean(column: pa.Array | pa.ChunkedArray, repl: str) -> pa.Array:
    """`regex.sub(PATTERN, repl, text, flags=DOTALL)` of every text; NULL where nothing changes.

    A `repl` that refers to groups inside the link, or holds other escapes, goes through the `regex` module, but only
    for texts with a link. Raises `regex.error` when it is not a valid template and a text has a link.
    """
    pieces = whole_match_pieces(repl, groups=(0, 1))  # group 1 is the whole link
    if pieces is not None:
        return arrow.delta(column, replace_links, *template(pieces), units(), classes())
    matching = arrow.delta(column, replace_links, *template(["", "\0"]), units(), classes()).is_valid()
    return sub(pa.compute.if_else(matching, column, None), PATTERN, repl)
