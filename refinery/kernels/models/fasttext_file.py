"""Model files of fastText: supervised models, dense (`.bin`) or product-quantized (`.ftz`), mapped and checked.

Kernels check no bounds, so everything that they follow is checked here against the length of the file: places of words
and rows, kept buckets, codes, the tree of labels.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from threading import local
from typing import Any, NamedTuple

import numpy as np

from refinery.kernels.core.jit import entry
from refinery.kernels.core.memory import aligned
from refinery.kernels.core.signatures import record
from refinery.kernels.models.fasttext_hash import NONE, START, empty_table, fill_buckets, fill_words, find_word, no_bits
from refinery.kernels.models.fasttext_matrix import Dense, ModelFileError, OtherModel, Quantized, Reader
from refinery.kernels.models.fasttext_tree import tree_of

MAGIC, VERSIONS, SUPERVISED = 793712314, (11, 12), 3
HIERARCHICAL, NEGATIVE, SOFTMAX, ONE_VS_ALL = 1, 2, 3, 4
LONGEST = 64  # characters of an n-gram, words of a word n-gram: more would take time without end
DECODED = 64 << 20  # bytes of quantized rows that are decoded when the model is loaded
EOS = b"</s>"
LABEL = b"__label__"

# Places in `Tables.sizes`
(
    DIM,
    WORDS,
    LABELS,
    BUCKET,
    MINN,
    MAXN,
    NGRAMS,
    LOSS,
    PRUNED,
    EOS_ROW,
    ROWS_AT,
    CODES,
    CODES_AT,
    NORMS_AT,
    PART,
    WIDTH,
    EOS_COUNTS,
) = range(17)


class Tables(NamedTuple):
    """A model as kernels read it.

    sizes: int64, by the names above. file: uint8, the whole file. places: int64, of each word and label in the file.
    slots: int32, hash table of words and labels. pruned: int32, hash table of pairs of a kept bucket and its row; kept: bits.
    rows: uint8, the input rows as float32 from sizes[ROWS_AT] on; sizes[CODES] > 0: they have so many codes each, one for PART
    columns, from sizes[CODES_AT] on; codes of norms are from sizes[NORMS_AT] on, 0 without. centroids, norms: float32.
    output: float32, one row of `sizes[WIDTH]` labels for each dimension. output_norms: float32. tree: int32, the two
    children of each inner node of the labels' tree.
    """

    sizes: np.ndarray
    file: np.ndarray
    places: np.ndarray
    slots: np.ndarray
    pruned: np.ndarray
    kept: np.ndarray
    rows: np.ndarray
    centroids: np.ndarray
    norms: np.ndarray
    output: np.ndarray
    output_norms: np.ndarray
    tree: np.ndarray


record(
    Tables,
    "int64[] uint8[] int64[] int32[] int32[] uint8[] uint8[] float32[] float32[] float32[] float32[] int32[]",
)


@dataclass
class Model:
    """A loaded model. labels: in the order of their numbers, with their prefix. local: room of each thread."""

    tables: Tables
    labels: list[str]
    local: Any = field(default_factory=local)

    def size(self, name: int) -> int:
        """One of `Tables.sizes`."""
        return int(self.tables.sizes[name])


def read(path: str) -> Model:
    """Map a model file. Raises ModelFileError for a damaged or other file, OSError for one that cannot be read."""
    with open(path, "rb") as file:
        if file.seek(0, 2) == 0:
            raise ModelFileError("the file is empty")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return _model(Reader(np.frombuffer(mapped, np.uint8)))


def _model(source: Reader) -> Model:
    sizes = np.zeros(EOS_COUNTS + 1, np.int64)
    _header(source, sizes)
    places, counts = _dictionary(source, sizes)
    pairs = source.take("<i4", 2 * max(int(sizes[PRUNED]), 0)).reshape(-1, 2)
    quantized = bool(source.number("<B"))
    rows = Quantized(source) if quantized else Dense(source)
    output = Quantized(source) if source.number("<B") and quantized else Dense(source)
    source.end()
    _check_rows(sizes, rows, quantized, pairs)
    n, dim = int(sizes[LABELS]), int(sizes[DIM])
    if output.shape != (n, dim):
        raise ModelFileError(f"its output has {output.shape} numbers for {n} labels of {dim} dimensions")
    if not np.isfinite(output.centroids if isinstance(output, Quantized) else output.values()).all():
        raise ModelFileError("its output has numbers that are not finite")
    labels = _labels(source.data, places[sizes[WORDS] :])
    slots, buckets = empty_table(len(places)), empty_table(len(pairs), 2)
    fill_words(source.data, places, slots)
    kept = no_bits(len(pairs))
    fill_buckets(np.array(pairs, np.int32).reshape(-1), buckets, kept)
    sizes[EOS_ROW], sizes[EOS_COUNTS] = _end_of_line(source.data, places, slots, int(sizes[WORDS]))
    table, norms = _transposed(output, sizes)
    inputs = _input(source.data, rows, sizes)
    tree = tree_of(counts[sizes[WORDS] :]) if sizes[LOSS] == HIERARCHICAL else np.zeros(0, np.int32)
    return Model(Tables(sizes, source.data, places, slots, buckets, kept, *inputs, table, norms, tree), labels)


def _header(source: Reader, sizes: np.ndarray) -> None:
    magic, version = source.number("<i"), source.number("<i")
    if magic != MAGIC:
        raise ModelFileError("it does not begin as a model of fastText does")
    if version not in VERSIONS:
        raise OtherModel(
            f"its version is {version}, and refinery reads 11 and 12; fastText 0.9.2 writes 12 and reads none above. Get "
            "the model in version 12, or train it with fastText 0.9.2"
        )
    dim, _, _, _, _, words, loss, kind, bucket, least, most, _ = (int(n) for n in source.take("<i4", 12))
    source.number("<d")
    if kind != SUPERVISED:
        raise OtherModel("it holds word vectors and no classifier: train it with `fasttext supervised`")
    if loss not in (HIERARCHICAL, NEGATIVE, SOFTMAX, ONE_VS_ALL):
        raise ModelFileError(f"its loss has number {loss}, and refinery knows 1 to 4")
    most = 0 if version == 11 else most  # old models have no n-grams of characters
    if dim < 1 or least < 0 or most < 0:
        raise ModelFileError(f"it has dim {dim}, minn {least} and maxn {most}")
    if most > LONGEST or words > LONGEST:
        raise OtherModel(
            f"it has maxn {most} and wordNgrams {words}, and refinery reads n-grams of up to {LONGEST} characters or words. "
            f"Train it with -maxn and -wordNgrams of at most {LONGEST}"
        )
    if bucket < 1 and (most > 0 or words > 1):
        raise ModelFileError(f"it has n-grams and {bucket} buckets for them")
    sizes[[DIM, BUCKET, MINN, MAXN, NGRAMS, LOSS]] = dim, bucket, least, most, words, loss


def _dictionary(source: Reader, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Place of each word and label, and its count."""
    size, words, labels = (int(n) for n in source.take("<i4", 3))
    _, pruned = (int(n) for n in source.take("<i8", 2))
    if words < 0 or labels < 1 or size != words + labels or pruned < -1:
        raise ModelFileError(f"its dictionary has {size} entries, {words} words, {labels} labels, {pruned} buckets")
    source.need(size * 10)
    places, counts = np.zeros(size, np.int64), np.zeros(size, np.int64)
    end = walk(source.data, source.at, words, places, counts)
    if end < 0:
        raise ModelFileError("its dictionary is cut off or not in order")
    source.at = end
    sizes[[WORDS, LABELS, PRUNED]] = words, labels, pruned
    return places, counts


@entry("uint8[] int64 int64 int64[] int64[] -> int64")
def walk(file, at, words, places, counts):
    """Find the entries of a dictionary; returns the place after them, -1 for a file that ends or has them in disorder."""
    for entry_number in range(len(places)):
        places[entry_number] = at
        while at < len(file) and file[at] != 0:
            at += 1
        if at + 10 > len(file) or file[at + 9] != (0 if entry_number < words else 1):
            return -1
        count = np.uint64(0)
        for i in range(8, 0, -1):
            count = count << np.uint64(8) | np.uint64(file[at + i])
        counts[entry_number] = np.int64(count)
        at += 10
    return at


def _check_rows(sizes: np.ndarray, rows: Dense | Quantized, quantized: bool, pairs: np.ndarray) -> None:
    n, columns = rows.shape
    words, pruned = int(sizes[WORDS]), int(sizes[PRUNED])
    if columns != sizes[DIM]:
        raise ModelFileError(f"its rows have {columns} numbers in place of {sizes[DIM]}")
    if pruned >= 0 and not quantized:
        raise OtherModel("it is pruned but not quantized, as models of 2017 were; get the file that replaced it")
    needed = words
    if pruned < 0 and (sizes[MAXN] > 0 or sizes[NGRAMS] > 1):
        needed += int(sizes[BUCKET])
    elif pruned > 0:
        if pairs.min() < 0:
            raise ModelFileError("a kept bucket has a negative number")
        needed += int(pairs[:, 1].max()) + 1
    if n < needed or needed >= 1 << 31:
        raise ModelFileError(f"it has {n} rows in place of {needed}")


def _labels(data: np.ndarray, places: np.ndarray) -> list[str]:
    try:
        return [_word(data, int(place)).decode() for place in places]
    except UnicodeDecodeError:
        raise ModelFileError("a label is not UTF-8") from None


def _word(data: np.ndarray, place: int) -> bytes:
    end = place
    while data[end]:
        end += 1
    return data[place:end].tobytes()


def _end_of_line(data: np.ndarray, places: np.ndarray, slots: np.ndarray, words: int) -> tuple[int, bool]:
    """Row of the end of a line, NONE without one; True if it takes part in n-grams of words."""
    h = START
    for byte in EOS:
        h = ((h ^ byte) * 16777619) & 0xFFFFFFFF
    number = find_word(data, places, slots, np.frombuffer(EOS, np.uint8), 0, len(EOS), h)
    return (NONE, False) if number >= words else (number, True)


def _input(data: np.ndarray, rows: Dense | Quantized, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, centroids and norms of the input."""
    none = np.zeros(0, np.float32)
    if isinstance(rows, Dense):
        sizes[ROWS_AT] = rows.at
        return data, none, none
    if rows.shape[0] * rows.shape[1] * 4 <= DECODED:
        table = aligned(rows.shape[0] * rows.shape[1], np.float32)
        if rows.shape[0]:
            table[:] = (rows.decoded() * rows.row_norms()[:, None]).reshape(-1)
        return table.view(np.uint8), none, none
    sizes[[CODES, CODES_AT, NORMS_AT, PART]] = rows.parts, rows.at, rows.norms_at, rows.width
    return data, rows.centroids, rows.norms


def _transposed(output: Dense | Quantized, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Output with the labels of one dimension side by side, and a norm for each label."""
    n, dim = output.shape
    width = -(-n // 16) * 16
    sizes[WIDTH] = width
    table, norms = np.zeros((dim, width), np.float32), np.ones(width, np.float32)
    table[:, :n] = (output.decoded() if isinstance(output, Quantized) else output.values()).T
    if isinstance(output, Quantized):
        norms[:n] = output.row_norms()
    return table.reshape(-1), norms
