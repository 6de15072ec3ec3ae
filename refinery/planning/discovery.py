"""First phase: the files of the inputs, or the table that a program hands over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from refinery.errors import DataError, problems_of
from refinery.io.model import Keys, Source
from refinery.io.python_data.kinds import in_memory
from refinery.io.sources import search
from refinery.operators.reader_files import ReaderFile
from refinery.planning.phase import Phase, attempt
from refinery.recipe.input_config import InputConfig


@dataclass(frozen=True)
class InputSettings:
    """Inputs of a recipe. file: of the recipe. readers: of users' formats. place: of the inputs in the recipe."""

    inputs: tuple[InputConfig, ...]
    suffixes: tuple[str, ...]
    file: str | None
    readers: tuple[ReaderFile, ...]
    place: str


def discover(settings: InputSettings, dataset: Any, texts: tuple[Keys, ...]) -> Phase[list[Source]]:
    """The sources of every input that can be read.

    dataset: a table or frame in place of the recipe's inputs, or None. texts: keys of the fields that are read as text.
    """
    phase = _table(dataset) if dataset is not None else _files(settings)
    return replace(phase, value=[replace(source, texts=texts) for source in phase.value])


def _table(dataset: Any) -> Phase[list[Source]]:
    nothing: list[Source] = []
    return attempt(lambda: [_in_memory(dataset)], nothing)


def _files(settings: InputSettings) -> Phase[list[Source]]:
    sources, notes, wrong = search(settings.inputs, settings.suffixes, settings.file, settings.readers)
    problems = problems_of(DataError("\n".join(wrong)), settings.place)
    return Phase(sources, tuple(problems), tuple(notes))


def _in_memory(dataset: Any) -> Source:
    table = in_memory(dataset)
    if table is None:
        raise DataError(
            f"a {type(dataset).__name__} is read once, as a stream, which only refinery.run does. Give a table instead, "
            "pyarrow.Table.from_pylist of a few samples, for example"
        )
    return Source.of_table(table)
