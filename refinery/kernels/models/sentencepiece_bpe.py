"""Pieces by a BPE model: neighbouring symbols whose text is a piece are joined, the best score first, then the leftmost.

The order of scores is that of the library's comparison, in which -0.0 is below 0.0.
"""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.models.double_array import USED, child, is_child, value_of
from refinery.kernels.models.sentencepiece_rules import longest_symbol

# Rows of the links between symbols: where one begins, its bytes (0: joined to another), its neighbours.
BEGIN, SIZE, PREVIOUS, FOLLOWING = range(4)
# Symbols up to which the best pair is looked for among all; beyond, in a heap.
FEW = 24
_NO_PAIR = np.int64(-(1 << 63))
_LEFTMOST = 0xFFFFFFFF


def ranks(scores: np.ndarray) -> np.ndarray:
    """Scores as int32 in the same order."""
    bits = np.ascontiguousarray(scores, np.float32).view(np.int32)
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@kernel
def join_symbols(text, start, end, pieces, symbols, ranks, unknown, scratch):
    """Write the ends (from `start` on) of the pieces of text[start:end] to scratch.ends; returns their number.

    scratch.numbers gets the number of each piece, at its end.
    """
    links, units = scratch.links, scratch.units
    count = _cut(text, start, end, pieces, symbols, links, units)
    if count > FEW:
        _join_many(text, start, count, pieces, ranks, links, units, scratch.heap)
    else:
        _join_few(text, start, count, pieces, ranks, links, units, scratch.heap)
    top, symbol = 0, 0
    while symbol >= 0:
        place = links[BEGIN, symbol] + links[SIZE, symbol]
        number = value_of(units[symbol])
        scratch.ends[top] = place
        scratch.numbers[place] = number if number >= 0 else unknown
        top += 1
        symbol = links[FOLLOWING, symbol]
    return top


@kernel
def _cut(text, start, end, pieces, symbols, links, units):
    """Cut a text into the user's symbols and characters; returns their number.

    units: their places in the trie of pieces. Those of the user's symbols, which are never joined, lose the mark USED.
    """
    count, at = 0, start
    while at < end:
        lead = text[at]
        size = longest_symbol(text, at, end, symbols) if len(symbols) > 1 else 0
        frozen = size > 0
        if not frozen:
            size = min(1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4, end - at)
        unit = _walk(text, at, at + size, pieces, pieces[0])
        links[BEGIN, count], links[SIZE, count] = at - start, size
        links[PREVIOUS, count], links[FOLLOWING, count] = count - 1, count + 1
        units[count] = unit & ~np.int64(USED) if frozen else unit
        count += 1
        at += size
    links[FOLLOWING, count - 1] = -1
    return count


@inlined
def _walk(text, at, end, pieces, unit):
    """The place in the trie after a text; one without a label and a value if no piece begins so."""
    while at < end:
        byte = text[at]
        unit = child(pieces, unit, byte)
        if not is_child(unit, byte):
            return np.int64(-1) << 32
        at += 1
    return unit


@kernel
def _joined(text, start, left, right, pieces, links, units):
    """The place of the text of two neighbours, if it is a piece; else one without a value."""
    if right < 0 or not units[left] & USED or not _may_join(units[right]):
        return np.int64(-1) << 32
    at = start + links[BEGIN, right]
    return _walk(text, at, at + links[SIZE, right], pieces, units[left])


@inlined
def _may_join(unit):
    """A symbol of the user has a value, but no mark of being in use; a character that begins no piece has neither."""
    return unit & USED != 0 or value_of(unit) < 0


@inlined
def _key(unit, left, ranks):
    """The rank of a pair: by score, then leftmost."""
    number = value_of(unit)
    return (np.int64(ranks[number]) << 32) | (_LEFTMOST - left) if number >= 0 else _NO_PAIR


@kernel
def _merge(left, links):
    """Join a symbol with the following one."""
    right = links[FOLLOWING, left]
    links[SIZE, left] += links[SIZE, right]
    links[SIZE, right] = 0
    after = links[FOLLOWING, right]
    links[FOLLOWING, left] = after
    if after >= 0:
        links[PREVIOUS, after] = left


@kernel
def _join_few(text, start, count, pieces, ranks, links, units, heap):
    """Join the pairs of a short word. heap: keys and places of the pairs, by their left symbols."""
    for left in range(count):
        unit = _joined(text, start, left, links[FOLLOWING, left], pieces, links, units)
        heap[0, left], heap[1, left] = _key(unit, left, ranks), unit
    while True:
        best, key, symbol = -1, _NO_PAIR, 0
        while symbol >= 0:
            if heap[0, symbol] > key:
                best, key = symbol, heap[0, symbol]
            symbol = links[FOLLOWING, symbol]
        if best < 0:
            return
        units[best] = heap[1, best]
        _merge(best, links)
        before = links[PREVIOUS, best]
        unit = _joined(text, start, best, links[FOLLOWING, best], pieces, links, units)
        heap[0, best], heap[1, best] = _key(unit, best, ranks), unit
        if before >= 0:
            unit = _joined(text, start, before, best, pieces, links, units)
            heap[0, before], heap[1, before] = _key(unit, before, ranks), unit


@kernel
def _join_many(text, start, count, pieces, ranks, links, units, heap):
    """Join the pairs of a long text. heap: keys, and the right symbols with the sizes of the pairs."""
    size = 0
    for left in range(count - 1):
        size = _offer(text, start, left, left + 1, pieces, ranks, links, units, heap, size)
    while size:
        key, pair = heap[0, 0], heap[1, 0]
        size = _pop(heap, size)
        left, right = _LEFTMOST - (key & _LEFTMOST), pair >> 32
        if links[SIZE, left] == 0 or links[SIZE, right] == 0:
            continue
        if links[SIZE, left] + links[SIZE, right] != pair & _LEFTMOST:
            continue
        units[left] = _joined(text, start, left, right, pieces, links, units)
        _merge(left, links)
        if links[PREVIOUS, left] >= 0:
            size = _offer(text, start, links[PREVIOUS, left], left, pieces, ranks, links, units, heap, size)
        if links[FOLLOWING, left] >= 0:
            size = _offer(text, start, left, links[FOLLOWING, left], pieces, ranks, links, units, heap, size)


@kernel
def _offer(text, start, left, right, pieces, ranks, links, units, heap, size):
    """Put a pair into the heap, if it is a piece; returns the size of the heap."""
    key = _key(_joined(text, start, left, right, pieces, links, units), left, ranks)
    if key == _NO_PAIR:
        return size
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if heap[0, above] >= key:
            break
        heap[0, place], heap[1, place] = heap[0, above], heap[1, above]
        place = above
    heap[0, place] = key
    heap[1, place] = (np.int64(right) << 32) | (links[SIZE, left] + links[SIZE, right])
    return size + 1


@kernel
def _pop(heap, size):
    """Take the first pair out of the heap; returns the size that is left."""
    size -= 1
    key, pair = heap[0, size], heap[1, size]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and heap[0, below + 1] > heap[0, below]:
            below += 1
        if heap[0, below] <= key:
            break
        heap[0, place], heap[1, place] = heap[0, below], heap[1, below]
        place = below
    heap[0, place], heap[1, place] = key, pair
    return size
