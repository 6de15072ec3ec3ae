"""First phase: the files of the inputs, or the table that a program hands over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from refinery.errors import DataError, problems_of
from refinery.io.model import Source
from refinery.io.python_data.kinds import in_memory
from refinery.io.sources import search
from refinery.operators.reader_files import ReaderFile
from refinery.planning.field_check import text_fields
from refinery.planning.phase import Phase, attempt
from refinery.recipe import Recipe


def discover(recipe: Recipe, readers: Iterable[ReaderFile], dataset: Any, place: str) -> Phase[list[Source]]:
    """The sources of every input that can be read.

    dataset: a table or frame in place of the recipe's inputs, or None. readers: of users' formats. place: of the inputs.
    """
    phase = _table(dataset) if dataset is not None else _files(recipe, readers, place)
    texts = text_fields(recipe)
    return replace(phase, value=[replace(source, texts=texts) for source in phase.value])


def _table(dataset: Any) -> Phase[list[Source]]:
    nothing: list[Source] = []
    return attempt(lambda: [_in_memory(dataset)], nothing)


def _files(recipe: Recipe, readers: Iterable[ReaderFile], place: str) -> Phase[list[Source]]:
    sources, notes, wrong = search(recipe.inputs, recipe.suffixes, recipe.path, readers)
    problems = problems_of(DataError("\n".join(wrong)), place)
    return Phase(sources, tuple(problems), tuple(notes))


def _in_memory(dataset: Any) -> Source:
    table = in_memory(dataset)
    if table is None:
        raise DataError(
            f"a {type(dataset).__name__} is read once, as a stream, which only refinery.run does. Give a table instead, "
            "pyarrow.Table.from_pylist of a few samples, for example"
        )
    return Source.of_table(table)
