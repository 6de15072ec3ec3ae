"""Labels of texts by a model of fastText, with the bits of its library."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import Texts, ints, of_texts, structs, texts
from refinery.kernels.core.file_state import state_of
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.models.fasttext_file import (
    BUCKET,
    CODES,
    DIM,
    EOS_COUNTS,
    EOS_ROW,
    LABEL,
    NGRAMS,
    Model,
    Tables,
    read,
)
from refinery.kernels.models.fasttext_hash import NONE
from refinery.kernels.models.fasttext_matrix import ModelFileError, OtherModel
from refinery.kernels.models.fasttext_scores import Scores, exponential, find_best, new_scores
from refinery.kernels.models.fasttext_sums import add_from, add_rows
from refinery.kernels.models.fasttext_words import (
    COPY,
    COUNT,
    HASH,
    REMEMBERED,
    SKIPPED,
    WITH_GRAMS,
    Memory,
    end_of_word,
    entry_of,
    first_row,
    grams,
    hash_of,
    is_end_of_line,
    is_gap,
    new_memory,
    pad,
    push,
    rows_of,
    seen,
)
from refinery.kernels.text.lower import lowered

MODELS = 4  # that stay loaded
NOTHING, OVERFLOW = -1, -2  # in place of a label
LARGE, COPIES = 4 << 20, 8 << 20  # bytes of rows that are more than a processor's cache holds; bytes of copies
SPILL = 1 << 12  # rows of a word that is not remembered, at once
EOS_HASH = 3617362777


class Room(NamedTuple):
    """Room of a thread for one text.

    hashes: int32, of its words. padded: uint8, a word between < and >. rows: int32.
    """

    hashes: np.ndarray
    padded: np.ndarray
    rows: np.ndarray


record(Room, "int32[] uint8[] int32[]")


class Predictions(NamedTuple):
    """The best label of each text and scores of chosen labels.

    labels: int32, NOTHING for NULL and for a text without anything that the model knows. scores: float32. wanted: float32,
    rows x chosen labels, NaN for a label that is not among the best k or stays below the threshold.
    """

    labels: np.ndarray
    scores: np.ndarray
    wanted: np.ndarray


_models: OrderedDict[tuple[str, tuple[int, ...]], Model] = OrderedDict()
_loading = threading.Lock()


def load(path: str) -> Model:
    """The model of a file, read once per state of the file and shared by threads. Raises ModelFileError, OSError."""
    key = (path, state_of(path))
    with _loading:
        if key not in _models:
            _models[key] = read(path)
        _models.move_to_end(key)
        while len(_models) > MODELS:
            _models.popitem(last=False)
        return _models[key]


def problems(path: str, parameter: str = "model") -> list[str]:
    """Reasons why a file is no usable model, as sentences that name the cure."""
    try:
        load(path)
    except OSError as error:
        return [f"{parameter} {path} cannot be read ({error.strerror or error}): give a readable model of fastText"]
    except OtherModel as error:
        return [f"{parameter} {path} is no model that refinery can use: {error}"]
    except ModelFileError as error:
        return [
            f"{parameter} {path} is no model that refinery can use: {error}. Give a supervised model of fastText (.bin or "
            ".ftz); if it was downloaded, download it again"
        ]
    return []


def unknown(labels: Sequence[str], model: Model, parameter: str = "labels") -> list[str]:
    """A sentence for labels that a model does not have."""
    known = names(model)
    wrong = [repr(label) for label in labels if label not in known]
    some = ", ".join(known[:20]) + (f" and {len(known) - 20} more" if len(known) > 20 else "")
    return [f"{parameter}: the model has no label {', '.join(wrong)}; it has {some}"] if wrong else []


def names(model: Model) -> list[str]:
    """Labels without their prefix."""
    return [label.removeprefix(LABEL.decode()) for label in model.labels]


def best_labels(column: pa.Array, path: str | None, lower: bool, k: int, wanted: Sequence[str]) -> pa.Array:
    """A struct for each text, NULL for NULL.

    label, score: the best label without its prefix, and its probability. scores: those of wanted labels, NULL where
    fastText, asked for k labels (-1: all), names them not. lower: apply `str.lower` first. Line feeds separate words.
    """
    view = texts(column)
    if path is None or not len(view):  # constants have no value for an empty vector
        none = np.zeros(len(view), np.bool_)
        return structs(
            none,
            label=of_texts([None] * len(view)),
            score=ints(np.zeros(len(view)), none),
            scores=_lists(np.zeros((len(view), 0))),
        )
    model = load(path)
    found = predict(model, lowered(view) if lower else view, k, 0.0, wanted)
    given = found.labels != NOTHING
    label = _of_numbers(names(model), found.labels)
    return structs(
        view.valid, label=label, score=ints(found.scores.astype(np.float64), given), scores=_lists(found.wanted)
    )


def top_labels(column: pa.Array, path: str | None, threshold: float) -> pa.Array:
    """A JSON object of the labels and scores above a threshold for each text, the greatest first; NULL for NULL."""
    view = texts(column)
    if path is None or not len(view):  # constants have no value for an empty vector
        return of_texts([None] * len(view))
    model = load(path)
    every = names(model)
    scores = predict(model, view, -1, 0.0, every).wanted.astype(np.float64)
    return of_texts(
        [_above(every, row, threshold) if given else None for row, given in zip(scores, view.valid, strict=True)]
    )


def _above(every: Sequence[str], scores: np.ndarray, threshold: float) -> str:
    order = np.argsort(-scores, kind="stable")
    found = {every[place]: float(scores[place]) for place in order if scores[place] > threshold}
    return json.dumps(found, ensure_ascii=False)


def _of_numbers(values: Sequence[str], numbers: np.ndarray) -> pa.Array:
    return of_texts(values).take(ints(numbers, numbers >= 0))


def _lists(values: np.ndarray) -> pa.Array:
    rows, columns = values.shape
    flat = ints(values.astype(np.float64).ravel(), ~np.isnan(values).ravel())
    return pa.ListArray.from_arrays(ints(np.arange(rows + 1, dtype=np.int32) * columns), flat)


def predict(model: Model, view: Texts, k: int = 1, threshold: float = 0.0, wanted: Sequence[str] = ()) -> Predictions:
    """Predict labels. k: labels to look for, -1 for all. wanted: labels whose scores are returned, without prefix."""
    columns = np.full(len(model.labels), NONE, np.int32)
    places = {name: place for place, name in enumerate(names(model))}
    for column, name in enumerate(wanted):
        if name in places:
            columns[places[name]] = column
    rows = len(view)
    labels, scores = np.full(rows, NOTHING, np.int32), np.zeros(rows, np.float32)
    chosen = np.full((rows, len(wanted)), np.nan, np.float32)
    memory, room_for_scores = _own(model)
    given = view.data, view.offsets, view.valid, model.tables, memory, room_for_scores, _room(view)
    most = len(model.labels) if k == -1 else min(k, len(model.labels))
    predict_rows(*given, most, float(threshold), columns, labels, scores, chosen)
    if (labels == OVERFLOW).any():
        raise ValueError("numbers of the fastText model overflow for this text")
    return Predictions(labels, scores, chosen)


def _own(model: Model) -> tuple[Memory, Scores]:
    """Memory of words and room for scores, of this thread."""
    if not hasattr(model.local, "memory"):
        size = model.tables.rows.size if model.size(CODES) == 0 else 0
        model.local.memory = new_memory(COPIES if size > LARGE else 0)
        model.local.scores = new_scores(model.size(DIM), len(model.labels))
    return model.local.memory, model.local.scores


def _room(view: Texts) -> Room:
    longest = int(np.diff(view.offsets).max(initial=0))
    return Room(
        np.empty(longest // 2 + 2, np.int32),
        np.empty(max(longest, REMEMBERED) + 2, np.uint8),
        np.empty(SPILL, np.int32),
    )


@entry(
    "uint8[] int64[] bool[] Tables Memory Scores Room int64 float64 int32[] int32[] float32[] float32[,]",
    Tables,
    Memory,
    Scores,
    Room,
)
def predict_rows(
    data, offsets, valid, tables, memory, scores, room, k, threshold, columns, labels, label_scores, wanted
):
    """Predict the labels of texts; columns: for each label the column of `wanted`, or NONE."""
    for row in range(len(valid)):
        if not valid[row] or not _vector(data, offsets[row], offsets[row + 1], tables, memory, scores.sums, room):
            continue
        found = find_best(tables, scores, k, np.float32(threshold))
        if found < 0:
            labels[row] = OVERFLOW
        if found > 0:
            labels[row], label_scores[row] = scores.labels[0], exponential(scores.best[0])
        for i in range(found):
            column = columns[scores.labels[i]]
            if column >= 0:
                wanted[row, column] = exponential(scores.best[i])


@kernel
def _vector(data, i, end, tables, memory, sums, room):
    """Compute the mean of the rows of a text; returns whether there are any."""
    sums[:] = 0
    count, words = 0, 0
    while True:
        while i < end and is_gap(data[i]):
            i += 1
        start, i = i, end_of_word(data, i, end)
        if i == start or is_end_of_line(data, start, i):
            break
        rows, h = _add_word(data, start, i, tables, memory, sums, room)
        if rows != SKIPPED:
            count += rows
            room.hashes[words] = h
            words += 1
    if tables.sizes[EOS_ROW] != NONE:
        room.rows[0] = tables.sizes[EOS_ROW]
        add_rows(tables, sums, room.rows, 0, 1)
        count += 1
    if tables.sizes[EOS_COUNTS]:
        room.hashes[words] = np.int32(EOS_HASH)
        words += 1
    if tables.sizes[NGRAMS] > 1:
        count += _add_word_grams(tables, room, words, sums)
    if count == 0:
        return False
    scale = np.float32(1.0 / count)
    for j in range(len(sums)):
        sums[j] *= scale
    return True


@inlined
def _add_word(data, start, end, tables, memory, sums, room):
    """Add the rows of a word; returns their number, or SKIPPED, and the hash of the word."""
    if end - start > REMEMBERED:
        h = hash_of(data, start, end)
        return _add_long_word(data, start, end, h, tables, sums, room), np.int32(h)
    cells, at = memory.cells, entry_of(tables, memory, room.padded, data, start, end)
    count, copied = np.int64(cells[at + COUNT]), np.int64(cells[at + COPY])
    if copied >= 0:
        add_from(memory.copies, copied, tables.sizes[DIM], sums, memory.numbers, 0, count)
    elif count > 0:
        first = rows_of(cells, at)
        add_rows(tables, sums, cells, first, first + count)
        if len(memory.copies) > 0:
            seen(tables, memory, at)
    return count, cells[at + HASH]


@kernel
def _add_long_word(data, start, end, h, tables, sums, room):
    kind, w = first_row(tables, data, start, end, h, room.rows, 0)
    if kind == SKIPPED:
        return SKIPPED
    count, i, n = w, 0, end - start + 2
    add_rows(tables, sums, room.rows, 0, w)
    if kind != WITH_GRAMS:
        return count
    pad(data, start, end, room.padded)
    while i < n:
        i, w = grams(tables, room.padded, n, i, room.rows, 0, len(room.rows))
        add_rows(tables, sums, room.rows, 0, w)
        count += w
    return count


@kernel
def _add_word_grams(tables, room, n, sums):
    """Add the rows of the n-grams of words; returns their number."""
    bucket, most = np.uint64(tables.sizes[BUCKET]), tables.sizes[NGRAMS]
    count, w = 0, 0
    for i in range(n):
        h = np.uint64(np.int64(room.hashes[i]))
        for j in range(i + 1, min(n, i + most)):
            h = h * np.uint64(116049371) + np.uint64(np.int64(room.hashes[j]))
            w = push(tables, np.int64(h % bucket), room.rows, w)
        if w + most > len(room.rows) or i == n - 1:
            add_rows(tables, sums, room.rows, 0, w)
            count += w
            w = 0
    return count
