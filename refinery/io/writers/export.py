"""Join the parts of all shards to the files that a recipe asks for."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from refinery import kernels
from refinery.errors import OutputError, did_you_mean
from refinery.io.formats import open_bytes
from refinery.io.model import Written
from refinery.io.writers.temp_files import aside_of, scratch_in, tidy
from refinery.io.writers.write import open_output, writing

KINDS = ("jsonl", "jsonl.gz", "jsonl.zst", "json", "parquet")
_BLOCK = 4 << 20

STATS = "__dj__stats__"


@dataclass(frozen=True)
class _Piece:
    """Bytes [start, end) of a part of JSON lines."""

    path: str
    start: int
    end: int


def export(
    parts: Sequence[str | os.PathLike[str]],
    export_path: str,
    kind: str,
    shard_size: int = 0,
    lines: bool = True,
    in_parallel: bool = True,
) -> list[Written]:
    """Write the samples of all parts, in the order of the parts, to `export_path`, or to `name-00-of-03.jsonl` and on.

    kind: one of KINDS. shard_size: maximum bytes of uncompressed data in a file; 0: one file. lines: the
    parts are JSON lines, else Parquet. in_parallel: write several files at once; conversions use all cores anyway.
    Each file gets its name when it is complete. Raises OutputError when that fails.
    """
    if kind not in KINDS:
        known = ", ".join(KINDS)
        raise OutputError(f"{export_path}: {kind!r} cannot be written, only {known}{did_you_mean(kind, KINDS)}")
    workers = _cores() if in_parallel or not lines or kind == "parquet" else 1
    files: Sequence[str] = [os.fspath(part) for part in parts]
    with writing(export_path):
        folder = os.path.dirname(os.path.abspath(os.path.expanduser(export_path)))
        os.makedirs(folder, exist_ok=True)
        tidy(os.path.expanduser(export_path))
        if kind == "parquet":
            from refinery.io.writers.tables import export_parquet

            return export_parquet(files, lines, workers, lambda count: names(export_path, kind, count), shard_size)
        with scratch_in(folder) as scratch:
            files = _as_lines(files, kind, shard_size, lines, workers, Path(scratch))
            return _export_lines(files, export_path, kind, shard_size, workers)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def put(target: str, write: Callable[[str], int]) -> Written:
    """Write a file of an export, which gets its name when it is complete.

    write: writes the file of a temporary name and returns the number of samples. Raises OutputError.
    """
    aside = aside_of(target)
    try:
        with writing(target):
            os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
            rows = write(aside)
            os.replace(aside, target)
            return Written(target, rows, os.path.getsize(target))
    finally:
        Path(aside).unlink(missing_ok=True)


def names(export_path: str, kind: str, count: int = 0) -> list[str]:
    """The files to write: `export_path` itself for count 0, else Data-Juicer's names for its shards."""
    path = os.path.expanduser(export_path)
    if count == 0:
        return [_behind(path)]
    width = len(str(count)) + 1
    return [f"{stem_of(path, kind)}-{k:0{width}}-of-{count:0{width}}.{kind}" for k in range(count)]


def numbered(export_path: str, kind: str) -> str:
    """A glob pattern of all files that `names` can name, for any count."""
    stem = glob.escape(os.path.abspath(stem_of(os.path.expanduser(export_path), kind)))
    return f"{stem}-[0-9]*-of-[0-9]*.{kind}"


def _behind(path: str) -> str:
    """The target of a link, which gets the new contents; the link stays."""
    return os.path.realpath(path) if os.path.islink(path) else path


def stem_of(path: str, kind: str) -> str:
    """The path without the suffix of its format."""
    return path[: -len(kind) - 1] if path.lower().endswith(f".{kind}") else os.path.splitext(path)[0]


def stats_path(export_path: str) -> str:
    """The file for the statistics of `name.jsonl`: `name_stats.jsonl`, or the target of a link of that name."""
    return _behind(stats_name(export_path))


def stats_name(export_path: str) -> str:
    """The name `name_stats.jsonl` for `name.jsonl`."""
    path = os.path.expanduser(export_path)
    kind = next((kind for kind in KINDS if path.lower().endswith(f".{kind}")), "")
    return f"{stem_of(path, kind)}_stats.jsonl"


def write_stats(con: Any, export_path: str, columns: Sequence[str]) -> Written:
    """Write the statistics of the kept samples, a line for each as Data-Juicer does: {"__dj__stats__": {...}}.

    con: a DuckDB connection with the table `stats` (`kept`, and the columns), in the order of the samples.
    """
    fields = ", ".join(f"{_name(column)} := {_name(column)}" for column in columns)
    select = f"SELECT struct_pack({fields}) AS {STATS} FROM stats WHERE kept"

    def write(aside: str) -> int:
        literal = "'" + aside.replace("'", "''") + "'"
        [(rows,)] = con.execute(f"COPY ({select}) TO {literal} (FORMAT json)").fetchall()
        return int(rows)

    return put(stats_path(export_path), write)


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


# JSON lines


def _as_lines(
    parts: Sequence[str], kind: str, shard_size: int, lines: bool, workers: int, scratch: Path
) -> Sequence[str]:
    """The parts as JSON lines: unchanged where possible, else written to `scratch`."""
    if not lines:
        from refinery.io.writers.tables import table_to_lines

        jobs = [(part, str(scratch / f"{k:05d}.jsonl")) for k, part in enumerate(parts)]
        return _each(lambda job: table_to_lines(*job), jobs, workers)
    packed = [part for part in parts if not part.endswith(".jsonl")]
    if not packed or (shard_size <= 0 and all(part.endswith(f".{kind}") for part in parts)):
        return parts
    jobs = [(part, str(scratch / f"{k:05d}.jsonl")) for k, part in enumerate(parts)]
    return _each(lambda job: _unpack(*job), jobs, workers)


def _unpack(part: str, target: str) -> str:
    with open(target, "wb") as file:
        for block in _blocks(_Piece(part, 0, -1)):
            file.write(block)
    return target


def _each(work: Callable[[Any], Any], items: Iterable[Any], workers: int) -> list[Any]:
    if workers <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))


def _export_lines(parts: Sequence[str], export_path: str, kind: str, shard_size: int, workers: int) -> list[Written]:
    if shard_size <= 0:
        pieces = [[_Piece(part, 0, -1) for part in parts]]
        targets = names(export_path, kind)
    else:
        total = sum(os.path.getsize(part) for part in parts)
        pieces = _cut(parts, total // shard_size + 1)
        targets = names(export_path, kind, len(pieces))
    jobs = list(zip(targets, pieces, strict=True))
    return _each(lambda job: _write(job[0], job[1], kind, parts), jobs, workers)


def _cut(parts: Sequence[str], count: int) -> list[list[_Piece]]:
    """The parts, one after another, in `count` runs of about equal bytes and of whole lines."""
    sizes = [os.path.getsize(part) for part in parts]
    total = sum(sizes)
    found: list[list[_Piece]] = [[]]
    before = 0
    for part, size in zip(parts, sizes, strict=True):
        at = 0
        while at < size:
            goal = total * len(found) // count - before
            end = size if len(found) == count or goal >= size else _line_start(part, goal, size)
            if end > at:
                found[-1].append(_Piece(part, at, end))
            at = max(at, end)
            if len(found) < count and goal < size:
                found.append([])
        before += size
    runs = [run for run in found if run]
    return runs or [[]]


def _line_start(path: str, at: int, size: int) -> int:
    """Start of the first line that starts at byte `at` or after it."""
    if at <= 0:
        return 0
    at -= 1
    with open(path, "rb") as file:
        file.seek(at)
        while block := file.read(_BLOCK):
            end = int(kernels.text.lines.first_line_end(np.frombuffer(block, np.uint8), 0, len(block)))
            if end >= 0:
                return at + end
            at += len(block)
    return size


def _blocks(piece: _Piece) -> Iterator[memoryview]:
    """The bytes of a piece, decompressed."""
    compression = {".gz": "gzip", ".zst": "zstd"}.get(os.path.splitext(piece.path)[1])
    buffer = np.empty(_BLOCK, np.uint8)
    view = memoryview(buffer.data)
    with open_bytes(piece.path, compression) as file:
        if piece.start:
            file.seek(piece.start)
        left = piece.end - piece.start if piece.end >= 0 else None
        while left is None or left > 0:
            count = file.readinto(view if left is None else view[:left])  # type: ignore[union-attr]
            if not count:
                return
            left = None if left is None else left - count
            yield view[:count]


def _write(target: str, pieces: Sequence[_Piece], kind: str, parts: Sequence[str]) -> Written:
    """Write pieces to a file and count their lines."""
    packed = kind in ("jsonl.gz", "jsonl.zst") and bool(parts) and all(part.endswith(f".{kind}") for part in parts)
    return put(target, lambda aside: _join_frames(aside, pieces) if packed else _join_lines(aside, pieces, kind))


def _join_lines(aside: str, pieces: Sequence[_Piece], kind: str) -> int:
    rows = 0
    array = kind == "json"
    file = open_output(Path(aside), f".{kind}")
    try:
        if array:
            file.write(b"[\n")
        last = b""
        for piece in pieces:
            for block in _blocks(piece):
                rows += int(kernels.text.lines.count_lines(np.frombuffer(block, np.uint8), 0, len(block)))
                if not array:
                    file.write(block)
                    continue
                # Every line but the last has a comma before its line end, and the last line is only known at the end.
                text = last + bytes(block)
                file.write(text[:-1].replace(b"\n", b",\n"))
                last = text[-1:]
        if array:
            file.write(last + b"]\n")
    finally:
        file.close()
    return rows


def _join_frames(aside: str, pieces: Sequence[_Piece]) -> int:
    """Write compressed parts one after another, which is a valid file; returns the number of their lines."""
    rows = 0
    with open(aside, "wb") as file:
        for piece in pieces:
            rows += sum(
                int(kernels.text.lines.count_lines(np.frombuffer(b, np.uint8), 0, len(b))) for b in _blocks(piece)
            )
            with open(piece.path, "rb") as part:
                while block := part.read(_BLOCK):
                    file.write(block)
    return rows
