"""Which files a recipe means, in which order, and how they are cut into shards."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from refinery.errors import DataError, did_you_mean
from refinery.samples.formats import SUPPORTED, format_of, full_suffix, json_shape, magic, split_suffix

if TYPE_CHECKING:
    import pyarrow as pa

# Files that other tools leave beside data: they say something of it and hold no samples.
_MARKERS = {"dataset_info.json", "state.json", "dataset_dict.json", "dataset_infos.json", "_SUCCESS", "Thumbs.db"}
_TEXTS_PER_SHARD = 10_000
# A row group is decoded from its start for each shard that reads a part of it.
_CUTS_PER_ROW_GROUP = 8


@dataclass(frozen=True)
class Source:
    """One input file.

    format: jsonl (values on lines), json (an array, or values over several lines), csv, tsv, parquet, arrow or text (the
    file is one sample). compression: gzip, zstd or None. suffix: lower case, with that of the compression. size: bytes
    on disk. dataset: which entry of the recipe's data sets it belongs to.
    """

    path: str
    format: str
    compression: str | None
    suffix: str
    size: int
    dataset: int = 0


@dataclass(frozen=True)
class Shard:
    """A piece of the input that is worked on at once.

    index: 0 and up in the order of the input. sources: one file, or several text files. start, end: bytes of a JSON
    Lines file (the shard owns the lines that start there; the cuts need not fall between lines) or rows of a table;
    (0, -1) is all. lines: samples are carried as JSON lines, whatever the file's format. schema: of typed samples.
    """

    index: int
    sources: tuple[Source, ...]
    start: int = 0
    end: int = -1
    lines: bool = True
    schema: pa.Schema | None = None

    @property
    def source(self) -> Source:
        """The file; the first one of several."""
        return self.sources[0]

    @property
    def starts_file(self) -> bool:
        """Whether its lines are counted from a file's first line."""
        return self.start == 0

    def path_of(self, row: int) -> str:
        """The file that holds row `row` of the shard."""
        return self.sources[row if len(self.sources) > 1 else 0].path


def find(
    inputs: Sequence[str | os.PathLike[str] | tuple[str | os.PathLike[str], int]], suffixes: str | Sequence[str] | None = None
) -> tuple[list[Source], list[str]]:
    """The files behind paths, folders (with everything below) and glob patterns, and notes on what was passed over.

    inputs: paths, or pairs of a path and the number of its data set; the order is kept, folders and patterns give theirs
    sorted by path. suffixes: take files with one of these only. Raises DataError when something named is missing,
    cannot be read, or nothing is left.
    """
    wanted = _normal(suffixes)
    sources: list[Source] = []
    notes: list[str] = []
    for item in inputs:
        path, dataset = item if isinstance(item, tuple) else (item, 0)
        sources += _expand(os.path.expanduser(os.fspath(path)), dataset, wanted, notes)
    if not sources:
        if not inputs:
            raise DataError("no input is named; set dataset_path")
        names = ", ".join(str(item[0] if isinstance(item, tuple) else item) for item in inputs)
        asked = f" with suffix {' or '.join(sorted(wanted))}" if wanted else ""
        reason = f" ({'; '.join(notes)})" if notes else ""
        raise DataError(f"{names}: no file{asked} to read{reason}. Readable are {SUPPORTED}")
    return sources, notes


def carrier(sources: Sequence[Source]) -> str:
    """'typed' when all files hold tables of one kind (csv and tsv count as one), else 'lines'."""
    kinds = {"csv" if source.format == "tsv" else source.format for source in sources}
    return "typed" if len(kinds) == 1 and not kinds & {"jsonl", "json"} else "lines"


def cut(sources: Sequence[Source], shard_size: int = 64 << 20) -> list[Shard]:
    """Cut files into shards of about `shard_size` bytes, in the order of the input.

    JSON Lines are cut anywhere, tables between rows, small text files are put together; compressed files, CSV and JSON
    arrays stay whole. Raises DataError when typed files have columns that do not fit together.
    """
    lines = carrier(sources) == "lines"
    schema = None
    if not lines:
        from refinery.samples.schema import common_schema

        schema = common_schema(sources)
    shards = []
    for files, start, end in _pieces(sources, max(1, shard_size)):
        shards.append(Shard(len(shards), files, start, end, lines, schema))
    return shards


def parse_dataset_path(text: str) -> list[tuple[str, float]]:
    """Data-Juicer's short form `0.3 a.jsonl 0.7 "b c.jsonl"`: paths and their weights, 1.0 where none is written.

    Text that names an existing file or folder is that path, blanks included.
    """
    import shlex

    if os.path.exists(os.path.expanduser(text)):
        return [(text, 1.0)]
    found: list[tuple[str, float]] = []
    weight = 1.0
    for word in shlex.split(text):
        try:
            weight = max(float(word), 0.0)
        except ValueError:
            found.append((word, weight))
            weight = 1.0
    return found


def _normal(suffixes: str | Sequence[str] | None) -> frozenset[str]:
    listed = [suffixes] if isinstance(suffixes, str) else list(suffixes or [])
    return frozenset("." + suffix.lower().lstrip(".") for suffix in listed if suffix)


def _expand(path: str, dataset: int, wanted: frozenset[str], notes: list[str]) -> list[Source]:
    if "://" in path:
        raise DataError(f"{path}: only files of this machine can be read. Copy or mount it and name the local path")
    if os.path.isdir(path):
        return _pick(path, sorted(_walk(path)), dataset, wanted, notes)
    if os.path.isfile(path):
        return _named(path, dataset, wanted, notes)
    if os.path.exists(path):
        raise DataError(f"{path}: neither a file nor a folder")
    if not glob.has_magic(path):
        raise DataError(_missing(path))
    matches = sorted(glob.glob(path, recursive=True))
    if not matches:
        raise DataError(f"{path}: no file matches the pattern")
    files = [match for match in matches if os.path.isfile(match)]
    if "**" not in path:  # else what is below a folder matches by itself
        files = sorted(files + [name for match in matches if os.path.isdir(match) for name in _walk(match)])
    return _pick(path, files, dataset, wanted, notes)


def _missing(path: str) -> str:
    """What is wrong with a path, naming the first part that does not exist and its likely spelling."""
    parent, name = Path(path).absolute().parent, Path(path).name
    while not parent.is_dir() and parent != parent.parent:
        parent, name = parent.parent, parent.name
    try:
        known = os.listdir(parent)
    except OSError as error:
        return f"{path}: {parent} cannot be listed ({error.strerror})"
    place = "" if name == Path(path).name else f": {parent} has no {name!r}"
    return f"{path}: no such file or folder{place}{did_you_mean(name, known)}"


def _named(path: str, dataset: int, wanted: frozenset[str], notes: list[str]) -> list[Source]:
    """A file that was named itself: what cannot be read is an error."""
    if wanted and full_suffix(Path(path)) not in wanted:
        notes.append(f"{path}: passed over, its suffix is not among {', '.join(sorted(wanted))}")
        return []
    source = _source(path, format_of(Path(path)) or _by_name(Path(path)), dataset, notes)
    return [] if source is None else [source]


def _by_name(path: Path) -> str:
    """The format of a file that was named, where its suffix does not tell. Raises DataError with the cure."""
    if path.name.lower() in ("makefile", "dockerfile"):
        return "text"
    suffix, compression = split_suffix(path)
    if suffix in (".pdf", ".docx"):
        cure = "Extract its text to a .txt file first"
    elif compression and not suffix:
        cure = f"Name it by what it holds, such as {path.stem}.jsonl{path.suffix}"
    else:
        cure = f"Rename it if it is one of: {SUPPORTED}"
    raise DataError(f"{path}: files with suffix {full_suffix(path) or '(none)'!r} cannot be read. {cure}")


def _pick(place: str, paths: Sequence[str], dataset: int, wanted: frozenset[str], notes: list[str]) -> list[Source]:
    """Files that a folder or pattern led to: what is no data is passed over, and counted in the notes."""
    found: list[Source | None] = []
    skipped: Counter[str] = Counter()
    for path in paths:
        suffix = full_suffix(Path(path))
        kind = format_of(Path(path))
        below = Path(path).relative_to(place).parts if os.path.isdir(place) else (os.path.basename(path),)
        if any(part.startswith(".") for part in below) or below[-1] in _MARKERS:
            skipped["hidden or a marker"] += 1
        elif wanted and suffix not in wanted:
            skipped[f"{suffix or 'without suffix'}, not asked for"] += 1
        elif kind is None:
            skipped[f"{suffix or 'without suffix'}, of no known format"] += 1
        else:
            found.append(_source(path, kind, dataset, notes))
    if skipped:
        notes.append(f"{place}: passed over: {', '.join(f'{count} {what}' for what, count in sorted(skipped.items()))}")
    return [source for source in found if source is not None]


def _walk(folder: str) -> Iterator[str]:
    """Files below a folder, links followed but no folder entered twice."""
    seen = set()
    for root, folders, files in os.walk(folder, followlinks=True, onerror=_unreadable):
        real = os.path.realpath(root)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        yield from (path for name in files if os.path.isfile(path := os.path.join(root, name)))


def _unreadable(error: OSError) -> None:
    raise DataError(f"{error.filename}: the folder cannot be read ({error.strerror})") from error


def _source(path: str, kind: str, dataset: int, notes: list[str]) -> Source | None:
    """The source; None, with a note, for an empty file that can hold no sample."""
    try:
        size = os.path.getsize(path)
        if size == 0 and kind != "text":
            notes.append(f"{path}: empty")
            return None if kind in ("parquet", "arrow") else _plain(path, kind, size, dataset)
        source = _plain(path, kind, size, dataset)
        if kind in ("parquet", "arrow", "text"):
            return source
        source = replace(source, compression=magic(Path(path)))
        named = split_suffix(Path(path))[1]
        if named and source.compression is None:
            raise DataError(f"{path}: the name says {named}, but it holds no {named} data. Drop {Path(path).suffix!r} from its name")
        if kind == "jsonl":
            return replace(source, format=json_shape(path, source.compression, ".jsonl" in source.suffix))
        return source
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from error


def _plain(path: str, kind: str, size: int, dataset: int) -> Source:
    return Source(path, kind, None, full_suffix(Path(path)), size, dataset)


Piece = tuple[tuple[Source, ...], int, int]


def _pieces(sources: Sequence[Source], shard_size: int) -> Iterator[Piece]:
    texts: list[Source] = []
    size = 0
    for source in sources:
        together = source.format == "text" and (not texts or source.dataset == texts[0].dataset)
        if texts and (not together or size + source.size > shard_size or len(texts) == _TEXTS_PER_SHARD):
            yield tuple(texts), 0, -1
            texts, size = [], 0
        if source.format == "text":
            texts.append(source)
            size += source.size
        elif source.format == "jsonl" and source.compression is None:
            yield from _even(source, source.size, source.size, shard_size)
        elif source.format in ("parquet", "arrow"):
            yield from _row_ranges(source, shard_size)
        else:
            yield (source,), 0, -1
    if texts:
        yield tuple(texts), 0, -1


def _even(source: Source, length: int, size: int, shard_size: int, first: int = 0) -> Iterator[Piece]:
    """`length` bytes or rows that take `size` bytes, in equal pieces of at most `shard_size`."""
    count = max(1, min(length, -(-size // shard_size)))
    for k in range(count):
        yield (source,), first + length * k // count, first + length * (k + 1) // count


def _row_ranges(source: Source, shard_size: int) -> Iterator[Piece]:
    """Small row groups together, a large one in several pieces."""
    from refinery.samples.schema import row_groups

    first = start = size = 0
    for rows, total in [*row_groups(source), (0, shard_size + 1)]:  # the last one closes what is open
        if first > start and size + total > shard_size:
            yield (source,), start, first
            start, size = first, 0
        if rows and total > shard_size:
            yield from _even(source, rows, min(total, shard_size * _CUTS_PER_ROW_GROUP), shard_size, first)
            start = first + rows
        elif rows:
            size += total
        first += rows
    if first == 0:
        yield (source,), 0, 0
