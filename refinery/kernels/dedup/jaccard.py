"""Similarity of pairs: exact for two sets of shingle hashes, estimated for two MinHash signatures."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import ints, numbers
from refinery.kernels.core.blocks import count_set, load_word
from refinery.kernels.core.jit import entry, inlined

_LOW = np.uint64(0x7FFF7FFF7FFF7FFF)  # all but the highest bit of each entry


def jaccard(left: pa.Array, right: pa.Array) -> pa.Array:
    """Size of the intersection over that of the union of each pair of sorted, distinct lists of uint64 (float64).

    1.0 for two empty lists, which are equal sets; NULL where one list is NULL.
    """
    result = np.zeros(len(left), np.float64)
    (a, a_offsets), (b, b_offsets) = _lists(left), _lists(right)
    _jaccard(a, a_offsets, b, b_offsets, result)
    return ints(result, ~(_nulls(left) | _nulls(right)))


def estimate(left: pa.Array, right: pa.Array) -> pa.Array:
    """Share of equal entries of each pair of signatures: blobs of little-endian uint16, equally long (float64).

    NULL where one signature is NULL. Two different minima agree in their low 16 bits once in 65,536 times.
    """
    result = np.zeros(len(left), np.float64)
    (a, a_offsets), (b, b_offsets) = _blobs(left), _blobs(right)
    _estimate(a, a_offsets, b, b_offsets, result)
    return ints(result, ~(_nulls(left) | _nulls(right)))


def _nulls(column: pa.Array) -> np.ndarray:
    if not column.null_count:
        return np.zeros(len(column), np.bool_)
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False), np.bool_)


def _lists(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    values = column.values
    items = np.zeros(0, np.uint64) if len(values) == 0 else numbers(values).astype(np.uint64)
    return items, numbers(column.offsets).astype(np.int64)


def _blobs(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    _, offsets, data = column.buffers()
    width = np.int64 if pa.types.is_large_binary(column.type) else np.int32
    starts = np.frombuffer(offsets, width)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    return np.frombuffer(data or b"", np.uint8), starts


@entry("uint64[] int64[] uint64[] int64[] float64[]")
def _jaccard(a, a_offsets, b, b_offsets, result):
    for row in range(len(result)):
        i, i_end = a_offsets[row], a_offsets[row + 1]
        j, j_end = b_offsets[row], b_offsets[row + 1]
        total, shared = i_end - i + j_end - j, 0
        while i < i_end and j < j_end:
            x, y = a[i], b[j]
            shared += x == y
            i += x <= y
            j += y <= x
        result[row] = shared / (total - shared) if total else 1.0


@inlined
def _equal_entries(difference):
    """Number of entries of 16 bits that are 0."""
    return count_set(~(((difference & _LOW) + _LOW) | difference | _LOW))


@entry("uint8[] int64[] uint8[] int64[] float64[]")
def _estimate(a, a_offsets, b, b_offsets, result):
    for row in range(len(result)):
        i, j = a_offsets[row], b_offsets[row]
        size = min(a_offsets[row + 1] - i, b_offsets[row + 1] - j)
        same, whole = 0, size // 8 * 8
        for k in range(0, whole, 8):
            same += _equal_entries(load_word(a, i + k) ^ load_word(b, j + k))
        for k in range(whole, size - 1, 2):
            same += (a[i + k] == b[j + k]) & (a[i + k + 1] == b[j + k + 1])
        result[row] = same / (size // 2) if size > 1 else 0.0
