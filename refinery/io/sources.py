"""Input files of a recipe, their order, and their shards."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from refinery.common.paths import printable
from refinery.errors import DataError
from refinery.io.earlier_exports import note_on_exports
from refinery.io.folders import base_of, below, files_of, is_never_data, odd_kind, of_one_format
from refinery.io.formats import PIECE, foreign, full_suffix, json_shape, magic, shape_of_start, split_suffix
from refinery.io.missing_files import may_be_folder, oddities, refuse, refuse_pattern
from refinery.io.model import Shard, Source
from refinery.io.partitions import partitions_of, typed
from refinery.io.path_lists import PREFIX, is_list, paths_in
from refinery.io.read_options import OF_ALL, Options, option
from refinery.io.readers.registry import READERS, Formats, reader_of
from refinery.io.splits import training_files
from refinery.io.table_folders import refuse_tables
from refinery.operators.reader_files import ReaderFile
from refinery.storage.urls import is_url

_FOREIGN_CURES = {
    "Parquet": "Rename it to .parquet",
    "Arrow": "Rename it to .arrow",
    "PDF": "Extract its text to a .txt file first",
}


def find(
    inputs: Sequence[Any],
    suffixes: str | Sequence[str] | None = None,
    recipe: str | None = None,
    readers: Iterable[ReaderFile] = (),
) -> tuple[list[Source], list[str]]:
    """The files of the inputs and notes on skipped entries, see `search`. Raises DataError with a line for each wrong one."""
    sources, notes, wrong = search(inputs, suffixes, recipe, readers)
    if wrong:
        raise DataError("\n".join(wrong))
    return sources, notes


def search(
    inputs: Sequence[Any],
    suffixes: str | Sequence[str] | None = None,
    recipe: str | None = None,
    readers: Iterable[ReaderFile] = (),
) -> tuple[list[Source], list[str], list[str]]:
    """The files of paths or URLs, folders (with everything below) and glob patterns, notes on skipped entries, and errors.

    inputs: paths, or objects with `path`, `format` (the format of all of it; None: by each file's suffix), `options` and `files`. Their
    order is kept; folders and patterns give their files sorted by path. suffixes: only take files with one of these.
    recipe: the file that names the inputs, if these have a `line` in it. readers: of users' formats. An error is a line on
    an input that is missing or cannot be read, or on all of them when nothing is left.
    """
    wanted, formats = _normal(suffixes), Formats(readers)
    sources: list[Source] = []
    notes: list[str] = []
    names, wrong = [], []
    for dataset, item in enumerate(inputs):
        path, form = (item, None) if isinstance(item, (str, os.PathLike)) else (item.path, item.format)
        options, files = getattr(item, "options", ()), getattr(item, "files", ())
        names.append(os.path.expanduser(os.fspath(path)))
        try:
            order = _Order(dataset, formats.forced(form), wanted, notes, formats, options)
            sources += order.listed(names[-1], files) if files else order.expand(names[-1])
        except DataError as error:
            line = getattr(item, "line", 0)
            wrong.append(f"{recipe}:{line}: {error}" if recipe and line else str(error))
    if not sources and not wrong:
        wrong.append(_nothing_left(names, wanted, notes, formats))
    return sources, notes, wrong


def _nothing_left(names: Sequence[str], wanted: frozenset[str], notes: Sequence[str], formats: Formats) -> str:
    """The error of inputs without a file that can be read."""
    if not names:
        return "no input is named; set dataset_path"
    asked = f" with suffix {' or '.join(sorted(wanted))}" if wanted else ""
    reason = f" ({'; '.join(notes)})" if notes else ""
    return f"{', '.join(names)}: no file{asked} to read{reason}. Readable are {formats.supported}"


def carrier(sources: Sequence[Source]) -> str:
    """'typed' if all files hold tables of one kind (csv and tsv count as one), else 'lines'; these take texts of chats, too."""
    if any(source.option("text_from", "") for source in sources):
        return "lines"
    readers = {reader.family or reader.name: reader for reader in map(reader_of, sources)}
    return "typed" if len(readers) == 1 and not any(reader.lines for reader in readers.values()) else "lines"


def cut(
    sources: Sequence[Source], shard_size: int = 64 << 20, workers: int = 1, whole: int | None = None
) -> list[Shard]:
    """Cut files into shards of about `shard_size` bytes of text, in the order of the input.

    JSON Lines are cut anywhere, compressed or not, tables between rows, CSV and JSON arrays between samples, for which
    `workers` threads read them once; small files of one kind are joined. whole: most bytes of a shard that is a whole group of rows,
    if the rest of the input has other work for the workers. Raises DataError when typed files have columns that do not fit together.
    """
    from refinery.io.objects import look_ahead
    from refinery.io.splitting import Cutter

    look_ahead([source for source in sources if reader_of(source).has_footer])
    lines = carrier(sources) == "lines"
    cutter = Cutter(max(1, shard_size), workers, lines, whole or 0)
    pieces = list(cutter.pieces(sources))
    schema = None
    if not lines:
        from refinery.io.schema import common_schema

        schema = common_schema(sources, cutter.schemas)
    shards: list[Shard] = []
    for files, start, end, size, rows in pieces:
        known = schema if schema is not None else cutter.schemas.get(files[0].path)
        shards.append(Shard(len(shards), files, start, end, lines, known, size, rows_of=rows))
    return shards


def _normal(suffixes: str | Sequence[str] | None) -> frozenset[str]:
    listed = [suffixes] if isinstance(suffixes, str) else list(suffixes or [])
    return frozenset("." + suffix.lower().lstrip(".") for suffix in listed if suffix)


@dataclass(frozen=True)
class _Order:
    """Request for one input: read every file as `forced`, and only files whose suffix is in `wanted`."""

    dataset: int
    forced: str | None
    wanted: frozenset[str]
    notes: list[str]
    formats: Formats
    options: Options = ()

    def expand(self, path: str) -> list[Source]:
        """The sources of a path, folder or pattern, on this machine or at a URL; of a database the rows of the query."""
        if self.forced == "sql":
            from refinery.io.database_query import rows_of_query

            table = rows_of_query(path, option(self.options, "query", ""))
            return [Source(path, "sql", None, "", table.nbytes, self.dataset, table, options=self.options)]
        if is_list(path) and self.forced is None:
            return self._listed(paths_in(path, option(self.options, "prefix", PREFIX)))
        if is_url(path):
            return self._expand_url(path)
        if printable(path) != path:
            raise DataError(f"{printable(path)}: the name is not UTF-8, so no table can hold it. Rename it")
        if os.path.isfile(path):
            return self._sources([self._named(path)], _File)
        refuse_pattern(path)
        files, folder = files_of(path)
        chosen = self._pick(path, files, folder, os.path.getsize)
        base = base_of(path, folder)
        refuse_tables(base, [name for name, _ in chosen])
        chosen = self._of_splits(base, chosen) if folder else chosen
        if note := note_on_exports(path, [name for name, _ in chosen]):
            self.notes.append(note)
        return self._placed(base, self._sources(chosen, _File))

    def listed(self, path: str, files: Sequence[str]) -> list[Source]:
        """The sources of some files of a path, folder or pattern, with the fields that its folders give them."""
        sources = self._listed([os.path.expanduser(file) for file in files])
        if path in files or (is_list(path) and self.forced is None):
            return sources
        return self._placed(base_of(path, folder=not glob.has_magic(path)), sources)

    def _listed(self, paths: list[str]) -> list[Source]:
        """The sources of files that a list names; objects at URLs are looked at many at a time."""
        remote = [path for path in paths if is_url(path)]
        look: dict[str, Any] = {}
        if remote:
            from refinery.io.url_listing import look_into, objects_of
            from refinery.storage.object_stream import beside

            for path, (objects, _) in zip(remote, beside(objects_of, remote), strict=True):
                look[path] = next(iter(objects.values()))
            look_into(list(look.values()))
        return self._sources([self._named(path) for path in paths], lambda path: look.get(path) or _File(path))

    def _of_splits(self, base: str, chosen: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """The files of a folder that are read, with a note if it has several splits."""
        paths, note = training_files(base, [path for path, _ in chosen])
        self.notes.extend([note] if note else [])
        wanted = set(paths)
        return [item for item in chosen if item[0] in wanted]

    def _expand_url(self, url: str) -> list[Source]:
        from refinery.io.url_listing import logs_beside, look_into, objects_of

        objects, folder = objects_of(url)
        if folder is None:
            chosen = [self._named(next(iter(objects)))]
        else:
            picked = self._pick(url, list(objects), folder, lambda path: objects[path].size)
            base = base_of(url, folder)
            listed = [*objects, *logs_beside({base} if folder else {path.rpartition("/")[0] for path in objects})]
            refuse_tables(base, [path for path, _ in picked], listed)
            chosen = list(picked)
        look_into([objects[path] for path, kind in filter(None, chosen) if not self.formats[kind].opaque])
        sources = self._sources(chosen, objects.__getitem__)
        return sources if folder is None else self._placed(base_of(url, folder), sources)

    def _named(self, path: str) -> tuple[str, str] | None:
        """A file that is itself named in the recipe, with its format: an unreadable one is an error."""
        if not self._wants(path):
            self.notes.append(f"{path}: skipped, its suffix is not among {', '.join(sorted(self.wanted))}")
            return None
        return path, self.forced or self.formats.of_file(Path(path)) or _by_name(Path(path), self.formats)

    def _pick(
        self, place: str, paths: Sequence[str], folder: bool, size_of: Callable[[str], int]
    ) -> list[tuple[str, str]]:
        """Files of a folder or pattern, with their formats: one format; the notes count the others."""
        files: list[tuple[str, str]] = []
        skipped: Counter[str] = Counter()
        others: list[str] = []
        base, pattern = base_of(place, folder), "" if folder else place
        for path in paths:
            kind = self.forced or self.formats.of_file(path)
            if is_never_data(below(base, path), pattern):
                skipped["hidden, a marker or a README"] += 1
            elif kind is None or not self._wants(path):
                why = "of no known format" if self._wants(path) else "not asked for"
                skipped[f"{printable(full_suffix(path)) or 'without suffix'}, {why}"] += 1
                others.append(path)
            else:
                files.append((path, kind))
        self._look_at_odd(place, [path for path, _ in files], others)
        if not self.forced and not self.wanted:
            files = of_one_format(files, size_of, skipped, self.formats.family)
        if skipped:
            items = ", ".join(f"{count} {what}" for what, count in sorted(skipped.items()))
            self.notes.append(f"{place}: skipped: {items}")
        return files

    def _wants(self, path: str) -> bool:
        return not self.wanted or full_suffix(path) in self.wanted

    def _look_at_odd(self, place: str, paths: Sequence[str], others: Sequence[str]) -> None:
        """Raise DataError for unreadable entries that look like data, or like folders; note other odd entries."""
        if is_url(place):
            return
        refuse(place, [path for path in paths if odd_kind(path)] + [path for path in others if may_be_folder(path)])
        if odd := oddities(others):
            self.notes.append(f"{printable(place)}: skipped: {odd}")

    def _placed(self, base: str, sources: list[Source]) -> list[Source]:
        """The sources with the fields of the folders between a base and them."""
        pairs = typed([partitions_of(below(base, source.path)[:-1]) for source in sources])
        return [
            replace(source, partitions=fields) if fields else source
            for source, fields in zip(sources, pairs, strict=True)
        ]

    def _sources(self, chosen: Sequence[tuple[str, str] | None], look: Callable[[str], Any]) -> list[Source]:
        return [source for path, kind in filter(None, chosen) if (source := self._source(path, kind, look(path)))]

    def _source(self, path: str, kind: str, file: Any) -> Source | None:
        """The source; None, with a note, for an empty file that is no table. file: facts of the file, see `_File`."""
        try:
            reader, suffix, size, compression = self.formats[kind], full_suffix(path), file.size, None
            if lacking := reader.lacking():
                raise DataError(f"{path}: {lacking}")
            if size == 0 and not reader.one_sample:
                self.notes.append(f"{path}: empty")
                if reader.by_rows:
                    return None
            elif not reader.opaque:
                head = file.head()
                compression = magic(head)
                self._require_fit(path, kind, head, compression)
                kind = file.shape(compression, ".jsonl" in suffix) if reader.shaped else kind
            known = {"version": file.version, "reader": reader.code(), "options": self._options(path, kind)}
            return Source(path, kind, compression, suffix, size, self.dataset, **known)
        except OSError as error:
            raise DataError(f"{path}: {error.strerror or error}") from error

    def _options(self, path: str, kind: str) -> Options:
        """The options of the recipe, all of which the format must follow. Raises DataError."""
        options = tuple(item for item in self.options if item[0] != "prefix")
        for name, _ in options:
            if name not in self.formats[kind].options | OF_ALL:
                takers = [reader.name for reader in READERS if name in reader.options]
                cure = f"Write format: {takers[0]} if it is such a file"
                raise DataError(f"{path}: is read as {kind}, which has no {name}; {' and '.join(takers)} have. {cure}")
        return options

    def _require_fit(self, path: str, kind: str, head: bytes, compression: str | None) -> None:
        """Check that a file's first bytes are those of its format and of the compression in its name. Raises DataError."""
        if self.formats[kind].foreign and (foreign_format := foreign(head)):
            raise DataError(
                f"{path}: holds {foreign_format}, not {kind}. {_FOREIGN_CURES.get(foreign_format, 'Unpack it first')}"
            )
        named = split_suffix(path)[1]
        if named and compression is None:
            cure = f"Drop {Path(path).suffix!r} from its name"
            raise DataError(f"{path}: the name says {named}, but it holds no {named} data. {cure}")


class _File:
    """A file of this machine. Raises OSError."""

    version = ""

    def __init__(self, path: str) -> None:
        self.path = path
        self.start = b""

    @property
    def size(self) -> int:
        """Size in bytes."""
        return os.path.getsize(self.path)

    def head(self) -> bytes:
        """The first four bytes; a few more are kept for `shape`."""
        with open(self.path, "rb") as file:
            self.start = file.read(PIECE)
        return self.start[:4]

    def shape(self, compression: str | None, trusted: bool) -> str:
        """Shape of the JSON, see `json_shape`."""
        known = shape_of_start(self.start, len(self.start) < PIECE, None, trusted) if compression is None else None
        return known or json_shape(self.path, compression, trusted)


def _by_name(path: Path, formats: Formats) -> str:
    """The format of a named file whose suffix does not show it. Raises DataError with the cure."""
    if path.name.lower() in ("makefile", "dockerfile"):
        return "text"
    suffix, compression = split_suffix(path)
    databases = (".duckdb", ".sqlite", ".sqlite3", ".db")
    if suffix in databases:
        cure = f"Read the rows of a query: dataset: {{type: sql, database: {path.name}, query: SELECT ...}}"
    elif suffix == ".wat":
        cure = "WAT files hold metadata of pages alone: name the .warc or .wet files of the crawl"
    elif suffix == ".arc":
        cure = "Convert the archive to WARC first, for example with warcio: warcio recompress old.arc.gz new.warc.gz"
    elif suffix == ".txt" and compression:
        cure = "A text file is one sample: unpack it; if each line is a sample, name it as JSON Lines with an object in each"
    elif suffix in (".pdf", ".docx"):
        cure = "Extract its text to a .txt file first"
    elif suffix in (".lz4", ".br", ".zip", ".tar", ".tgz", ".7z"):
        cure = "Unpack it first; .gz, .zst, .bz2 and .xz are read as they are"
    elif compression and not suffix:
        cure = f"Name it by what it holds, such as {path.stem}.jsonl{path.suffix}"
    else:
        cure = f"Rename it if it is one of: {formats.supported}"
    raise DataError(f"{path}: files with suffix {full_suffix(path) or '(none)'!r} cannot be read. {cure}")
