"""Detection of JSON objects that may repeat a key, of which readers take the last."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.blocks import load_word
from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.core.memory import byte_at
from refinery.kernels.json.jsontext import put_string

NEW, REPEATED, FULL = 0, 1, 2

# Initial room for the keys of a line; a line with more keys makes room for twice its number.
ROOM = 256
# A longer escaped key counts as repeated.
LONGEST = 1024

_P1, _P2 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F)


@inlined
def _mixed(state, word):
    x = (state ^ word) * _P2
    return (x ^ (x >> np.uint64(29))) * _P1


@inlined
def _tail(data, i, end):
    """Bytes data[i:end], fewer than eight, as a word."""
    if i + 8 <= len(data):
        return load_word(data, i) & ((np.uint64(1) << np.uint64(8 * (end - i))) - np.uint64(1))
    word = np.uint64(0)
    for k in range(end - i):
        word |= np.uint64(byte_at(data, i + k)) << np.uint64(8 * k)
    return word


@inlined
def _backslashes(word):
    """Word that is nonzero if one of its bytes is a backslash."""
    x = word ^ np.uint64(0x5C5C5C5C5C5C5C5C)
    return (x - np.uint64(0x0101010101010101)) & ~x & np.uint64(0x8080808080808080)


@inlined
def _hash(data, i, end, seed):
    """Hash of the bytes data[i:end], and a number that is nonzero if one of them is a backslash."""
    state = _mixed(np.uint64(seed) + _P1, np.uint64(end - i))
    escapes = np.uint64(0)
    while i + 8 <= end:
        word = load_word(data, i)
        escapes |= _backslashes(word)
        state = _mixed(state, word)
        i += 8
    if i < end:
        word = _tail(data, i, end)
        escapes |= _backslashes(word)
        state = _mixed(state, word)
    return state ^ (state >> np.uint64(32)), escapes


@kernel
def hash_key(data, i, end, owner):
    """Hash of the key data[i:end] of an object; escapes are not decoded."""
    return _hash(data, i, end, owner)[0]


@kernel
def _hash_escaped(data, i, end, seed, text):
    """Hash of a key with its escapes decoded; 0 when the key is too long."""
    if end - i > LONGEST:
        return np.uint64(0)
    _, size = put_string(data, i - 1, end + 1, text, 0)
    return _hash(text, 0, size, seed)[0]


@inlined
def remember(data, i, end, owner, table, used, count, text):
    """Remember the key data[i:end], without its quotes, of object number `owner` of a line.

    table: uint64, its length a power of two, 0 in free slots. used: int64, the `count` slots that the line has taken
    so far. text: uint8 (LONGEST + 2 * BLOCK), scratch. Returns NEW, REPEATED (also for a key that is not compared, as
    it is too long or its hash is 0) or FULL.
    """
    key, escapes = _hash(data, i, end, owner)
    if escapes != 0:
        key = _hash_escaped(data, i, end, owner, text)
    if key == 0:
        return REPEATED
    mask = len(table) - 1
    at = np.int64(key & np.uint64(mask))
    while table[at] != 0 and table[at] != key:
        at = (at + 1) & mask
    if table[at] == key:
        return REPEATED
    if count == len(used):
        return FULL
    table[at] = key
    used[count] = at
    return NEW


@inlined
def forget(table, used, count):
    """Make the table empty again."""
    for k in range(count):
        table[used[k]] = np.uint64(0)
