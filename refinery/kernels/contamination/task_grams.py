"""n-grams of evaluation tasks as datatrove indexes them, and the first one of them in a text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from refinery.common.cached import cached
from refinery.common.packages import installed, installed_version
from refinery.common.paths import printable
from refinery.kernels.contamination.gram_table import GramTable, gram_table
from refinery.kernels.contamination.items import name_of
from refinery.kernels.contamination.joined_grams import first_grams, gram_keys
from refinery.kernels.contamination.set_files import Row, SetError, files_of, rows_of, suffix_of, written
from refinery.kernels.contamination.shared_index import contents, shared_index
from refinery.kernels.core.arrow import each, of_texts, structs
from refinery.kernels.core.file_state import state_of
from refinery.kernels.dedup.minhash_normalize import simplified
from refinery.kernels.dedup.sentence_units import USUAL, normalised
from refinery.kernels.words import language_words


class Grams(NamedTuple):
    """Choice of the n-grams of an item, and of words: n, of the query alone, across query and label, flags, language."""

    n: int
    of_query: bool
    across: bool
    how: int  # flags of `sentence_units.normalised`
    language: str


class TaskIndex(NamedTuple):
    """The n-grams of all tasks. tasks: the names of the tasks of an n-gram, by its value in the table."""

    table: GramTable
    tasks: Sequence[str]

    def arrays(self) -> list[np.ndarray]:
        """All of it as arrays."""
        return [*self.table, np.frombuffer(json.dumps(self.tasks).encode(), np.uint8)]

    @staticmethod
    def of_arrays(arrays: Sequence[np.ndarray]) -> TaskIndex:
        """The index whose `arrays` these are."""
        *table, tasks = arrays
        return TaskIndex(GramTable(*table), json.loads(tasks.tobytes()))


ARRAYS = len(GramTable._fields) + 1

# File, its name as a task, and its state.
File = tuple[str, str, tuple[int, ...]]


def named_files(files: Any) -> list[File]:
    """Files of evaluation data: a path, several, or paths by the name of a task. Raises SetError."""
    if isinstance(files, str):
        files = (files,)
    named = files.items() if isinstance(files, Mapping) else ((name_of(_path(path)), path) for path in files)
    try:
        return [(file, name, state_of(file)) for name, path in named for file in files_of(_path(path))]
    except OSError as error:
        raise SetError(f"{printable(str(error.filename))}: {error.strerror or error}") from None


def _path(value: Any) -> str:
    return str(value["path"] if isinstance(value, Mapping) else value)


@cached(16)
def task_index(files: tuple[File, ...], grams: Grams) -> TaskIndex:
    """The index of the items of files: made once for their contents on this machine, and mapped by all processes. Raises SetError."""
    own = installed_version("regex") if language_words.is_english(grams.language) else installed()

    def facts() -> Any:
        return [[(name, suffix_of(Path(file)), contents(file)) for file, name, _ in files], grams, own]

    arrays = shared_index("task_ngrams", ARRAYS, facts, lambda: _task_index(files, grams).arrays())
    return TaskIndex.of_arrays(arrays)


def _task_index(files: tuple[File, ...], grams: Grams) -> TaskIndex:
    items = [item for file in files for item in _items(file, grams)]
    queries = _words(of_texts([query for _, query, _ in items]), grams)
    labels = _words(of_texts([label for _, _, label in items]), grams)
    pieces: list[tuple[int, list[str]]] = []
    for number, (query, label) in enumerate(zip(queries, labels, strict=True)):
        assert label is not None  # a label is never NULL
        pieces.append((number, label))
        if query is not None and grams.of_query:
            pieces.append((number, query))
        if query is not None and grams.across and grams.n > 1:
            pieces.append((number, query[-grams.n + 1 :] + label[: grams.n - 1]))
    keys, counts = gram_keys(of_texts(["\n".join(words) for _, words in pieces]), grams.n)
    owners = np.repeat(np.array([number for number, _ in pieces], np.int64), counts)
    return _index(keys, owners, [task for task, _, _ in items])


def _items(file: File, grams: Grams) -> Iterator[tuple[str, str | None, str]]:
    """Task, query and label of each item; an item with several labels counts once for each."""
    path, name, _ = file
    place = ""
    for place, row in rows_of(path):
        if "label" not in row:
            raise SetError(
                f"{printable(path)} ({place}): an item has no field label; its fields are {', '.join(map(written, row))}"
            )
        query, labels = row.get("query"), row["label"]
        if query is None and not grams.of_query:
            raise SetError(
                f"{printable(path)} ({place}): an item has no field query; find_query_ngrams: true takes it without one"
            )
        for label in labels if isinstance(labels, list) else [labels]:
            yield _task(row, name), None if query is None else written(query), "" if label is None else written(label)
    if not place:
        raise SetError(f"{printable(path)}: there is no item in the file")


def _task(row: Row, name: str) -> str:
    return written(row["task"]) if row.get("task") else str(name)


def _words(texts: pa.Array, grams: Grams) -> list[list[str] | None]:
    """The words of normalised texts; None for NULL."""
    joined = joined_words(texts, grams).to_pylist()
    return [None if words is None else words.split("\n") if words else [] for words in joined]


def joined_words(texts: pa.Array, grams: Grams) -> pa.Array:
    """The words of normalised texts, a line feed between two; NULL for NULL."""
    if grams.how == USUAL:
        plain = simplified(texts)
    else:
        changed = each(texts, lambda text: normalised(text, grams.how)).to_pylist()
        plain = of_texts([new if new is not None else old for new, old in zip(changed, texts.to_pylist(), strict=True)])
    if language_words.is_english(grams.language):
        return language_words.english(plain).field("joined")
    return language_words.by_library(plain, grams.language).field("joined")


def _index(keys: np.ndarray, owners: np.ndarray, tasks: Sequence[str]) -> TaskIndex:
    """The table of n-grams; those of several tasks have all names, in order of the alphabet."""
    names = sorted(set(tasks))
    places = {name: place for place, name in enumerate(names)}
    numbers = np.array([places[task] for task in tasks], np.int64)[owners] if len(owners) else owners
    pairs = np.unique(np.array([keys, numbers.astype(np.uint64)]), axis=1) if len(keys) else np.empty((2, 0), np.uint64)
    distinct, starts = np.unique(pairs[0], return_index=True)
    groups: dict[tuple[int, ...], int] = {}
    values = (
        [
            groups.setdefault(tuple(group.tolist()), len(groups))
            for group in np.split(pairs[1].astype(np.int64), starts[1:])
        ]
        if len(distinct)
        else []
    )
    return TaskIndex(gram_table(distinct, np.array(values, np.int32)), [", ".join(names[n] for n in g) for g in groups])


def found_grams(texts: pa.Array, files: Any, grams: Grams) -> pa.Array:
    """For each text a struct: ngram, the first n-gram of a task, and tasks, the names of its tasks; empty texts for none."""
    index = task_index(tuple(named_files(files)), grams)
    joined = joined_words(texts, grams)
    values, ngrams = first_grams(joined, grams.n, index.table)
    valid = np.array([text is not None for text in joined.to_pylist()], np.bool_)
    names = [index.tasks[value] if value >= 0 else "" for value in values.tolist()]
    return structs(valid, ngram=of_texts([ngram or "" for ngram in ngrams]), tasks=of_texts(names))
