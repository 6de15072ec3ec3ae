"""MinHash match keys of texts, their shingle sets, and the shingles that two texts share."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from refinery.kernels.dedup.minhash import NONE, fast_minima
from refinery.kernels.dedup.minhash_bands import match_keys
from refinery.kernels.dedup.minhash_datatrove import datatrove_minima
from refinery.kernels.dedup.minhash_exact import data_juicer_minima
from refinery.kernels.dedup.minhash_shingles import shingle_sets
from refinery.kernels.dedup.shingles import Room, Tokens, tokens


def split(
    column: pa.Array,
    normalize: str,
    tokenization: str,
    lowercase: bool,
    ignore_pattern: str | None,
    tokenizer_model: str | None,
    room: Room | None = None,
) -> Tokens:
    """Tokens of texts, which are normalised first where normalize is `datatrove`. room: see `shingles.tokens`."""
    if normalize == "datatrove":
        from refinery.kernels.dedup.minhash_normalize import simplified  # a late import: few recipes need it

        column = simplified(column)
    return tokens(column, tokenization, lowercase, ignore_pattern, tokenizer_model, room)


class DatatroveHash(NamedTuple):
    """Choice among datatrove's hash functions; see `minhash_datatrove.datatrove_minima`."""

    seed: int = 1
    precision: int = 64
    function: str = "xxhash"


def signatures(
    split: Tokens,
    window: int,
    hash: str,
    permutations: int,
    bands: int,
    rows_per_band: int,
    short: str,
    choice: DatatroveHash | None = None,
) -> pa.Array:
    """Struct of `bands` (list of uint64, one key per band), `signature` (binary, two bytes per permutation), and `short`.

    choice: of the hash `datatrove`. `short` is true for a text of fewer tokens than the window. Such a text has the largest value for each minimum where the
    parameter is `data_juicer`, it is one shingle where it is `compare` (without tokens: NULL), and else NULL. NULL for a NULL text.
    """
    few = np.diff(split.firsts) <= window
    if hash == "datatrove":
        minima, present = datatrove_minima(split, window, bands * rows_per_band, *(choice or DatatroveHash()))
        return match_keys(minima, present, bands, rows_per_band, few)
    minima, present = (data_juicer_minima if hash == "data_juicer" else fast_minima)(split, window, permutations)
    if short == "keep":
        present = present & ~few
    elif short == "data_juicer":
        minima[few], present = NONE, split.valid
    return match_keys(minima, present, bands, rows_per_band, few)


_local = threading.local()


def room_of_thread() -> Room:
    """Memory of this thread for tokens that are used up before the next ones are made."""
    room: Room = _local.__dict__.setdefault("room", Room())
    return room


def shingle_set(split: Tokens, window: int) -> pa.Array:
    """Distinct shingles of each text as sorted 64-bit hashes; see `minhash_shingles.shingle_sets`."""
    return shingle_sets(split, window)


def shared_shingles(left: str, right: str, params: dict[str, Any], limit: int | None = None) -> list[str]:
    """Distinct shingles that two texts share, in the order of the left text, at most `limit`.

    params: complete parameters of `document_minhash_deduplicator`.
    """
    names = ("normalize", "tokenization", "lowercase", "ignore_pattern", "tokenizer_model")
    tokens = split(pa.array([left, right], pa.large_string()), *(params[name] for name in names))
    window = params.get("n_grams") or params["window_size"]
    other = set(_shingles(tokens, 1, window))
    shared = [shingle for shingle in dict.fromkeys(_shingles(tokens, 0, window)) if shingle in other]
    return shared[:limit]


def _shingles(split: Tokens, row: int, window: int) -> list[str]:
    first, last = int(split.firsts[row]), int(split.firsts[row + 1]) - 1
    window = min(window, last - first)
    starts, data = split.starts, split.data
    ranges = ((starts[i], starts[i + window] - split.gap) for i in range(first, last - window + 1)) if window else ()
    return [bytes(data[start:end]).decode() for start, end in ranges]
