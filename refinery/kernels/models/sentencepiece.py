"""Pieces of texts by SentencePiece models, equal to those of the library `sentencepiece` 0.2.3."""

from __future__ import annotations

import math
import threading
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import structs, texts
from refinery.kernels.core.file_state import state_of
from refinery.kernels.core.jit import entry
from refinery.kernels.models import piece_numbers
from refinery.kernels.models.double_array import built
from refinery.kernels.models.piece_numbers import Spelling
from refinery.kernels.models.pieces import counted, no_ends
from refinery.kernels.models.sentencepiece_bpe import ranks
from refinery.kernels.models.sentencepiece_encode import IS_BPE, SPARE, Pieces, Scratch, encode_text, new_scratch
from refinery.kernels.models.sentencepiece_file import (
    BPE,
    BYTE,
    NORMAL,
    SPACE_SYMBOL,
    USER_DEFINED,
    ModelFile,
    Unsupported,
    read,
)
from refinery.kernels.models.sentencepiece_memory import new_memory
from refinery.kernels.models.sentencepiece_rules import Rules, normalize, rules_of

# Added to the lowest score of a piece for a character that no piece has.
UNKNOWN_PENALTY = 10.0


class Model(NamedTuple):
    """A model as kernels need it."""

    rules: Rules
    pieces: Pieces
    spelling: Spelling
    local: threading.local  # of each thread: its memory of words


_loading = threading.Lock()


def load(path: str) -> Model:
    """The model in a file, loaded once for each state of it. Raises OSError, Damaged, Unsupported."""
    with _loading:
        return _loaded(path, *state_of(path))


@lru_cache(maxsize=8)
def _loaded(path: str, *state: int) -> Model:
    model = read(path)
    spelling = piece_numbers.spelling_of([piece for piece, _, _ in model.pieces])
    return Model(rules_of(model), _pieces_of(model), spelling, threading.local())


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
    options = [model.unknown, model.byte_fallback, splits, is_bpe, math.ceil(np.abs(scores).max()), len(model.pieces)]
    of_bytes = {piece: number for number, (piece, _, kind) in enumerate(model.pieces) if kind == BYTE}
    bytes_of = [of_bytes[name] for name in sorted(of_bytes)]  # capital hexadecimal digits sort as numbers do
    return Pieces(trie, scores, ranks(scores), np.array(bytes_of, np.int32), np.array(options, np.int64))


def _score(piece: bytes, score: float, kind: int) -> float:
    """Score of a piece; those of the user's symbols grow with their length, so that they always win."""
    return 0.1 * (len(piece) - 1) if kind == USER_DEFINED else score


def pieces(column: pa.Array | pa.ChunkedArray, path: str) -> pa.Array:
    """Pieces of every text as a struct of n, joined and ends (see `models.pieces`); NULL for NULL."""
    return _written(numbers(column, path), path)


def written(numbers: pa.Array, joined: pa.Array, ends: pa.Array, path: str | None) -> pa.Array:
    """Pieces given as numbers of a model, or as joined and ends (see `models.piece_numbers`), as of `pieces`; NULL for NULL."""
    if path is None or numbers.null_count == len(numbers):  # constants have no value for an empty vector
        return counted(joined, ends)
    return _written(numbers, path)


def _written(numbers: pa.Array, path: str) -> pa.Array:
    joined, counts = piece_numbers.spelled(numbers, load(path).spelling)
    return structs(texts(numbers).valid, n=counts, joined=joined, ends=no_ends(len(numbers)))


def numbers(column: pa.Array | pa.ChunkedArray, path: str) -> pa.Array:
    """Numbers of the pieces of every text (see `models.piece_numbers`); NULL for NULL."""
    model, view = load(path), texts(column)
    rows = len(view)
    longest = int(np.diff(view.offsets).max(initial=0))
    scratch = _scratch(model, longest + longest // 2 + 64)
    out = np.empty(view.size + 1024, np.int32)
    offsets = np.zeros(rows + 1, np.int64)
    row = 0
    while True:
        row = int(_encode(view.data, view.offsets, view.valid, row, model.rules, model.pieces, scratch, out, offsets))
        if row >= 0:
            break
        row = -1 - row
        scratch = _scratch(model, 2 * len(scratch.text))
        out = np.concatenate([out, np.empty(len(out), np.int32)])
    return piece_numbers.column_of(out, offsets, view.valid)


def _scratch(model: Model, room: int) -> Scratch:
    if not hasattr(model.local, "memory"):
        model.local.memory = new_memory()
    return new_scratch(room, bool(model.pieces.options[IS_BPE]), *model.local.memory)


@entry("uint8[] int64[] bool[] int64 Rules Pieces Scratch int32[] int64[] -> int64", Rules, Pieces, Scratch)
def _encode(data, offsets, valid, first, rules, pieces, scratch, out, out_offsets):
    """Encode the rows from `first` on; returns the number of rows, or -1 - the row for which there is no room."""
    w = out_offsets[first]
    for row in range(first, len(valid)):
        if valid[row]:
            size = normalize(data, offsets[row], offsets[row + 1], rules, scratch.text)
            if size < 0 or size + SPARE > len(scratch.text) or w + size + SPARE > len(out):
                return -1 - row
            w = encode_text(size, pieces, rules.symbols, scratch, out, w)
        out_offsets[row + 1] = w
    return len(valid)
