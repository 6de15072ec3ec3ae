"""Field names and types of some samples of an input, for every kind of file in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from refinery.common.fields import field_name, keys_of
from refinery.io.batch import LINE
from refinery.io.model import Shard, Source
from refinery.io.readers.read import read
from refinery.io.readers.registry import reader_of
from refinery.io.schema import schema_of
from refinery.io.text_columns import is_bytes, is_text, kinds_of
from refinery.storage.urls import is_url

# Bytes read at once, and samples of a batch; a line longer than _LINE is skipped.
_BYTES = 64 << 10
_SAMPLES = 200
_LINE = 4 << 20
# Number of batches without a sample that are skipped.
_BATCHES = 8
# Limits of a closer look at each kind of file: bytes, samples, files, files at URLs, ranges of a file that can be cut.
_CLOSER_BYTES = 4 << 20
_CLOSER_SAMPLES = 20_000
_CLOSER_FILES = 16
_CLOSER_URLS = 4
_PLACES = 16
# Deepest level of nested members that is named: `meta.source.url` has level 3.
_DEPTH = 6
_JSON_TYPES = {str: "text", float: "a number", bool: "a boolean", list: "a list", dict: "an object", type(None): "null"}


@dataclass(frozen=True)
class FileFields:
    """Fields of samples of one file, as `field_name` spells them. samples: number of samples read.

    typed: the file itself declares its columns. others: types of the fields that hold neither text nor null in any
    of the samples. texts: fields of text, or of bytes, which are read as text.
    """

    path: str
    names: frozenset[str]
    top: tuple[str, ...]
    samples: int = 0
    typed: bool = False
    others: Mapping[str, str] = field(default_factory=dict, compare=False)
    texts: tuple[str, ...] = ()

    def kind_of(self, name: str) -> str | None:
        """The type of a field that holds no text, by its name in a recipe; None for others."""
        return self.others.get(field_name(keys_of(name)))

    def has(self, field: str) -> bool:
        """Return whether the samples have a field, by its name in a recipe."""
        return field_name(keys_of(field)) in self.names


@dataclass(frozen=True)
class InputFields:
    """Fields of samples of several files. whole: the samples are the whole input."""

    glimpses: tuple[FileFields, ...]
    whole: bool = False

    @property
    def is_typed(self) -> bool:
        """Return whether all files declare their columns."""
        return all(glimpse.typed for glimpse in self.glimpses)


@dataclass(frozen=True)
class _Budget:
    """Limits of what is read of one shard, in bytes and samples; 0 for no limit."""

    bytes: int = 0
    samples: int = 0
    first: bool = False  # stop after the first batch that has samples


def first_look(shards: Sequence[Shard]) -> InputFields:
    """Fields of the first samples of up to three files of each kind; at URLs, of one file.

    Costs a read of 64 KiB each. Files without a readable sample are left out. Raises DataError for an unreadable file.
    """
    fields: list[FileFields] = []
    for group in _groups(shards):
        picked = _apart(group)
        few = {0, len(picked) // 2, len(picked) - 1} if not is_url(group[0].source.path) else {0}
        looked = [_of_shard(_alone(*picked[place]), _Budget(first=True))[0] for place in sorted(few) if picked]
        fields += [glimpse for glimpse in looked if glimpse is not None]
    return InputFields(tuple(fields))


def closer_look(shards: Sequence[Shard]) -> InputFields:
    """Fields of samples from all over the input, with those of `first_look`; of all samples if the input has a few MiB.

    Costs a read of 4 MiB, or 20,000 samples, of each kind of file. Raises DataError for a file that cannot be read.
    """
    fields: list[FileFields] = []
    is_all = True
    for group in _groups(shards):
        picked = _apart(group)
        most = _CLOSER_URLS if is_url(group[0].source.path) else _CLOSER_FILES
        few = sorted({0, len(picked) // 2, *_spread(len(picked), most)}) if picked else []
        budget = _Budget(_CLOSER_BYTES // max(1, len(few)), _CLOSER_SAMPLES // max(1, len(few)))
        looked = [_of_shard(_alone(*picked[place]), budget) for place in few]
        fields += [glimpse for glimpse, _ in looked if glimpse is not None]
        is_all &= len(few) == sum(len(shard.sources) for shard in group) and all(ended for _, ended in looked)
    return InputFields(tuple(fields), is_all)


def _groups(shards: Sequence[Shard]) -> Iterator[list[Shard]]:
    """The shards of each kind of file."""
    for _, group in groupby(sorted(shards, key=_kind), _kind):
        yield list(group)


def _spread(count: int, most: int) -> list[int]:
    """Up to `most` of `count` places, the first and the last among them."""
    most = min(count, most)
    return [place * (count - 1) // max(1, most - 1) for place in range(most)]


def _kind(shard: Shard) -> tuple[int, str, str, str]:
    source = shard.source
    return source.dataset, source.format, source.compression or "", source.suffix


def _apart(shards: list[Shard]) -> list[tuple[Shard, Source]]:
    """Files of shards that can be read without other shards."""
    readable = [shard for shard in shards if shard.start == 0 or not shard.source.compression]
    return [(shard, source) for shard in readable for source in shard.sources]


def _alone(shard: Shard, source: Source) -> Shard:
    """The part of a shard that is in one of its files."""
    return replace(shard, sources=(source,), rows_of=(), end=shard.end if len(shard.sources) == 1 else -1)


def _of_shard(shard: Shard, budget: _Budget) -> tuple[FileFields | None, bool]:
    """Fields of samples of a shard, or None; and True if these are all of its samples."""
    if not reader_of(shard.source).lines and not shard.source.option("text_from", ""):
        return _of_schema(shard), True
    samples = _Samples()
    pieces = [shard] if budget.first else _pieces(shard, budget.bytes)
    share = replace(budget, bytes=budget.bytes // len(pieces), samples=budget.samples // len(pieces))
    ended = [samples.read(piece, share) for piece in pieces]
    return (samples.glimpse(shard.source.path) if samples.count else None), ended == [True]


def _of_schema(shard: Shard) -> FileFields | None:
    schema = shard.schema if shard.schema is not None else schema_of(shard.source)
    kinds = kinds_of(schema)
    others = {name: str(kind) for name, kind in kinds.items() if not is_text(kind)}
    texts = tuple(name for name, kind in kinds.items() if is_text(kind) or is_bytes(kind))
    top = tuple(schema.names)
    return FileFields(shard.source.path, frozenset(kinds), top, 0, True, others, texts) if kinds else None


def _pieces(shard: Shard, size: int) -> list[Shard]:
    """The shard; if it is larger than `size` and can be cut, ranges from all over it."""
    length = (shard.source.size if shard.end < 0 else shard.end) - shard.start
    if not reader_of(shard.source).cut_anywhere or shard.source.compression or length <= size:
        return [shard]
    places = min(_PLACES, max(2, size // _BYTES))
    piece = size // places
    starts = [shard.start + (length - piece) * place // (places - 1) for place in range(places)]
    return [replace(shard, start=start, end=start + piece) for start in starts]


class _Samples:
    """Collects the fields of samples, with the types of their values."""

    def __init__(self) -> None:
        self.count = 0
        self._types: dict[str, set[str]] = {}
        self._top: dict[str, None] = {}

    def read(self, shard: Shard, budget: _Budget) -> bool:
        """Read samples of a shard; return True if these are all of its samples."""
        before, passed = self.count, 0
        with closing(read(shard, _BYTES, _SAMPLES, _LINE)) as batches:  # type: ignore[type-var]
            for number, batch in enumerate(batches, 1):
                for line in batch.table[LINE].to_pylist():
                    passed += len(line)
                    self._add(_sample(line))
                looked = self.count - before
                if budget.first and (len(batch) or number == _BATCHES):
                    return False
                if not budget.first and (passed >= budget.bytes or looked >= budget.samples):
                    return next(batches, None) is None
        return True

    def glimpse(self, path: str) -> FileFields:
        """Fields of all samples so far, as those of one file."""
        others = {
            name: " or ".join(sorted(kinds)) for name, kinds in self._types.items() if not kinds & {"text", "null"}
        }
        texts = tuple(name for name, kinds in self._types.items() if kinds - {"null"} == {"text"})
        return FileFields(path, frozenset(self._types), tuple(self._top), self.count, False, others, texts)

    def _add(self, sample: dict[str, Any] | None) -> None:
        if sample is None:
            return
        self.count += 1
        self._top.update(dict.fromkeys(sample))
        for name, value in _members(sample):
            self._types.setdefault(name, set()).add(_JSON_TYPES.get(type(value), ""))


def _sample(line: str) -> dict[str, Any] | None:
    try:
        sample = json.loads(line, parse_int=_number)
    except (ValueError, RecursionError):
        return None
    return sample if isinstance(sample, dict) else None


def _number(_digits: str) -> float:
    """0.0 for any integer: only the type is needed, and Python limits the digits."""
    return 0.0


def _members(sample: dict[str, Any], above: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    for name, value in sample.items():
        spelled = above + field_name((name,))
        yield spelled, value
        if isinstance(value, dict) and depth < _DEPTH:
            yield from _members(value, f"{spelled}.", depth + 1)
