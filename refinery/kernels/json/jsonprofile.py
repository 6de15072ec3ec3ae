"""Kernel that sees kinds and bounds of values of JSON lines, as a tree of fields: `refinery.common.field_profile`.

A node is a field: a member of a node's objects, or the elements of its arrays. Node 0 is the line. Of its members only
those that Python has marked WANTED are looked into.
"""

from __future__ import annotations

import numpy as np

from refinery.common.field_profile import MOST_MEMBERS
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.json.jsonkeys import hash_key
from refinery.kernels.json.jsontext import put_string, skip_space, skip_string, skip_value

# Columns of a node.
PARENT, KEY, KEY_END, FLAGS, LOW, HIGH, HUGE, WHOLE, SCALE, DIGITS, CHILDREN, WANTED = range(12)
COLUMNS = 12
# Flags of a node.
NULL, BOOLEAN, TEXT, INTEGER, LARGE, INEXACT, DECIMAL, SPECIAL, ARRAY, OBJECT, WIDE = (1 << bit for bit in range(11))
# Values of WANTED.
UNKNOWN, YES, NO = 0, 1, 2
# Reasons for which the kernel stops at a line: it has seen all; a member of lines is new; no room.
DONE, NEW, FULL = 0, 1, 2
# Places of `counts`: nodes, bytes of keys, and integers beyond 64 bits.
NODES, KEYS, BIG = 0, 1, 2
# Longest exponent that is read.
_FAR = 100_000
# 2**64 - 1 is ten times this and 5.
_TENTH = np.uint64((2**64 - 1) // 10)
_MOST = MOST_MEMBERS
_NO_KEY = -1
_STOP, _SKIP = -1, -2


@kernel
def _is_node(nodes, node, parent, keys, key, start, end):
    """True if a node is the member key[start:end] of the parent; start -1: its elements."""
    if nodes[node, PARENT] != parent:
        return False
    first, last = nodes[node, KEY], nodes[node, KEY_END]
    if start < 0 or first < 0:
        return start < 0 and first < 0
    if last - first != end - start:
        return False
    for k in range(end - start):
        if keys[first + k] != key[start + k]:
            return False
    return True


@kernel
def _add_node(nodes, counts, keys, parent, key, start, end):
    """Add a node; returns its number, or _STOP without room."""
    node, place = counts[NODES], counts[KEYS]
    if node == len(nodes) or (start >= 0 and place + (end - start) > len(keys)):
        return _STOP
    for k in range(len(nodes[node])):
        nodes[node, k] = 0
    nodes[node, PARENT], nodes[node, KEY], nodes[node, KEY_END] = parent, _NO_KEY, _NO_KEY
    if start >= 0:
        for k in range(end - start):
            keys[place + k] = key[start + k]
        nodes[node, KEY], nodes[node, KEY_END] = place, place + (end - start)
        counts[KEYS] += end - start
        nodes[parent, CHILDREN] += 1
    counts[NODES] += 1
    return node


@inlined
def _place(key, start, end, parent, mask):
    """Place in the table where the search for a node begins."""
    hashed = hash_key(key, start, end, parent) if start >= 0 else np.uint64(parent) * np.uint64(0x9E3779B185EBCA87)
    return np.int64((hashed ^ (hashed >> np.uint64(32))) & np.uint64(mask))


@kernel
def _node(nodes, table, counts, keys, parent, key, start, end):
    """Number of the node of a member, added if it is new; _STOP without room, _SKIP if the parent has too many."""
    mask = len(table) - 1
    at = _place(key, start, end, parent, mask)
    while table[at] > 0:
        if _is_node(nodes, table[at] - 1, parent, keys, key, start, end):
            return table[at] - 1
        at = (at + 1) & mask
    if start >= 0 and parent > 0 and nodes[parent, CHILDREN] >= _MOST:
        nodes[parent, FLAGS] |= WIDE
        return _SKIP
    if 2 * counts[NODES] >= len(table):
        return _STOP
    node = _add_node(nodes, counts, keys, parent, key, start, end)
    if node >= 0:
        table[at] = node + 1
    return node


@kernel
def _member(data, start, end, nodes, table, counts, keys, parent, text):
    """The node of the member whose key is data[start:end], without its quotes."""
    for k in range(start, end):
        if data[k] == 92:
            if end - start + 64 > len(text):
                return _STOP
            _, size = put_string(data, start - 1, end + 1, text, 0)
            return _node(nodes, table, counts, keys, parent, text, 0, size)
    return _node(nodes, table, counts, keys, parent, data, start, end)


@inlined
def _is_exact(value):
    """True if a DOUBLE holds the uint64."""
    while value > np.uint64(1 << 53) and value & np.uint64(1) == 0:
        value >>= np.uint64(1)
    return value <= np.uint64(1 << 53)


@kernel
def _see_integer(data, i, end, nodes, node, counts, big):
    """See the integer data[i:end]; returns False without room for one beyond 64 bits."""
    negative = data[i] == 45
    first = i + 1 if negative else i
    value, large = np.uint64(0), end - first > 20
    for k in range(first, first if large else end):
        digit = np.uint64(data[k] - 48)
        if value > _TENTH or (value == _TENTH and digit > np.uint64(5)):
            large = True
        value = value * np.uint64(10) + digit
    if large or (negative and value > np.uint64(1 << 63)):
        if counts[BIG] == len(big):
            return False
        big[counts[BIG], 0], big[counts[BIG], 1], big[counts[BIG], 2] = node, i, end
        counts[BIG] += 1
        return True
    if not _is_exact(value):
        nodes[node, FLAGS] |= INEXACT
    if not negative and value >= np.uint64(1 << 63):
        signed = np.int64(value - np.uint64(1 << 63))
        if nodes[node, FLAGS] & LARGE == 0 or signed > nodes[node, HUGE]:
            nodes[node, HUGE] = signed
        nodes[node, FLAGS] |= LARGE
        value = np.uint64((1 << 63) - 1)
    signed = np.int64(np.uint64(0) - value) if negative else np.int64(value)
    seen = nodes[node, FLAGS] & INTEGER != 0
    if not seen or signed < nodes[node, LOW]:
        nodes[node, LOW] = signed
    if not seen or signed > nodes[node, HIGH]:
        nodes[node, HIGH] = signed
    nodes[node, FLAGS] |= INTEGER
    return True


@kernel
def _see_decimal(data, i, end, nodes, node):
    """See the number data[i:end], which has a fraction or an exponent."""
    nodes[node, FLAGS] |= DECIMAL
    point, digits, first, last = -1, 0, -1, -1
    if data[i] == 45:
        i += 1
    while i < end and data[i] != 101 and data[i] != 69:
        if data[i] == 46:
            point = digits
        else:
            if data[i] != 48:
                first = digits if first < 0 else first
                last = digits
            digits += 1
        i += 1
    point = digits if point < 0 else point
    exponent, sign = 0, 1
    for k in range(i + 1, end):
        if data[k] == 45:
            sign = -1
        elif data[k] != 43 and exponent < _FAR:
            exponent = 10 * exponent + (data[k] - 48)
    if first < 0:
        return
    nodes[node, WHOLE] = max(nodes[node, WHOLE], point - first + sign * exponent)
    nodes[node, SCALE] = max(nodes[node, SCALE], last + 1 - point - sign * exponent)
    nodes[node, DIGITS] = max(nodes[node, DIGITS], last + 1 - first)


@kernel
def _see_scalar(data, i, end, nodes, node, counts, big):
    """See the scalar data[i:end]; returns False without room."""
    b = data[i]
    if b == 34:
        nodes[node, FLAGS] |= TEXT
    elif b == 110:
        nodes[node, FLAGS] |= NULL
    elif b == 116 or b == 102:
        nodes[node, FLAGS] |= BOOLEAN
    elif b == 78 or b == 73 or (b == 45 and data[i + 1] == 73):
        nodes[node, FLAGS] |= SPECIAL
    else:
        for k in range(i, end):
            if data[k] == 46 or data[k] == 101 or data[k] == 69:
                _see_decimal(data, i, end, nodes, node)
                return True
        return _see_integer(data, i, end, nodes, node, counts, big)
    return True


@kernel
def _see_line(data, i, end, nodes, table, counts, keys, big, stack, text):
    """See the object data[i:end], valid JSON; returns DONE, NEW or FULL. A line may be seen several times."""
    i = skip_space(data, i, end)
    node, depth = 0, 0
    while i < end:
        b = data[i]
        if node == _SKIP or (depth == 1 and nodes[node, WANTED] == NO):
            i = skip_value(data, i, end)
        elif b == 123 or b == 91:
            if depth == len(stack):
                return FULL
            nodes[node, FLAGS] |= OBJECT if b == 123 else ARRAY
            stack[depth] = node if b == 123 else -1 - node
            depth += 1
            i += 1
        else:
            after = skip_value(data, i, end)
            if not _see_scalar(data, i, after, nodes, node, counts, big):
                return FULL
            i = after
        i = skip_space(data, i, end)
        while depth > 0 and i < end and (data[i] == 125 or data[i] == 93):
            depth -= 1
            i = skip_space(data, i + 1, end)
        if depth == 0 or i >= end:
            return DONE
        if data[i] == 44:
            i = skip_space(data, i + 1, end)
        if stack[depth - 1] < 0:
            node = _node(nodes, table, counts, keys, -1 - stack[depth - 1], text, -1, -1)
        else:
            after = skip_string(data, i, end)
            if after < 0:
                return DONE
            node = _member(data, i + 1, after - 1, nodes, table, counts, keys, stack[depth - 1], text)
            i = skip_space(data, skip_space(data, after, end) + 1, end)
        if node == _STOP:
            return FULL
        if depth == 1 and node >= 0 and nodes[node, WANTED] == UNKNOWN:
            return NEW
    return DONE


@entry("uint8[] int64[] int64 int64[,] int64[] int64[] uint8[] int64[,] int64[] uint8[] -> int64 int64")
def see_lines(data, offsets, first, nodes, table, counts, keys, big, stack, text):
    """See the lines data[offsets[k]:offsets[k + 1]] from number `first` on, all valid JSON objects.

    nodes: int64 (room, COLUMNS). table: int64, its length a power of two; a node's number plus one, 0 in free places. counts:
    int64 (3). keys: bytes of the members' names. big: int64 (room, 3), node, start and end of integers beyond 64 bits.
    stack: int64 (MAX_DEPTH), text: uint8, scratch. Returns the line at which it has stopped, and DONE, NEW or FULL.
    """
    for k in range(first, len(offsets) - 1):
        reason = _see_line(data, offsets[k], offsets[k + 1], nodes, table, counts, keys, big, stack, text)
        if reason != DONE:
            return k, reason
    return len(offsets) - 1, DONE


@entry("int64[,] int64[] int64[] uint8[]")
def place_nodes(nodes, table, counts, keys):
    """Enter all nodes into an empty table."""
    mask = len(table) - 1
    for node in range(1, counts[NODES]):
        at = _place(keys, nodes[node, KEY], nodes[node, KEY_END], nodes[node, PARENT], mask)
        while table[at] > 0:
            at = (at + 1) & mask
        table[at] = node + 1
