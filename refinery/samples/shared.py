"""The file of an export while shards write it together: no parts have to be put together afterwards."""

from __future__ import annotations

import glob
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from refinery.samples import parquet_footer
from refinery.samples.export import Written, aside_of, names
from refinery.samples.write import open_output, writing

# Bytes that a shard holds in memory, and that all complete ones hold together, before they are put into a file of their own.
_HELD_BY_ONE = 64 << 20
_HELD_BY_ALL = 256 << 20
_BLOCK = 4 << 20


def share(export_path: str, kind: str, shard_size: int, lines: bool, aside: Path) -> SharedFile | None:
    """The file of an export that shards can write themselves; None where their parts have to be put together.

    Parts are put together for several files, JSON arrays, and tables made from lines or the other way round. aside: folder
    for what does not fit memory until its turn comes.
    """
    if shard_size > 0 or kind not in (("jsonl", "jsonl.gz", "jsonl.zst") if lines else ("parquet",)):
        return None
    with writing(export_path):
        return SharedFile(names(export_path, kind)[0], kind, aside)


class SharedFile:
    """A file under a temporary name into which shards write, the bytes of each after those of the shards before it.

    Where a shard's bytes go is known when all shards before it are complete. Until then they are held in memory, or in a
    file in the folder `aside` when they are many; nobody waits. Shards that are begun in order seldom need that file.
    """

    def __init__(self, target: str, kind: str, aside: Path) -> None:
        self.target, self.kind, self.folder = target, kind, aside
        self._aside = aside_of(target)
        self._lock = threading.Lock()
        self._next, self._end, self._held = 0, len(self._lead), 0
        self._waiting: dict[int, _Shard] = {}
        self._done: list[_Shard] = []
        os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
        _tidy(target)
        self._file: int | None = os.open(self._aside, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)

    @property
    def _lead(self) -> bytes:
        return parquet_footer.MAGIC if self.kind == "parquet" else b""

    def piece(self, index: int) -> Piece:
        """What shard `index` writes to."""
        return Piece(self, index)

    def relieve(self, shard: _Shard) -> None:
        """Take the bytes of a shard that is not complete out of memory."""
        with self._lock:
            ready = self._place(shard) if self._next == shard.index else []
        if ready:
            self._write_all(ready)
        else:
            self._put_aside(shard)

    def complete(self, shard: _Shard) -> None:
        """Write a shard that is complete, and those after it that have waited for it; or let it wait itself."""
        with self._lock:
            early = self._next != shard.index and self._held + shard.held > _HELD_BY_ALL
        if early:
            self._put_aside(shard)
        ready: list[tuple[int, memoryview | Path]] = []
        with self._lock:
            self._waiting[shard.index] = shard
            self._held += shard.held
            while self._next in self._waiting:
                first = self._waiting.pop(self._next)
                self._held -= first.held
                ready += self._place(first)
                self._done.append(first)
                self._next += 1
        self._write_all(ready)

    def _place(self, shard: _Shard) -> list[tuple[int, memoryview | Path]]:
        """What the shard holds, each with its place from the end of the file on."""
        shard.start = self._end if shard.start < 0 else shard.start
        ready: list[tuple[int, memoryview | Path]] = []
        if shard.aside is not None:
            ready.append((self._end, shard.aside))
            self._end += shard.size - shard.written - shard.held
        for chunk in shard.chunks:
            ready.append((self._end, chunk))
            self._end += len(chunk)
        shard.chunks, shard.held, shard.aside, shard.written = [], 0, None, shard.size
        return ready

    def _put_aside(self, shard: _Shard) -> None:
        path = self.folder / f"{shard.index:05d}.export"
        with writing(path), path.open("ab" if shard.aside else "wb") as file:
            for chunk in shard.chunks:
                file.write(chunk)
        shard.chunks, shard.held, shard.aside = [], 0, path

    def _write_all(self, ready: list[tuple[int, memoryview | Path]]) -> None:
        for place, found in ready:
            if isinstance(found, Path):
                self._copy(place, found)
            else:
                self._write(place, found)

    def _write(self, place: int, chunk: memoryview) -> None:
        assert self._file is not None
        with writing(self.target):
            while len(chunk):
                count = os.pwrite(self._file, chunk, place)
                place, chunk = place + count, chunk[count:]

    def _copy(self, place: int, path: Path) -> None:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                self._write(place, memoryview(block))
                place += len(block)
        path.unlink()

    def finish(self) -> list[Written]:
        """Give the file its name. Raises OutputError when that fails."""
        try:
            with writing(self.target):
                rows = sum(shard.rows for shard in self._done)
                if self.kind == "parquet":
                    footer = parquet_footer.join([(shard.start, shard.footer) for shard in self._done if shard.footer])
                    if footer is None:
                        return self._put_together()
                    self._write(0, memoryview(self._lead))
                    self._write(self._end, memoryview(footer))
                elif self._end == 0:
                    open_output(Path(self._aside), f".{self.kind}").close()
                self._close()
                os.replace(self._aside, self.target)
                return [Written(self.target, rows, os.path.getsize(self.target))]
        finally:
            self.discard()

    def _put_together(self) -> list[Written]:
        """Write the file anew from tables whose columns have not the same types in all shards."""
        from refinery.samples.export_tables import export_parquet

        assert self._file is not None
        with TemporaryDirectory(prefix=".refinery-", dir=os.path.dirname(os.path.abspath(self.target))) as scratch:
            parts = []
            for shard in self._done:
                if shard.footer:
                    parts.append(os.path.join(scratch, f"{shard.index:05d}.parquet"))
                    body = os.pread(self._file, shard.size, shard.start)
                    Path(parts[-1]).write_bytes(self._lead + body + shard.footer)
            self.discard()
            return export_parquet(parts, False, os.cpu_count() or 1, lambda count: [self.target], 0)

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def discard(self) -> None:
        """Remove what has been written, if it has not got its name."""
        self._close()
        Path(self._aside).unlink(missing_ok=True)


def _tidy(target: str) -> None:
    """Remove what killed processes have left of the same file."""
    folder, name = os.path.split(os.path.abspath(target))
    for old in Path(folder).glob(f".{glob.escape(name)}.*.tmp"):
        owner = old.name[len(name) + 2 : -len(".tmp")]
        if owner.isdigit() and not _runs(int(owner)):
            old.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


@dataclass
class _Shard:
    """What a shard has given so far: `size` bytes, of which `written` are in the file, then those in the file `aside`, then
    `held` in chunks. start: place of its first byte.
    """

    index: int
    chunks: list[memoryview] = field(default_factory=list)
    size: int = 0
    held: int = 0
    written: int = 0
    aside: Path | None = None
    start: int = -1
    rows: int = 0
    footer: bytes = b""


class Piece:
    """One shard's bytes, written like a file. rows: of the samples in them, which the writer counts."""

    def __init__(self, shared: SharedFile, index: int) -> None:
        self._shared, self._shard = shared, _Shard(index)

    @property
    def target(self) -> str:
        """The file that it becomes a part of."""
        return self._shared.target

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._shard.size

    def count(self, rows: int) -> None:
        """Note that `rows` samples more are in what is written."""
        self._shard.rows += rows

    def write(self, data: Any) -> None:
        """Add bytes, which must not change afterwards."""
        chunk = memoryview(data).cast("B")
        self._shard.chunks.append(chunk)
        self._shard.held += len(chunk)
        self._shard.size += len(chunk)
        if self._shard.held > _HELD_BY_ONE:
            self._shared.relieve(self._shard)

    def write_table(self, file: Any) -> None:
        """Add a complete Parquet file: its row groups now, its footer when those of all shards are joined."""
        body, footer = parquet_footer.split(memoryview(file))
        self._shard.footer = bytes(footer)
        self.write(body)

    def close(self) -> None:
        """All is written."""
        self._shared.complete(self._shard)
