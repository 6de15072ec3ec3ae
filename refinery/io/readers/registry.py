"""Registered input formats. Keys, messages and documentation take the names of formats from here."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from refinery.errors import OperatorError
from refinery.io.formats import split_suffix
from refinery.io.model import Source
from refinery.io.readers.csv import Delimited
from refinery.io.readers.json_values import JsonValues
from refinery.io.readers.jsonl import JsonLinesReader
from refinery.io.readers.model import Reader
from refinery.io.readers.spooled import SpooledReader
from refinery.io.readers.tables import Arrow, ParquetReader, Query
from refinery.io.readers.text import Text
from refinery.io.readers.user import UserReader
from refinery.io.readers.warc import Warc
from refinery.operators.reader_files import ReaderFile

READERS: tuple[Reader, ...] = (
    JsonLinesReader(),
    JsonValues(),
    ParquetReader(),
    Delimited("csv", ","),
    Delimited("tsv", "\t"),
    Arrow(),
    Query(),
    Text(),
    Warc(),
    SpooledReader(),
)
# Values of `format` in a recipe's `dataset`.
READABLE = tuple(name for reader in READERS for name in reader.recipe_names)

_BY_NAME = {reader.name: reader for reader in READERS}


def reader_of(source: Source) -> Reader:
    """The reader of a file."""
    return _user_reader(source.format, source.reader) if source.reader else _BY_NAME[source.format]


@lru_cache(maxsize=64)
def _user_reader(name: str, path: str) -> UserReader:
    return UserReader(name, path)


class Formats:
    """The formats of one recipe: the registered ones and those of its operator folders. Raises OperatorError."""

    def __init__(self, files: Iterable[ReaderFile] = ()) -> None:
        self._named = dict(_BY_NAME)
        self._in_recipes = {name: reader for reader in READERS for name in reader.recipe_names}
        self._by_suffix = {suffix: reader for reader in READERS for suffix in reader.suffixes}
        for file in files:
            self._add(_user_reader(file.name, str(file.path)), file)

    def _add(self, reader: UserReader, file: ReaderFile) -> None:
        taken = [suffix for suffix in file.suffixes if suffix in self._by_suffix]
        if file.name in {*self._named, *self._in_recipes}:
            raise OperatorError(f"{file.path}: the format {file.name!r} is there already; choose another FORMAT")
        if taken:
            other = self._by_suffix[taken[0]].name
            raise OperatorError(f"{file.path}: files with suffix {taken[0]!r} are read as {other}; choose another")
        self._named[file.name] = self._in_recipes[file.name] = reader
        self._by_suffix |= dict.fromkeys(file.suffixes, reader)

    @property
    def supported(self) -> str:
        """The formats, for messages."""
        return ", ".join(reader.title for reader in self._named.values() if reader.title)

    def __getitem__(self, name: str) -> Reader:
        return self._named[name]

    def forced(self, form: str | None) -> str | None:
        """The name of the format that a recipe names."""
        if form is None:
            return None
        reader = self._in_recipes.get(form) or self._named.get(form.partition(".")[0])
        return reader.name if reader is not None else form

    def of_file(self, path: str | Path) -> str | None:
        """The format by a file's name, or None."""
        suffix, compression = split_suffix(path)
        reader = self._by_suffix.get(suffix)
        return None if reader is None or (compression and not reader.compressed) else reader.name

    def family(self, name: str) -> str:
        """The format under whose name files of this one are counted: those are read alike."""
        return self._named[name].family or name
