"""Pieces of texts by SentencePiece models, equal to those of the library `sentencepiece` 0.2.3."""

from __future__ import annotations

import math
import threading
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import strings, structs, texts
from refinery.kernels.core.file_state import state_of
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.models.double_array import built
from refinery.kernels.models.pieces import no_ends
from refinery.kernels.models.sentencepiece_bpe import join_symbols, ranks
from refinery.kernels.models.sentencepiece_file import (
    BPE,
    NORMAL,
    SPACE_SYMBOL,
    USER_DEFINED,
    ModelFile,
    Unsupported,
    read,
)
from refinery.kernels.models.sentencepiece_memory import (
    LONGEST,
    MOST_PIECES,
    SPARE,
    is_known,
    is_safe,
    key_of,
    margin_of,
    new_memory,
    remember,
    seen_before,
    write,
)
from refinery.kernels.models.sentencepiece_rules import Rules, normalize, rules_of
from refinery.kernels.models.sentencepiece_unigram import best_path

SPACE = 0x20
_FIRST, _SECOND, _THIRD = SPACE_SYMBOL
# Added to the lowest score of a piece for a character that no piece has.
UNKNOWN_PENALTY = 10.0
UNKNOWN, BYTE_FALLBACK, SPLITS, IS_BPE, LARGEST = range(5)
HEX = np.frombuffer(b"0123456789ABCDEF", np.uint8)


class Pieces(NamedTuple):
    """Tables of a model's pieces.

    trie: of the pieces, with their numbers. scores: of each piece, then that of an unknown character. ranks: of a BPE
    model, its scores. options: by the constants above; SPLITS: no piece crosses the beginning of a word; LARGEST: no score is farther from 0.
    """

    trie: np.ndarray
    scores: np.ndarray
    ranks: np.ndarray
    options: np.ndarray


record(Pieces, "int64[] float32[] int32[] int64[]")


class Scratch(NamedTuple):
    """Room for a text: normalized; best totals, origins and pieces for each of its bytes; ends of a word's pieces.

    For a BPE model: links between symbols, places in the trie, and pairs.
    """

    text: np.ndarray
    totals: np.ndarray
    origins: np.ndarray
    found: np.ndarray
    ends: np.ndarray
    links: np.ndarray
    units: np.ndarray
    heap: np.ndarray
    memory: np.ndarray  # words, see `sentencepiece_memory`
    seen: np.ndarray
    sums: np.ndarray
    begins: np.ndarray


record(
    Scratch, "uint8[] float32[] int32[] int32[] int32[] int32[,] int64[] int64[,] int64[,] int64[] float64[,] int32[]"
)


class Model(NamedTuple):
    """A model as kernels need it."""

    rules: Rules
    pieces: Pieces
    local: threading.local  # of each thread: its memory of words


_loading = threading.Lock()


def load(path: str) -> Model:
    """The model in a file, loaded once for each state of it. Raises OSError, Damaged, Unsupported."""
    with _loading:
        return _loaded(path, *state_of(path))


@lru_cache(maxsize=8)
def _loaded(path: str, *state: int) -> Model:
    model = read(path)
    return Model(rules_of(model), _pieces_of(model), threading.local())


def _pieces_of(model: ModelFile) -> Pieces:
    plain = [score for _, score, kind in model.pieces if kind == NORMAL]
    is_bpe = model.kind == BPE
    own = [piece[1] if is_bpe else _score(*piece) for piece in model.pieces]
    scores = np.array([*own, 0], np.float32)
    scores[-1] = np.float32(min(plain)) - np.float32(UNKNOWN_PENALTY)
    used = [number for number, piece in enumerate(model.pieces) if piece[2] in (NORMAL, USER_DEFINED)]
    try:
        trie = built([model.pieces[number][0] for number in used], used)
    except ValueError as error:
        raise Unsupported(str(error)) from None
    splits = not model.suffix and not any(
        SPACE_SYMBOL in piece.removeprefix(SPACE_SYMBOL)
        for piece, _, kind in model.pieces
        if kind in (NORMAL, USER_DEFINED)
    )
    options = [model.unknown, model.byte_fallback, splits, is_bpe, math.ceil(np.abs(scores).max())]
    return Pieces(trie, scores, ranks(scores), np.array(options, np.int64))


def _score(piece: bytes, score: float, kind: int) -> float:
    """Score of a piece; those of the user's symbols grow with their length, so that they always win."""
    return 0.1 * (len(piece) - 1) if kind == USER_DEFINED else score


def pieces(column: pa.Array | pa.ChunkedArray, path: str) -> pa.Array:
    """Pieces of every text as a struct of n, joined and ends (see `models.pieces`); NULL for NULL."""
    model, view = load(path), texts(column)
    rows = len(view)
    longest = int(np.diff(view.offsets).max(initial=0))
    scratch = _scratch(model, longest + longest // 2 + 64)
    out = np.empty(view.size * 2 + 4096, np.uint8)
    offsets, counts = np.zeros(rows + 1, np.int64), np.zeros(rows, np.int64)
    row = 0
    while True:
        row = int(
            _encode(view.data, view.offsets, view.valid, row, model.rules, model.pieces, scratch, out, offsets, counts)
        )
        if row >= 0:
            break
        row = -1 - row
        scratch = _scratch(model, 2 * len(scratch.text))
        out = np.concatenate([out, np.empty(len(out), np.uint8)])
    return structs(view.valid, n=counts, joined=strings(out, offsets, view.valid), ends=no_ends(rows))


def _scratch(model: Model, room: int) -> Scratch:
    """Room for a text of so many bytes; what is never written is never allocated by the system."""
    origins, found, ends = (np.empty(room + 1, np.int32) for _ in range(3))
    more = room + 1 if model.pieces.options[IS_BPE] else 1
    links, units, heap = np.empty((4, more), np.int32), np.empty(more, np.int64), np.empty((2, 3 * more), np.int64)
    sums, begins = np.empty((2, LONGEST + 1), np.float64), np.empty(LONGEST + 1, np.int32)
    memory, seen = _own(model)
    text, totals = np.empty(room, np.uint8), np.empty(room + 1, np.float32)
    return Scratch(text, totals, origins, found, ends, links, units, heap, memory, seen, sums, begins)


def _own(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """The memory of this thread."""
    if not hasattr(model.local, "memory"):
        model.local.memory = new_memory()
    memory: tuple[np.ndarray, np.ndarray] = model.local.memory
    return memory


@entry("uint8[] int64[] bool[] int64 Rules Pieces Scratch uint8[] int64[] int64[]", Rules, Pieces, Scratch)
def _encode(data, offsets, valid, first, rules, pieces, scratch, out, out_offsets, counts):
    """Encode the rows from `first` on; returns the number of rows, or -1 - the row for which there is no room."""
    w = out_offsets[first]
    for row in range(first, len(valid)):
        if valid[row]:
            size = normalize(data, offsets[row], offsets[row + 1], rules, scratch.text)
            most = 7 if pieces.options[BYTE_FALLBACK] else 2
            if size < 0 or w + most * size + SPARE > len(out):
                return -1 - row
            counts[row], w = _encode_text(size, pieces, rules.symbols, scratch, out, w)
        out_offsets[row + 1] = w
    return len(valid)


@kernel
def _encode_text(size, pieces, symbols, scratch, out, w):
    """Write the pieces of the normalized text; returns their number, and the position after them."""
    text, options, scores = scratch.text, pieces.options, pieces.scores
    memory = scratch.memory
    unknown, fallback = options[UNKNOWN], options[BYTE_FALLBACK] != 0
    total, count, start, after_unknown = np.float32(0), 0, 0, False
    while start < size:
        end = _word_end(text, start, size) if options[SPLITS] else size
        length, slot = end - start, -1
        first = second = third = np.int64(0)
        if length <= LONGEST and options[SPLITS] and start + SPARE <= len(text):
            first, second, third, slot = key_of(text, start, length)
            if is_known(memory, slot, first, second, third, length) and (
                options[IS_BPE] or is_safe(memory, slot, total, length, options[LARGEST])
            ):
                total, count, w = write(text, start, memory, slot, scores, total, count, out, w)
                start, after_unknown = end, False
                continue
        again = slot >= 0 and seen_before(scratch.seen, slot, first, second, third)
        margin = np.inf
        if options[IS_BPE]:
            top = join_symbols(text, start, end, pieces.trie, symbols, pieces.ranks, unknown, scratch)
        else:
            total = best_path(
                text, start, end, total, pieces.trie, scores, unknown, scratch.totals, scratch.origins, scratch.found
            )
            top = _forward(scratch.origins, length, scratch.ends)
            if again and top <= MOST_PIECES:
                margin = margin_of(
                    text, start, length, pieces.trie, scores, scratch.origins, scratch.sums, scratch.begins
                )
        if again:
            remember(memory, slot, first, second, third, length, scratch.ends, scratch.found, top, unknown, margin)
        begin = start
        for piece in range(top):
            place = scratch.ends[piece]
            is_unknown = scratch.found[place] == unknown
            if is_unknown and fallback:
                for k in range(begin, start + place):
                    w = _byte_piece(text[k], count, out, w)
                    count += 1
            else:
                if not (is_unknown and after_unknown):
                    if count:
                        out[w] = SPACE
                        w += 1
                    count += 1
                for k in range(begin, start + place):
                    out[w] = text[k]
                    w += 1
            after_unknown = is_unknown
            begin = start + place
        start = end
    return count, w


@kernel
def _forward(origins, place, ends):
    """Write the ends of the pieces of the best path, in order; returns their number."""
    count = 0
    at = place
    while at > 0:
        at = origins[at]
        count += 1
    at = place
    for k in range(count - 1, -1, -1):
        ends[k] = at
        at = origins[at]
    return count


@kernel
def _word_end(text, start, size):
    """End of the word that begins at `start`: before the next escaped space."""
    for k in range(start + 1, size - 2):
        if text[k] == _FIRST and text[k + 1] == _SECOND and text[k + 2] == _THIRD:
            return k
    return size


@kernel
def _byte_piece(byte, count, out, w):
    """Write the piece of a byte, such as <0x0A>, with a space before it unless it is the first."""
    if count:
        out[w] = SPACE
        w += 1
    out[w], out[w + 1], out[w + 2] = 0x3C, 0x30, 0x78
    out[w + 3], out[w + 4], out[w + 5] = HEX[byte >> 4], HEX[byte & 15], 0x3E
    return w + 6
