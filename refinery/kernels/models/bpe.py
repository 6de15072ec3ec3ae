"""Numbers of tokens by a byte-level BPE tokenizer.json, equal to those of the library `tokenizers` 0.23.3."""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import Texts, ints, of_texts, texts
from refinery.kernels.core.blocks import BLOCK, wide
from refinery.kernels.core.file_state import state_of
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.core.utf8 import copy, decode
from refinery.kernels.models.bpe_merges import Merges, Places, merged, merges_of, places_for
from refinery.kernels.models.bpe_words import cl100k_end, gpt2_end
from refinery.kernels.models.character_classes import COMPOSING, classes, composed
from refinery.kernels.models.double_array import built, child, is_child, value_of
from refinery.kernels.models.sentencepiece_memory import LONGEST, SLOTS, SPARE, key_of, seen_before
from refinery.kernels.models.tokenizer_file import CL100K, GPT2, TokenizerFile, read

# Places in `Rules.options`
SPLIT, DIGITS, PREFIX, NFC, RAW, COOKED, EXCEPTIONS = range(7)
# Flags of bytes at which added tokens begin.
IS_RAW, IS_COOKED = 1, 2
BLANK = 0x20


class Rules(NamedTuple):
    """Rules of a tokenizer besides its merges.

    options: int64, by the constants above. classes: uint8, of code points. starts: uint8, flags of bytes. raw, cooked:
    int64, tries of added tokens. words: int64, a trie of the words that are one token without being merged.
    """

    options: np.ndarray
    classes: np.ndarray
    starts: np.ndarray
    raw: np.ndarray
    cooked: np.ndarray
    words: np.ndarray


record(Rules, "int64[] uint8[] uint8[] int64[] int64[] int64[]")


class Memory(NamedTuple):
    """Frequent words of a thread, by their bytes.

    known: int64, three numbers with the bytes of a word, then its length and its number of tokens. seen: the words that
    were seen last, because a word is remembered when it comes twice. text: uint8, room for a text and a space before it.
    """

    known: np.ndarray
    seen: np.ndarray
    text: np.ndarray


record(Memory, "int64[,] int64[] uint8[]")


class Tokenizer(NamedTuple):
    """A tokenizer as kernels need it. local: of each thread, its memory of words."""

    rules: Rules
    merges: Merges
    special: int
    raw: re.Pattern[str] | None
    local: threading.local


_loading = threading.Lock()


def load(path: str) -> Tokenizer:
    """The tokenizer in a file, loaded once for each state of it. Raises OSError and Unsupported."""
    with _loading:
        return _loaded(path, *state_of(path))


@lru_cache(maxsize=4)
def _loaded(path: str, *state: int) -> Tokenizer:
    file = read(path)
    merges = merges_of([file.vocabulary[bytes([byte])] for byte in range(256)], file.merges)
    pattern = "|".join(re.escape(token) for token in sorted(file.raw, key=len, reverse=True))
    raw = re.compile(pattern) if pattern else None
    made = Tokenizer(_rules_of(file, []), merges, file.special, raw, threading.local())
    exceptions = _unmerged(file, made) if file.ignore_merges else []
    return made._replace(rules=_rules_of(file, exceptions), local=threading.local())


def _rules_of(file: TokenizerFile, exceptions: list[bytes]) -> Rules:
    raw, cooked = ([token.encode() for token in tokens] for tokens in (file.raw, file.cooked))
    starts = np.zeros(256, np.uint8)
    starts[[token[0] for token in raw]] |= IS_RAW
    starts[[token[0] for token in cooked]] |= IS_COOKED
    options = [file.split, file.digits, file.prefix_space, file.nfc, len(raw), len(cooked), len(exceptions)]
    return Rules(np.array(options, np.int64), classes(), starts, _trie(raw), _trie(cooked), _trie(exceptions))


def _trie(keys: list[bytes]) -> np.ndarray:
    return built(keys, range(len(keys))) if keys else np.zeros(1, np.int64)


def _unmerged(file: TokenizerFile, tokenizer: Tokenizer) -> list[bytes]:
    """Tokens whose bytes the merges do not bring to one token."""
    tokens = list(file.vocabulary)
    data, ends = np.frombuffer(b"".join(tokens), np.uint8), np.cumsum([0, *map(len, tokens)])
    counts = np.zeros(len(tokens), np.int64)
    _merge_each(data, ends, tokenizer.merges, places_for(max(map(len, tokens))), counts)
    return [tokens[place] for place in np.flatnonzero(counts != 1)]


def counts(column: pa.Array | pa.ChunkedArray, path: str, special: bool) -> pa.Array:
    """Number of tokens of each text (int64); NULL for NULL. special: with those that are added to each text."""
    tokenizer, view = load(path), texts(column)
    totals, composing = _counted(view, tokenizer, whole=True)
    rows = np.flatnonzero(composing)
    if len(rows):
        _count_composed(view, tokenizer, rows, totals)
    if special:
        totals += tokenizer.special
    return ints(totals, view.valid)


def _counted(view: Texts, tokenizer: Tokenizer, whole: bool) -> tuple[np.ndarray, np.ndarray]:
    """Number of tokens of each text, and flags of those that are to be composed first. whole: not only sections of texts."""
    totals, composing = np.zeros(len(view), np.int64), np.zeros(len(view), np.bool_)
    longest = int(np.diff(view.offsets).max(initial=0)) + 1
    memory, places = _own(tokenizer, longest)
    _count(
        view.data, view.offsets, view.valid, whole, tokenizer.rules, tokenizer.merges, memory, places, totals, composing
    )
    return totals, composing


def _own(tokenizer: Tokenizer, size: int) -> tuple[Memory, Places]:
    """Memory and room of this thread, for texts of so many bytes."""
    local = tokenizer.local
    if not hasattr(local, "memory"):
        local.memory = Memory(np.zeros((SLOTS, 4), np.int64), np.zeros(SLOTS, np.int64), np.empty(0, np.uint8))
    if len(local.memory.text) < size + SPARE:
        local.memory = local.memory._replace(text=np.empty(2 * size + SPARE, np.uint8))
        local.places = places_for(2 * size)
    return local.memory, local.places


def _count_composed(view: Texts, tokenizer: Tokenizer, rows: np.ndarray, totals: np.ndarray) -> None:
    """Count the texts of some rows after NFC, which the library applies between added tokens that are not normalized."""
    sections: list[str] = []
    owners: list[int] = []
    for row in rows.tolist():
        text = bytes(view.data[view.offsets[row] : view.offsets[row + 1]]).decode()
        parts = tokenizer.raw.split(text) if tokenizer.raw else [text]
        totals[row] = len(parts) - 1
        sections += [composed(part) for part in parts if part]
        owners += [row] * sum(map(bool, parts))
    np.add.at(totals, np.array(owners, np.int64), _counted(texts(of_texts(sections)), tokenizer, whole=False)[0])


@entry("uint8[] int64[] Merges Places int64[]", Merges, Places)
def _merge_each(data, ends, merges, places, counts):
    """Number of tokens that the bytes of each text are merged to."""
    for row in range(len(counts)):
        counts[row] = merged(data, ends[row], ends[row + 1], merges, places)


@entry("uint8[] int64[] bool[] bool Rules Merges Memory Places int64[] bool[]", Rules, Merges, Memory, Places)
def _count(data, offsets, valid, whole, rules, merges, memory, places, counts, composing):
    """Count tokens, and flag the rows that are to be composed first. whole: look for raw added tokens, and for such rows."""
    for row in range(len(valid)):
        if not valid[row]:
            continue
        start, end = offsets[row], offsets[row + 1]
        if whole and rules.options[NFC] and _is_composing(data, start, end, rules.classes):
            composing[row] = True
            continue
        counts[row] = _count_text(data, start, end, whole, rules, merges, memory, places)


@kernel
def _is_composing(data, start, end, classes):
    """Return whether NFC may change the text."""
    i = start
    while i < end:
        if i + BLOCK <= len(data) and wide(data, i) == 0:
            i += BLOCK
            continue
        stop = min(i + BLOCK, end)
        while i < stop:
            if data[i] < 0x80:
                i += 1
            else:
                code_point, i = decode(data, i)
                if classes[code_point] & COMPOSING:
                    return True
    return False


@kernel
def _count_text(data, start, end, whole, rules, merges, memory, places):
    """Tokens of a text, which raw added tokens cut into sections."""
    if not whole or rules.options[RAW] == 0:
        return _count_part(data, start, end, rules, merges, memory, places)
    count, at = 0, start
    while at < end:
        stop, after = _added_token(data, at, end, rules.raw, rules.starts, IS_RAW)
        count += _count_part(data, at, stop, rules, merges, memory, places) + (after > stop)
        at = after
    return count


@kernel
def _count_part(data, start, end, rules, merges, memory, places):
    """Tokens of a part of a text, which other added tokens cut into sections."""
    if rules.options[COOKED] == 0:
        return _count_section(data, start, end, rules, merges, memory, places)
    count, at = 0, start
    while at < end:
        stop, after = _added_token(data, at, end, rules.cooked, rules.starts, IS_COOKED)
        count += _count_section(data, at, stop, rules, merges, memory, places) + (after > stop)
        at = after
    return count


@inlined
def _added_token(data, at, end, trie, starts, flag):
    """Place of the first added token and the place after the longest one there; the end twice without one."""
    while at < end:
        if starts[data[at]] & flag:
            after = _longest(data, at, end, trie)
            if after > at:
                return at, after
        at += 1
    return end, end


@inlined
def _longest(data, at, end, trie):
    """The place after the longest key of a trie that the text at `at` begins with; `at` without one."""
    unit, longest, k = trie[0], at, at
    while k < end:
        byte = data[k]
        unit = child(trie, unit, byte)
        if not is_child(unit, byte):
            break
        k += 1
        if value_of(unit) >= 0:
            longest = k
    return longest


@kernel
def _count_section(data, start, end, rules, merges, memory, places):
    """Tokens of a text without added tokens."""
    if start >= end:
        return 0
    if not rules.options[PREFIX] or data[start] == BLANK:
        return _count_words(data, start, end, rules, merges, memory, places)
    memory.text[0] = BLANK
    size = copy(data, start, end, memory.text, 1)
    return _count_words(memory.text, 0, size, rules, merges, memory, places)


@kernel
def _count_words(text, start, end, rules, merges, memory, places):
    split, digits, table = rules.options[SPLIT], rules.options[DIGITS], rules.classes
    count, at = 0, start
    while at < end:
        if split == GPT2:
            stop = gpt2_end(text, at, end, table)
        elif split == CL100K:
            stop = cl100k_end(text, at, end, digits, table)
        else:
            stop = end
        count += 1 if stop - at == 1 else _count_word(text, at, stop, rules, merges, memory, places)
        at = stop
    return count


@inlined
def _count_word(text, start, end, rules, merges, memory, places):
    size = end - start
    if size > LONGEST or start + SPARE > len(text):
        return _unknown(text, start, end, rules, merges, places)
    known = memory.known
    first, second, third, slot = key_of(text, start, size)
    same = known[slot, 0] == first and known[slot, 1] == second and known[slot, 2] == third
    if same and known[slot, 3] & 0xFF == size:
        return known[slot, 3] >> 8
    count = _unknown(text, start, end, rules, merges, places)
    if seen_before(memory.seen, slot, first, second, third):
        known[slot, 0], known[slot, 1], known[slot, 2] = first, second, third
        known[slot, 3] = size | (np.int64(count) << 8)
    return count


@kernel
def _unknown(text, start, end, rules, merges, places):
    """Tokens of a word that is not remembered."""
    if rules.options[EXCEPTIONS] and _longest(text, start, end, rules.words) == end:
        return np.int64(1)
    return np.int64(merged(text, start, end, merges, places))
