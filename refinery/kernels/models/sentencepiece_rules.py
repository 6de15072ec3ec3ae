"""The normalizer of SentencePiece models: rules for characters, and for white space."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from refinery.kernels.core.blocks import BLOCK, copy_block, first_set, lanes, within
from refinery.kernels.core.file_state import state_of
from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.models.double_array import built, child, is_child, value_of
from refinery.kernels.models.protobuf import Damaged
from refinery.kernels.models.sentencepiece_file import SPACE_SYMBOL, USER_DEFINED, ModelFile, Unsupported, read

SPACE = 0x20
_FIRST, _SECOND, _THIRD = SPACE_SYMBOL
REPLACEMENT = "\ufffd".encode()
# Units of a rule's trie as the file has them: a label with this bit is no label, but the unit is the value of a key.
_IS_VALUE, _LABEL, _HAS_VALUE = 1 << 31, 1 << 31 | 0xFF, 1 << 8
# Rules (or symbols of the user) that begin alike: the library considers so many.
_MOST_RULES, _MOST_SYMBOLS = 32, 64
DUMMY_PREFIX, REMOVE_EXTRA, ESCAPE, SUFFIX, HAS_RULES, HAS_SYMBOLS, PLAIN = range(7)


class Rules(NamedTuple):
    """Tables of a normalizer.

    units: trie of the rules, as in the file. replacements: texts, each with a NUL behind it. plain: flags of ASCII
    characters to which no rule applies before another one. symbols: trie of the user's symbols, which no rule changes; one unit without any.
    options: by the constants above; PLAIN: all printable ASCII characters but the space are plain. replaced: where U+FFFD is in the replacements.
    """

    units: np.ndarray
    replacements: np.ndarray
    plain: np.ndarray
    symbols: np.ndarray
    options: np.ndarray
    replaced: np.ndarray


record(Rules, "uint32[] uint8[] uint8[] int64[] int64[] int64[]")


def judge(path: str) -> None:
    """Raise OSError, Damaged, or Unsupported, if kernels cannot encode by the model in a file."""
    if problem := _problem(path, *state_of(path)):
        raise type(problem)(*problem.args)


@lru_cache(maxsize=16)
def _problem(path: str, *state: int) -> ValueError | None:
    try:
        _map(read(path).charsmap)
    except (Damaged, Unsupported) as error:
        return error
    return None


def rules_of(model: ModelFile) -> Rules:
    """Tables of a model's normalizer. Raises Damaged and Unsupported."""
    units, texts = _map(model.charsmap)
    symbols = [piece for piece, _, kind in model.pieces if kind == USER_DEFINED]
    options = [model.dummy_prefix, model.remove_extra_spaces, model.escape_spaces, model.suffix]
    options += [len(model.charsmap) > 0, len(symbols) > 0]
    plain = _plain(units) if model.charsmap else np.ones(128, np.uint8)
    plain[[symbol[0] for symbol in symbols if symbol[0] < 128]] = 0
    options.append(bool(plain[0x21:0x7F].all()))
    data = np.frombuffer(texts + REPLACEMENT + b"\0", np.uint8)
    trie = built(symbols, list(range(len(symbols)))) if symbols else np.zeros(1, np.int64)
    return Rules(units, data, plain, trie, np.array(options, np.int64), np.array([len(texts)], np.int64))


def _map(charsmap: bytes) -> tuple[np.ndarray, bytes]:
    """Trie and replacements of a precompiled map, checked so that no walk leaves them. Raises Damaged, Unsupported."""
    if not charsmap:
        return np.zeros(1, np.uint32), b""
    size = struct.unpack("<I", charsmap[:4])[0] if len(charsmap) > 4 else 0
    if size < 1024 or size % 1024 or size >= len(charsmap) - 4:
        raise Damaged("the table of its normalizer has a wrong size")
    units = np.frombuffer(charsmap[4 : 4 + size], np.uint32).copy()
    texts = charsmap[4 + size :]
    places = np.arange(len(units))
    is_value = (units & _IS_VALUE) != 0
    below = places ^ _offsets(units)
    good = is_value | ((below | 0xFF) < len(units))
    leaves = ~is_value & ((units & _HAS_VALUE) != 0) & good
    good[leaves] = is_value[below[leaves]]
    ends = (units[is_value] & ~np.uint32(_IS_VALUE)).astype(np.int64)
    if not good.all() or (units[0] & (_LABEL | _HAS_VALUE)) or _offsets(units[:1])[0] == 0 or not texts.endswith(b"\0"):
        raise Damaged("the table of its normalizer is damaged")
    if (ends >= len(texts)).any():
        raise Damaged("the table of its normalizer names texts that are not there")
    try:
        texts.decode()
    except UnicodeDecodeError:
        raise Unsupported("its normalizer has texts that are not UTF-8") from None
    data = np.frombuffer(texts, np.uint8)
    if ((data[ends] & 0xC0) == 0x80).any():
        raise Unsupported("its normalizer cuts characters")
    return units, texts


def _offsets(units: np.ndarray) -> np.ndarray:
    wide = units.astype(np.int64)
    return (wide >> 10) << ((wide & (1 << 9)) >> 6)


def _plain(units: np.ndarray) -> np.ndarray:
    """Flags of ASCII characters that stay as they are before another ASCII character and at the end of a text."""
    root = int(_offsets(units[:1])[0])
    letters = np.arange(128)
    plain = np.zeros(128, np.uint8)
    for letter in range(128):
        place = root ^ letter
        unit = int(units[place])
        if unit & _LABEL != letter:
            plain[letter] = 1
        elif not unit & _HAS_VALUE:
            below = (place ^ int(_offsets(units[place : place + 1])[0])) ^ letters
            plain[letter] = not ((units[below] & np.uint32(_LABEL)) == letters).any()
    return plain


_printable = lanes(lambda x: within(x, 0x21, 0x7E))


@kernel
def normalize(data, start, end, rules, out):
    """Write the normalized text data[start:end] to `out`; returns its length, -1 if `out` is too small."""
    options, plain = rules.options, rules.plain
    trims = options[REMOVE_EXTRA] != 0
    i, w = start, 0
    while trims and i < end:
        where, first, last, size = _next(data, i, end, rules)
        if last - first != 1 or (rules.replacements if where else data)[first] != SPACE:
            break
        i += size
    if i == end:
        return 0
    escapes = options[ESCAPE] != 0
    if len(out) < 8:
        return -1
    if options[DUMMY_PREFIX] and not options[SUFFIX]:
        w = _space(out, w, escapes)
    after_space, plain_runs = trims, options[PLAIN] != 0
    while i < end:
        if w + 8 > len(out):
            return -1
        if plain_runs and i + BLOCK <= len(data) and w + BLOCK + 8 <= len(out):
            n = min(first_set(~_printable(data, i)), end - i)
            n -= n > 0 and i + n < end and data[min(i + n, end - 1)] >= 0x80  # a rule may begin with the last character
            if n > 0:
                copy_block(data, i, out, w)
                i += n
                w += n
                after_space = False
                continue
        byte = data[i]
        if byte < 0x80 and plain[byte] and (i + 1 >= end or data[i + 1] < 0x80):
            i += 1
            if byte != SPACE:
                out[w] = byte
                w += 1
                after_space = False
            elif not after_space:
                w = _space(out, w, escapes)
                after_space = trims
            continue
        where, first, last, size = _next(data, i, end, rules)
        i += size
        source = rules.replacements if where else data
        while after_space and first < last and source[first] == SPACE:
            first += 1
        if first < last:
            if w + 3 * (last - first) + 8 > len(out):
                return -1
            for k in range(first, last):
                if source[k] == SPACE:
                    w = _space(out, w, escapes)
                else:
                    out[w] = source[k]
                    w += 1
            after_space = source[last - 1] == SPACE
        after_space = after_space and trims
    if trims:
        w = _trimmed(out, w, escapes)
    if options[DUMMY_PREFIX] and options[SUFFIX]:
        w = _space(out, w, escapes)
    return w


@inlined
def _space(out, w, escapes):
    if not escapes:
        out[w] = SPACE
        return w + 1
    out[w], out[w + 1], out[w + 2] = _FIRST, _SECOND, _THIRD
    return w + 3


@kernel
def _trimmed(out, w, escapes):
    """Length of the text out[:w] without the spaces at its end."""
    if not escapes:
        while w > 0 and out[w - 1] == SPACE:
            w -= 1
        return w
    while w > 2 and out[w - 3] == _FIRST and out[w - 2] == _SECOND and out[w - 1] == _THIRD:
        w -= 3
    return w


@kernel
def _next(data, i, end, rules):
    """The beginning of the text at i: 1 if it is in the replacements, its start and end, and the bytes it stands for."""
    if rules.options[HAS_SYMBOLS]:
        size = longest_symbol(data, i, end, rules.symbols)
        if size:
            return 0, i, i + size, size
    if rules.options[HAS_RULES]:
        size, text = _rule(data, i, end, rules.units)
        if size:
            last = text
            while rules.replacements[last] != 0:
                last += 1
            return 1, text, last, size
    byte = data[i]
    if byte & 0xC0 == 0x80:  # the rest of a character of which a rule took a part
        return 1, rules.replaced[0], rules.replaced[0] + 3, 1
    size = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
    return 0, i, i + size, size


@kernel
def longest_symbol(data, i, end, symbols):
    """Length of the longest of the user's symbols with which the text begins, 0 without one."""
    unit, longest, count = symbols[0], 0, 0
    for k in range(i, end):
        unit = child(symbols, unit, data[k])
        if not is_child(unit, data[k]):
            break
        if value_of(unit) >= 0 and count < _MOST_SYMBOLS:
            longest = k + 1 - i
            count += 1
    return longest


@kernel
def _rule(data, i, end, units):
    """Length of the longest rule that applies, 0 without one, and where its text begins."""
    place = _offset(np.int64(units[0]))
    longest = text = count = np.int64(0)
    for k in range(i, end):
        place ^= np.int64(data[k])
        unit = np.int64(units[place])
        if unit & _LABEL != data[k]:
            break
        place ^= _offset(unit)
        if unit & _HAS_VALUE and count < _MOST_RULES:
            longest, text = k + 1 - i, np.int64(units[place]) & (_IS_VALUE - 1)
            count += 1
    return longest, text


@inlined
def _offset(unit):
    return (unit >> 10) << ((unit & (1 << 9)) >> 6)
