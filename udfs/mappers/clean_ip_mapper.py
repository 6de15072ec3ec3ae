"""IP addresses; a kernel, because RE2 needs eight times as long and has another idea of a digit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from numba import njit, uint8

from refinery.kernels import arrow, patterns
from refinery.kernels.arrow import CHANGED
from refinery.kernels.charclass import DIGIT, classes
from refinery.kernels.links import emit, template
from refinery.kernels.utf8 import before, copy, decode, same

OPERATOR = {
    "doc": (
        "Replace IPv4 addresses and IPv6 addresses of eight written groups. There are no boundaries: 999.1.1.1 leaves a 9 "
        "and 1.2.3.456 a 6; a leading zero is not part of an address, and ::1 is none. A pattern replaces the default "
        "one; it is for the regex module with DOTALL, and may be written as r'...'."
    ),
    "version": 1,
    "peer": "clean_ip_mapper of Data-Juicer 1.6.1",
    "params": {
        "pattern": {"type": "regex", "default": None, "nullable": True, "doc": "What to replace; null: IP addresses."},
        "repl": {"type": "str", "default": "", "doc": "What stands in its place; \\g<0> is what was found, \\1 a group."},
    },
    "functions": {
        "clean_ip_delta": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "clean",
        },
        "clean_ip_pattern_delta": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR"],
            "returns": "VARCHAR",
            "runs": "python",
            "call": "clean_pattern",
        },
    },
    "checks": "problems",
    "sql": """
        SELECT {% if pattern is none %}
            clean_ip_delta({{ text }}, {{ repl | lit }}) AS delta
        {% else %}
            clean_ip_pattern_delta({{ text }}, {{ pattern | lit }}, {{ repl | lit }}) AS delta
        {% endif %}
    """,
    "examples": [
        {"text": "from 10.0.0.1 to 192.168.1.255", "out": "from  to "},
        {"text": "at 2001:db8:0:0:0:0:0:FFfe", "params": {"repl": "<IP>"}, "out": "at <IP>"},
        {"text": "999.1.1.1 and 1.2.3.456", "params": {"repl": "_"}, "out": "9_ and _6"},
        {"text": "01.2.3.4", "params": {"repl": "_"}, "out": "0_"},
        {"text": "::1 and ::ffff:1.2.3.4 and fe80::1", "out": "::1 and ::ffff: and fe80::1"},
        {"text": "on 8.8.8.8", "params": {"repl": "[\\g<0>]"}, "out": "on [8.8.8.8]"},
        {"text": "release 1.2.3", "out": "release 1.2.3"},
        {"text": "ip=8.8.4.4;", "params": {"pattern": "r'ip=([0-9.]+)'", "repl": "\\1"}, "out": "8.8.4.4;"},
    ],
}

# The default pattern (a fact about Data-Juicer 1.6.1); its \d is any decimal digit of Unicode.
PATTERN = (
    r"(?:(?:1[0-9][0-9]\.)|(?:2[0-4][0-9]\.)|(?:25[0-5]\.)|(?:[1-9][0-9]\.)|(?:[0-9]\.)){3}"
    r"(?:(?:1[0-9][0-9])|(?:2[0-4][0-9])|(?:25[0-5])|(?:[1-9][0-9])|(?:[0-9]))"
    r"|([\da-fA-F]{1,4}:){7}[\da-fA-F]{1,4}"
)

DOT, COLON, WINDOW = 0x2E, 0x3A, 64


@njit(nogil=True, cache=True)
def _is_octet(data, i, end):
    for k in range(i, end):
        if not 48 <= data[k] <= 57:
            return False
    if end - i == 3:
        return data[i] == 0x31 or (data[i] == 0x32 and (data[i + 1] < 0x35 or data[i + 1] == 0x35 and data[i + 2] < 0x36))
    return end - i == 1 or (end - i == 2 and data[i] != 0x30)


@njit(nogil=True, cache=True)
def _v4(data, dot, high, limit):
    """Start, from limit on, and end of the address whose first number ends at this dot; the end is -1 without one."""
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


@njit(nogil=True, cache=True)
def _is_hex(cp, classes):
    return 97 <= (cp | 32) <= 102 or (classes[cp] & DIGIT) != 0


@njit(nogil=True, cache=True)
def _hex_end(data, i, high, classes):
    """End of the one to four digits at i; i when there is none."""
    for _ in range(4):
        if i >= high:
            break
        cp, after = decode(data, i)
        if not _is_hex(cp, classes):
            break
        i = after
    return i


@njit(nogil=True, cache=True)
def _v6(data, colon, high, limit, classes):
    """Start, from limit on, and end of the address whose first group ends at this colon; the end is -1 without one."""
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


@njit(nogil=True, cache=True)
def _any(block):
    """Whether a dot or colon between two digits is in the block, its first and last byte aside; never wrong with no."""
    found = uint8(0)  # eight bits wide, and no branches: the loop becomes vector code
    for k in range(WINDOW):
        last, b, next_ = block[k], block[k + 1], block[k + 2]
        dot = (b == uint8(DOT)) & (uint8(last - uint8(48)) < uint8(10)) & (uint8(next_ - uint8(48)) < uint8(10))
        # Digits, letters up to f, and whatever is not ASCII; a few signs more do no harm.
        wide = ((last >= uint8(128)) | (uint8((last | uint8(32)) - uint8(48)) < uint8(55))) & (
            (next_ >= uint8(128)) | (uint8((next_ | uint8(32)) - uint8(48)) < uint8(55))
        )
        found = uint8(found | uint8(dot | ((b == uint8(COLON)) & wide)))
    return found != 0


@njit(nogil=True, cache=True)
def _replace_row(data, low, high, out, w, literals, bounds, classes):
    """Write data[low:high] with its addresses replaced; whether there are any, and the position after it, -1 without room."""
    done = low
    i = low + 1
    checked = i
    while i < high - 1:
        if i >= checked and i + WINDOW < len(data):
            if not _any(data[i - 1 : i + WINDOW + 1]):
                i += WINDOW
                continue
            checked = i + WINDOW
        end = -1
        if data[i] == DOT and 48 <= data[i - 1] <= 57 and i > done:
            start, end = _v4(data, i, high, done)
        elif data[i] == COLON and i > done:
            start, end = _v6(data, i, high, done, classes)
        if end >= 0:
            w = emit(data, done, start, end, out, w, literals, bounds)
            if w < 0:
                return True, w
            done = end
            i = end
        else:
            i += 1
    if done == low:
        return False, w
    if w + high - done > len(out):
        return True, -1
    return True, copy(data, done, high, out, w)


@njit(nogil=True, cache=True)
def _replace(data, offsets, valid, out, out_offsets, state, literals, bounds, classes):
    w = 0
    for row in range(len(valid)):
        if valid[row]:
            low, high = offsets[row], offsets[row + 1]
            found, end = _replace_row(data, low, high, out, w, literals, bounds, classes)
            if end < 0:
                return -1
            if found and not same(data, low, high, out, w, end):
                state[row] = CHANGED
                w = end
        out_offsets[row + 1] = w
    return w


def clean(column: pa.Array | pa.ChunkedArray, repl: str) -> pa.Array:
    """`regex.sub(PATTERN, repl, text, flags=DOTALL)` of every text; NULL where nothing changes."""
    pieces = patterns.whole_match_pieces(repl)
    if pieces is None:
        return patterns.sub(column, PATTERN, repl)
    return arrow.delta(column, _replace, *template(pieces), classes())


def clean_pattern(column: pa.Array | pa.ChunkedArray, pattern: str, repl: str) -> pa.Array:
    """The same with the user's pattern, which may be written as r'...' or r"..."."""
    return patterns.sub(column, patterns.unwrap(pattern), repl)


def problems(params: Mapping[str, Any]) -> list[str]:
    """What is wrong with `pattern` or `repl`."""
    return patterns.problems(params, PATTERN)
