"""Writer of small models in KenLM's binary format, of every kind, from n-grams with their numbers.

The n-grams are closed: without its first and without its last word, each is a shorter one of the model.
"""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

PROBING, REST_PROBING, TRIE, QUANTIZED, ARRAY, QUANTIZED_ARRAY = range(6)
HEAD = b"mmap lm http://kheafield.com/code format version 5\n".ljust(56, b"\0")
SANITY = HEAD + struct.pack("<fffIIIQ", 0.0, 1.0, -0.5, 1, 2**32 - 1, 0, 1)
_SIGN = np.uint32(1 << 31)

Gram = tuple[str, ...]


@dataclass(frozen=True)
class Grams:
    """N-grams of each order with the logarithm of their probability and their backoff. unknown: the numbers of <unk>."""

    orders: Sequence[Mapping[Gram, tuple[float, float]]]
    unknown: tuple[float, float] = (-3.5, -0.25)


@dataclass(frozen=True)
class Options:
    """Layout of a model's file. filler: entries of a trie's last order that stand for no n-gram. bits: of quantized numbers."""

    multiplier: float = 1.5
    bits: tuple[int, int] = (8, 8)
    pointer_bits: int = 22
    words: bool = True
    filler: int = 0


def murmur(data: bytes) -> int:
    """MurmurHash64A with the seed 0."""
    factor, mask = 0xC6A4A7935BD1E995, (1 << 64) - 1
    h, whole = len(data) * factor & mask, len(data) // 8 * 8
    for i in range(0, whole, 8):
        k = int.from_bytes(data[i : i + 8], "little") * factor & mask
        h = (h ^ ((k ^ (k >> 47)) * factor & mask)) * factor & mask
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * factor & mask
    h = (h ^ (h >> 47)) * factor & mask
    return h ^ (h >> 47)


def grams_of(sentences: Iterable[Sequence[str]], order: int, seed: int = 1, share: float = 1.0) -> Grams:
    """N-grams of sentences with random numbers. share: of the longer n-grams that are kept."""
    chance = random.Random(seed)
    texts = [("<s>", *sentence, "</s>") for sentence in sentences]
    orders: list[dict[Gram, tuple[float, float]]] = []
    for n in range(1, order + 1):
        found = Counter(gram for text in texts for gram in zip(*(text[i:] for i in range(n)), strict=False))
        kept = [g for g in found if n == 1 or (g[1:] in orders[-1] and g[:-1] in orders[-1])]
        kept = [g for g in kept if n < 3 or chance.random() < share]
        orders.append({g: (-chance.expovariate(0.7) - 1e-3, _backoff(chance, g, n == order)) for g in kept})
    return Grams(orders)


def _backoff(chance: random.Random, gram: Gram, longest: bool) -> float:
    zero = longest or gram[-1] == "</s>" or chance.random() < 0.3
    return 0.0 if zero else chance.uniform(-1.5, 0.2)


def write_large(path: Path, grams: Grams, kind: int, filler: int) -> None:
    """Write a trie whose last order has so many entries more, of random bytes, to which no pointer leads."""
    missing: list[int] = []
    chance = np.random.default_rng(7)
    with path.open("wb") as file:
        file.write(model(grams, kind, Options(words=False, filler=filler), missing))
        for size in [1 << 24] * (missing[0] >> 24) + [missing[0] & (1 << 24) - 1]:
            file.write(chance.bytes(size))


def model(grams: Grams, kind: int, options: Options | None = None, missing: list[int] | None = None) -> bytes:
    """The bytes of a model's file. missing: gets the number of bytes of filler, which are not made."""
    options = options or Options()
    words = sorted({gram[0] for gram in grams.orders[0]} - {"<unk>"}, key=lambda word: murmur(word.encode()))
    numbers = {word: number for number, word in enumerate(words, 1)} | {"<unk>": 0}
    counts = [len(words) + 1, *map(len, grams.orders[1:])]
    counts[-1] += options.filler
    writer = _Writer(grams, numbers, counts, kind, options)
    fixed = struct.pack("<B3xfi?3xI", len(counts), options.multiplier, kind, options.words, int(kind >= TRIE))
    head = SANITY + fixed + struct.pack(f"<{len(counts)}Q", *counts)
    strings = b"".join(word.encode() + b"\0" for word in ["<unk>", *words]) if options.words else b""
    head = head.ljust(-(-len(head) // 8) * 8, b"\0")
    body = writer.trie(len(head)) if kind >= TRIE else writer.probing()
    if missing is not None:
        missing.append(writer.missing)
    return head + body + strings


class _Writer:
    def __init__(
        self, grams: Grams, numbers: Mapping[str, int], counts: Sequence[int], kind: int, options: Options
    ) -> None:
        self.numbers, self.counts, self.kind, self.options = numbers, counts, kind, options
        self.missing = 0
        following = [{g[:-1] for g in order} for order in grams.orders[1:]] + [set()]
        left = [{g[1:] for g in order} for order in grams.orders[1:]] + [set()]
        self.orders: list[dict[tuple[int, ...], tuple[float, float]]] = []
        self.left: list[set[tuple[int, ...]]] = []
        for order, begun, ended in zip(grams.orders, following, left, strict=True):
            known = {("<unk>",): grams.unknown, **order} if order is grams.orders[0] else order
            extended = {g: (p, b if b else (0.0 if g in begun else -0.0)) for g, (p, b) in known.items()}
            self.orders.append({self._key(g): values for g, values in extended.items()})
            self.left.append({self._key(g) for g in ended})

    def _key(self, gram: Gram) -> tuple[int, ...]:
        """Numbers of an n-gram's words, the last one first."""
        return tuple(self.numbers[word] for word in reversed(gram))

    # Hash tables

    def probing(self) -> bytes:
        hashes = {murmur(word.encode()): number for word, number in self.numbers.items() if number}
        vocabulary = self._table(hashes, self.counts[0], [("number", "<u4")], lambda number: (number,))
        parts = [struct.pack("<II", 0, self.counts[0]), vocabulary, self._unigrams()]
        for n, order in enumerate(self.orders[1:], 2):
            keys = {_chain(key): key for key in order}
            longest = n == len(self.orders)
            fields = [("prob", "<f4")] if longest else self._fields()
            parts.append(self._table(keys, self.counts[n - 1], fields, partial(self._weights, n=n)))
        return b"".join(parts)

    def _fields(self) -> list[tuple[str, str]]:
        return [("prob", "<f4"), ("backoff", "<f4"), ("rest", "<f4")][: 3 if self.kind == REST_PROBING else 2]

    def _weights(self, key: tuple[int, ...], n: int) -> tuple[float, ...]:
        prob, backoff = self.orders[n - 1][key]
        if n == len(self.orders):
            return (prob,)
        marked = -prob if key in self.left[n - 1] else prob  # its sign says that no longer n-gram ends with it
        return (marked, backoff, prob - 0.125)[: len(self._fields())]

    def _unigrams(self) -> bytes:
        table = np.zeros(self.counts[0] + 1, self._fields())
        for key in self.orders[0]:
            table[key[0]] = self._weights(key, 1)
        return table.tobytes()

    def _table(self, keys: Mapping[int, Any], count: int, fields: Any, values: Any) -> bytes:
        """A hash table: entries in order of their place, each at the first place that is free."""
        places = max(count + 1, int(np.float32(self.options.multiplier) * np.float32(count)))
        every = np.array(list(keys), np.uint64)
        table = np.zeros(places, [("key", "<u8"), *fields])
        ideal = every % np.uint64(places)
        order = np.argsort(ideal, kind="stable")
        steps = np.arange(len(every))
        at = np.maximum.accumulate(ideal[order].astype(np.int64) - steps) + steps
        inside = at < places
        table["key"][at[inside]] = every[order][inside]
        for key in every[order][~inside]:  # they go on at the beginning
            table["key"][np.flatnonzero(table["key"] == 0)[0]] = key
        place_of = dict(zip(table["key"][table["key"] != 0].tolist(), np.flatnonzero(table["key"]), strict=True))
        for key, value in keys.items():
            table[place_of[key]] = (key, *values(value))
        return table.tobytes()

    # Tries

    def trie(self, start: int) -> bytes:
        hashes = sorted(murmur(word.encode()) for word, number in self.numbers.items() if number)
        parts = bytearray(struct.pack("<Q", len(hashes)) + np.array([*hashes, 0], np.uint64).tobytes())
        sorted_keys = [sorted(order) for order in self.orders]
        centres = self._centres()
        if centres:
            parts += struct.pack("<BBB5x", 2, *self.options.bits)
            parts += b"".join(table.tobytes() for pair in centres for table in pair)
        nexts = [_pointers(keys, longer) for keys, longer in zip(sorted_keys, sorted_keys[1:], strict=False)]
        unigrams = np.zeros(self.counts[0] + 2, [("prob", "<f4"), ("backoff", "<f4"), ("next", "<u8")])
        for (word,), (prob, backoff) in self.orders[0].items():
            unigrams[word] = (prob, backoff, 0)
        unigrams["next"][: len(nexts[0])] = nexts[0]
        parts += unigrams.tobytes()
        for n, keys in enumerate(sorted_keys[1:], 2):
            pair = centres[n - 2] if centres else None
            fields = [(np.array([key[-1] for key in keys]), self.counts[0].bit_length()), *self._values(n, keys, pair)]
            if n < len(self.orders):
                parts += self._middle(start + len(parts), n, nexts[n - 1], fields)
            else:
                parts += self._longest(fields)
        return bytes(parts)

    def _centres(self) -> list[list[np.ndarray]]:
        """Tables of quantized probabilities and backoffs for each order from 2 on, as quantiles."""
        found: list[list[np.ndarray]] = []
        for order in self.orders[1:] if self.kind in (QUANTIZED, QUANTIZED_ARRAY) else ():
            probs = sorted(prob for prob, _ in order.values()) or [0.0]
            backoffs = sorted(backoff for _, backoff in order.values() if backoff) or [-0.5]
            room = [1 << bits for bits in self.options.bits]
            tables = [_quantiles(probs, room[0]), np.append(np.float32([-0.0, 0.0]), _quantiles(backoffs, room[1] - 2))]
            found.append(tables[: 1 if order is self.orders[-1] else 2])
        return found

    def _values(self, n: int, keys: Sequence[Any], centres: Any) -> list[tuple[np.ndarray, int]]:
        """Bits of the probabilities and backoffs of an order, as fields of its entries."""
        probs = np.array([self.orders[n - 1][key][0] for key in keys], np.float32)
        backoffs = np.array([self.orders[n - 1][key][1] for key in keys], np.float32)
        longest = n == len(self.orders)
        if not centres:
            plain = [(probs.view(np.uint32) & ~_SIGN, 31), (backoffs.view(np.uint32), 32)]
            return plain[: 1 if longest else 2]
        coded = [(_nearest(centres[0], probs), self.options.bits[0])]
        if not longest:
            zero = np.where(np.signbit(backoffs), 0, 1)
            others = 2 + _nearest(centres[1][2:], backoffs)
            coded.insert(0, (np.where(backoffs == 0, zero, others), self.options.bits[1]))
        return coded

    def _middle(self, at: int, n: int, nexts: np.ndarray, fields: list[tuple[np.ndarray, int]]) -> bytes:
        nexts = nexts.copy()
        greatest = self.counts[n]
        nexts[-1] = greatest
        bits, head = greatest.bit_length(), b""
        if self.kind >= ARRAY:
            bits, head = self._offsets(at, nexts, greatest)
        ends = [(np.append(values, 0), size) for values, size in fields]
        return head + _packed([*ends, (nexts & np.uint64((1 << bits) - 1), bits)], len(nexts))

    def _offsets(self, at: int, nexts: np.ndarray, greatest: int) -> tuple[int, bytes]:
        """Bits of the pointers that stay in the entries, and the offsets for the rest."""
        required, best, least = greatest.bit_length(), 0, 1 << 62
        for chop in range(min(required, self.options.pointer_bits) + 1):
            size = (greatest >> (required - chop)) * 64 - len(nexts) * chop
            best, least = (chop, size) if size < least else (best, least)
        bits = required - best
        count = (greatest >> bits) + 1
        firsts = np.searchsorted(nexts >> np.uint64(bits), np.arange(count, dtype=np.uint64)).astype(np.uint64)
        firsts[0] = 0
        before = -at % 8
        room = bytearray(8 * (1 + count) + 7)
        room[before + 8 : before + 8 + 8 * count] = firsts.tobytes()
        room[0:2] = bytes([0, self.options.pointer_bits])
        return bits, bytes(room)

    def _longest(self, fields: list[tuple[np.ndarray, int]]) -> bytes:
        total, count = sum(bits for _, bits in fields), len(fields[0][0])
        written = _packed([(np.append(values, 0), bits) for values, bits in fields], count + 1)
        self.missing = ((1 + self.counts[-1]) * total + 7) // 8 + 8 - len(written)
        return written


def _chain(key: Sequence[int]) -> int:
    found = key[0]
    for word in key[1:]:
        found = (found * 8978948897894561157 & (1 << 64) - 1) ^ ((1 + word) * 17894857484156487943 & (1 << 64) - 1)
    return found


def _pointers(keys: Sequence[Any], longer: Sequence[Any]) -> np.ndarray:
    """For each n-gram the index of the first that is one word longer, and their number at the end."""
    starts, at = [], 0
    for key in keys:
        while at < len(longer) and longer[at][:-1] < key:
            at += 1
        starts.append(at)
    return np.array([*starts, len(longer)], np.uint64)


def _quantiles(values: Sequence[float], count: int) -> np.ndarray:
    return np.quantile(np.array(values), np.linspace(0, 1, count)).astype(np.float32)


def _nearest(centres: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.abs(values[:, None] - centres[None, :]).argmin(axis=1) if len(values) else np.zeros(0, np.int64)


def _packed(fields: Sequence[tuple[np.ndarray, int]], entries: int) -> bytes:
    """Entries of fields, each of some bits, the lowest first; eight bytes more at the end."""
    columns = []
    for values, bits in fields:
        places = np.arange(bits, dtype=np.uint64)
        columns.append((values.astype(np.uint64)[:, None] >> places) & np.uint64(1))
    flat = np.concatenate(columns, axis=1).astype(np.bool_).reshape(-1)
    return np.packbits(flat, bitorder="little").tobytes() + bytes(8)


def every_kind(options: Options | None = None) -> list[tuple[int, Options]]:
    """Kinds with options that differ for the same kind."""
    base = options or Options()
    return [
        *((kind, base) for kind in range(6)),
        (PROBING, replace(base, multiplier=1.0)),
        (QUANTIZED, replace(base, bits=(5, 3))),
        (QUANTIZED_ARRAY, replace(base, bits=(3, 9), pointer_bits=2, words=False)),
        (ARRAY, replace(base, pointer_bits=255)),
    ]
