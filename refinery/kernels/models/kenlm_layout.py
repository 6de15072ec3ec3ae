"""Places of the tables in a file of KenLM: hash tables, or tries of packed numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from refinery.kernels.core.signatures import record

REST_PROBING, TRIE, QUANTIZED, COMPRESSED = 1, 2, 1, 2  # kinds from TRIE on: + 1 if quantized, + 2 if compressed

# Fields of `Tables.layout`. SPACE: places of a hash table, or words of a sorted list, whose hashes are shifted by SHIFT.
KIND, ORDER, VOCABULARY, SPACE, SHIFT, UNIGRAMS, STRIDE, LAST_WORD, BEGIN, END = range(10)

# Fields of `Tables.orders`: the first byte; of hash tables, the number of places, the bytes of one, and 2 ** 64 - 1 divided by
# their number, as a signed number;
START, PLACES, PLACE_SIZE, RECIPROCAL = range(4)
# of tries, the number of entries, the bits of a word and of an entry; centres of quantized probabilities and backoffs
# (first byte, bits); pointers to the next order (place in the entry, bits, end); offsets of compressed pointers (first
# byte, number), and where their index begins in `Tables.offset_index`, whose items stand for 1 << INDEX_SHIFT entries.
ENTRIES, WORD_BITS, BITS = range(1, 4)
PROBS, PROB_BITS, BACKOFFS, BACKOFF_BITS = range(4, 8)
NEXT_AT, NEXT_BITS, NEXT_END = range(8, 11)
OFFSETS, N_OFFSETS, INDEX, INDEX_SHIFT = range(11, 15)

_BEGIN, _END = 0x00758639BD217E70, 0x6BE0737DF1F76C0A  # hashes of <s> and </s>
_QUANTIZATION, _COMPRESSION = 2, 0  # versions


class ModelError(ValueError):
    """A file that is no model, or is damaged. The message has the file as "it"."""


class Tables(NamedTuple):
    """A model as kernels read it.

    data: the mapped file. layout, orders: numbers of the whole model, and of each order from 2 on. starts: of a trie's
    vocabulary, the first word of each range of hashes. offset_index: for ranges of entries, the last offset before each.
    """

    data: np.ndarray
    layout: np.ndarray
    orders: np.ndarray
    starts: np.ndarray
    offset_index: np.ndarray


record(Tables, "uint8[] int64[] int64[,] uint32[] uint32[]")


class Reader:
    """A position in the bytes of a file; no part may reach beyond the end."""

    def __init__(self, data: np.ndarray, at: int) -> None:
        self.data = data
        self.at = at

    def skip(self, size: int) -> int:
        """Start of the next `size` bytes."""
        start, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise ModelError(f"it is cut off: it has {len(self.data):,} bytes, its counts ask for {self.at:,} or more")
        return start

    def number(self) -> int:
        """The next number of 64 bits."""
        start = self.skip(8)
        return int(self.data[start : start + 8].view(np.uint64)[0])

    def peek(self, size: int) -> bytes:
        """The next bytes, which stay the next ones."""
        return self.data[self.at : self.at + size].tobytes().ljust(size, b"\0")


def probing(reader: Reader, kind: int, counts: Sequence[int], multiplier: float) -> Tables:
    """Layout of hash tables: of the vocabulary, an array of unigrams, a table for each order."""

    def places(entries: int) -> int:
        return max(entries + 1, int(np.float32(multiplier) * np.float32(entries)))

    version = reader.number() & 0xFFFFFFFF
    if version:
        raise ModelError(f"its vocabulary has version {version}, which is unknown")
    space = places(counts[0])
    vocabulary = reader.skip(12 * space)
    rest = 4 if kind == REST_PROBING else 0
    unigrams = reader.skip((8 + rest) * (counts[0] + 1))
    orders = []
    for number, count in enumerate(counts[1:], 2):
        size = 12 if number == len(counts) else 16 + rest
        reciprocal = np.uint64((2**64 - 1) // places(count)).astype(np.int64)
        orders.append([reader.skip(size * places(count)), places(count), size, reciprocal])
    markers = [_hashed(reader.data, vocabulary, space, counts[0], word) for word in (_BEGIN, _END)]
    layout = [kind, len(counts), vocabulary, space, 0, unigrams, 8 + rest, counts[0], *markers]
    return Tables(reader.data, np.array(layout), np.array(orders), np.zeros(1, np.uint32), np.zeros(1, np.uint32))


def _hashed(data: np.ndarray, start: int, space: int, last: int, hashed: int) -> int:
    """Number of the word with this hash, 0 without one. last: the greatest number."""
    for step in range(space):
        at = start + 12 * ((hashed + step) % space)
        key = int(data[at : at + 8].view(np.uint64)[0])
        if key == hashed:
            number = int(data[at + 8 : at + 12].view(np.uint32)[0])
            return number if number <= last else 0
        if key == 0:
            break
    return 0


def trie(reader: Reader, kind: int, counts: Sequence[int]) -> Tables:
    """Layout of a vocabulary's sorted hashes, centres of quantized numbers, unigrams, a packed array for each order."""
    words = reader.number()
    vocabulary = reader.skip(8 * counts[0])
    if words > counts[0]:
        raise ModelError(f"it claims to have {words:,} words, and {counts[0]:,} unigrams")
    centres = _centres(reader, len(counts)) if (kind - TRIE) & QUANTIZED else [(0, 31, 0, 32)] * (len(counts) - 1)
    unigrams = reader.skip(16 * (counts[0] + 2))
    chop = _chop_limit(reader) if (kind - TRIE) & COMPRESSED and len(counts) > 2 else None
    orders = [
        _middle(reader, counts[0], count, following, values, chop)
        for count, following, values in zip(counts[1:], counts[2:], centres, strict=False)
    ]
    orders.append(_longest(reader, counts[0], counts[-1], centres[-1]))
    hashes = reader.data[vocabulary : vocabulary + 8 * words].view(np.uint64)
    shift, starts = _ranges(hashes)
    markers = [_sorted(hashes, word) for word in (_BEGIN, _END)]
    layout = [kind, len(counts), vocabulary, words, shift, unigrams, 16, counts[0], *markers]
    index = [_index(reader.data, order) for order in orders]
    for order, before in zip(orders, np.cumsum([0, *map(len, index)]), strict=False):
        order[INDEX] = int(before)
    return Tables(reader.data, np.array(layout), np.array(orders), starts, np.concatenate(index))


def _centres(reader: Reader, order: int) -> list[tuple[int, int, int, int]]:
    """First byte and bits of the tables of probabilities and of backoffs, for each order from 2 on."""
    version, prob_bits, backoff_bits = reader.peek(3)
    if version != _QUANTIZATION:
        raise ModelError(f"its quantization has version {version}, which is unknown")
    if not (1 <= prob_bits <= 25 and 1 <= backoff_bits <= 25):
        raise ModelError(f"it claims to be quantized to {prob_bits} and {backoff_bits} bits")
    reader.skip(8)
    centres = []
    for _ in range(order - 2):
        probs = reader.skip(4 << prob_bits)
        centres.append((probs, prob_bits, reader.skip(4 << backoff_bits), backoff_bits))
    return [*centres, (reader.skip(4 << prob_bits), prob_bits, 0, 0)]


def _chop_limit(reader: Reader) -> int:
    """Most bits of a pointer that offsets stand for."""
    version, bits = reader.peek(2)
    if version != _COMPRESSION:
        raise ModelError(f"its compressed pointers have version {version}, which is unknown")
    return bits


def _middle(
    reader: Reader, words: int, count: int, following: int, values: tuple[int, int, int, int], limit: int | None
) -> list[int]:
    """Numbers of an order before the last. following: the entries of the next order."""
    offsets, n_offsets, bits = 0, 0, following.bit_length()
    if limit is not None:
        chopped = _chopped(count + 1, following, limit)
        n_offsets = (following >> (bits - chopped)) + 1
        offsets = -(-reader.skip(8 * (1 + n_offsets) + 7) // 8) * 8 + 8
        bits -= chopped
    next_at = words.bit_length() + values[1] + values[3]
    start = reader.skip(((1 + count) * (next_at + bits) + 7) // 8 + 8)
    numbers = [start, count, words.bit_length(), next_at + bits, *values]
    shift = max(0, count.bit_length() - n_offsets.bit_length() + 1)
    return [*numbers, next_at, bits, following, offsets, n_offsets, 0, shift]


def _chopped(entries: int, following: int, limit: int) -> int:
    """Bits of pointers that offsets stand for: those that make the least memory."""
    bits = following.bit_length()
    sizes = [(following >> (bits - chop)) * 64 - entries * chop for chop in range(min(bits, limit) + 1)]
    return sizes.index(min(sizes))


def _longest(reader: Reader, words: int, count: int, values: tuple[int, int, int, int]) -> list[int]:
    bits = words.bit_length() + values[1]
    start = reader.skip(((1 + count) * bits + 7) // 8 + 8)
    return [start, count, words.bit_length(), bits, *values, 0, 0, 0, 0, 0, 0, 0]


def _index(data: np.ndarray, order: Sequence[int]) -> np.ndarray:
    """For each range of the entries of an order, the last of its offsets that is not after the first entry."""
    if not order[N_OFFSETS]:
        return np.zeros(1, np.uint32)
    offsets = data[order[OFFSETS] : order[OFFSETS] + 8 * order[N_OFFSETS]].view(np.uint64)
    firsts = np.arange((order[ENTRIES] >> order[INDEX_SHIFT]) + 2, dtype=np.uint64) << np.uint64(order[INDEX_SHIFT])
    return np.maximum(np.searchsorted(offsets, firsts, "right") - 1, 0).astype(np.uint32)


def _ranges(hashes: np.ndarray) -> tuple[int, np.ndarray]:
    """For the highest bits of a hash, the first word; and the number of the other bits."""
    bits = max(1, len(hashes).bit_length() - 1)
    firsts = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    return 64 - bits, np.append(np.searchsorted(hashes, firsts), len(hashes)).astype(np.uint32)


def _sorted(hashes: np.ndarray, hashed: int) -> int:
    """Number of the word with this hash, 0 without one."""
    at = int(np.searchsorted(hashes, np.uint64(hashed)))
    return at + 1 if at < len(hashes) and int(hashes[at]) == hashed else 0
