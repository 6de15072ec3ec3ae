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
from refinery.kernels.core.jit import entry
from refinery.kernels.models.fasttext_file import CODES, DIM, LABEL, Model, Tables, read
from refinery.kernels.models.fasttext_hash import NONE
from refinery.kernels.models.fasttext_matrix import ModelFileError, OtherModel
from refinery.kernels.models.fasttext_scores import Scores, exponential, find_best, new_scores
from refinery.kernels.models.fasttext_vector import Room, new_room, vector
from refinery.kernels.models.fasttext_words import Memory, new_memory
from refinery.kernels.text.lower import lowered

MODELS = 4  # that stay loaded
NOTHING, OVERFLOW = -1, -2  # in place of a label
LARGE, COPIES = 4 << 20, 8 << 20  # bytes of rows that are more than a processor's cache holds; bytes of copies


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
    predictions = predict(model, lowered(view) if lower else view, k, 0.0, wanted)
    labelled = predictions.labels != NOTHING
    label = _of_numbers(names(model), predictions.labels)
    return structs(
        view.valid,
        label=label,
        score=ints(predictions.scores.astype(np.float64), labelled),
        scores=_lists(predictions.wanted),
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
        [_above(every, row, threshold) if is_text else None for row, is_text in zip(scores, view.valid, strict=True)]
    )


def _above(every: Sequence[str], scores: np.ndarray, threshold: float) -> str:
    order = np.argsort(-scores, kind="stable")
    labels = {every[place]: float(scores[place]) for place in order if scores[place] > threshold}
    return json.dumps(labels, ensure_ascii=False)


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
    arguments = (
        view.data,
        view.offsets,
        view.valid,
        model.tables,
        memory,
        room_for_scores,
        new_room(int(np.diff(view.offsets).max(initial=0))),
    )
    most = len(model.labels) if k == -1 else min(k, len(model.labels))
    predict_rows(*arguments, most, float(threshold), columns, labels, scores, chosen)
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
        if not valid[row] or not vector(data, offsets[row], offsets[row + 1], tables, memory, scores.sums, room):
            continue
        count = find_best(tables, scores, k, np.float32(threshold))
        if count < 0:
            labels[row] = OVERFLOW
        if count > 0:
            labels[row], label_scores[row] = scores.labels[0], exponential(scores.best[0])
        for i in range(count):
            column = columns[scores.labels[i]]
            if column >= 0:
                wanted[row, column] = exponential(scores.best[i])
