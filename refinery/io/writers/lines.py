"""Join parts of JSON lines to the files of an export: lines, compressed frames, or one array."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from refinery import kernels
from refinery.io.formats import open_bytes
from refinery.io.model import Written
from refinery.io.writers.export_files import put
from refinery.io.writers.model import ExportJob
from refinery.io.writers.temp_files import scratch_in
from refinery.io.writers.write import open_output

_BLOCK = 4 << 20


@dataclass(frozen=True)
class _Piece:
    """Bytes [start, end) of a part of JSON lines."""

    path: str
    start: int
    end: int


def join_lines(job: ExportJob, kind: str, frames: bool = False, array: bool = False) -> list[Written]:
    """Write the files of an export of lines.

    kind: the format's name, a suffix. frames: parts that are compressed like the export are joined as they are. array:
    the lines become one array.
    """
    with scratch_in(job.folder) as scratch:
        parts = _as_lines(job, kind, Path(scratch))
        packed = frames and bool(parts) and all(part.endswith(f".{kind}") for part in parts)

        def write(target: str, pieces: Sequence[_Piece]) -> Written:
            if packed:
                return put(target, lambda aside: _join_frames(aside, pieces))
            return put(target, lambda aside: _join_lines(aside, pieces, kind, array))

        return _each(lambda pair: write(*pair), _cut_for(job, parts), job.workers)


def _cut_for(job: ExportJob, parts: Sequence[str]) -> list[tuple[str, list[_Piece]]]:
    """The files to write, with the pieces of parts that each of them gets."""
    if job.shard_size <= 0:
        return list(zip(job.targets(0), [[_Piece(part, 0, -1) for part in parts]], strict=True))
    total = sum(os.path.getsize(part) for part in parts)
    pieces = _cut(parts, total // job.shard_size + 1)
    return list(zip(job.targets(len(pieces)), pieces, strict=True))


def _as_lines(job: ExportJob, kind: str, scratch: Path) -> Sequence[str]:
    """The parts as JSON lines: unchanged where possible, else written to `scratch`."""
    jobs = [(part, str(scratch / f"{k:05d}.jsonl")) for k, part in enumerate(job.parts)]
    if not job.lines:
        from refinery.io.writers.tables import table_to_lines

        return _each(lambda pair: table_to_lines(*pair), jobs, job.workers)
    packed = [part for part in job.parts if not part.endswith(".jsonl")]
    if not packed or (job.shard_size <= 0 and all(part.endswith(f".{kind}") for part in job.parts)):
        return job.parts
    return _each(lambda pair: _unpack(*pair), jobs, job.workers)


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


def _cut(parts: Sequence[str], count: int) -> list[list[_Piece]]:
    """The parts, one after another, in `count` runs of about equal bytes and of whole lines."""
    sizes = [os.path.getsize(part) for part in parts]
    total = sum(sizes)
    runs_of_pieces: list[list[_Piece]] = [[]]
    before = 0
    for part, size in zip(parts, sizes, strict=True):
        at = 0
        while at < size:
            goal = total * len(runs_of_pieces) // count - before
            end = size if len(runs_of_pieces) == count or goal >= size else _line_start(part, goal, size)
            if end > at:
                runs_of_pieces[-1].append(_Piece(part, at, end))
            at = max(at, end)
            if len(runs_of_pieces) < count and goal < size:
                runs_of_pieces.append([])
        before += size
    runs = [run for run in runs_of_pieces if run]
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


def _join_lines(aside: str, pieces: Sequence[_Piece], kind: str, array: bool) -> int:
    rows = 0
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
