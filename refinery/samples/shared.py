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

# Bytes that a shard, and all shards together, hold while shards before them are not done.
_HELD_BY_ONE = 64 << 20
_HELD_BY_ALL = 256 << 20


def share(export_path: str, kind: str, shard_size: int, lines: bool) -> SharedFile | None:
    """The file of an export that shards can write themselves; None where their parts have to be put together.

    That is the case for several files, JSON arrays, and tables made from lines or the other way round.
    """
    if shard_size > 0 or kind not in (("jsonl", "jsonl.gz", "jsonl.zst") if lines else ("parquet",)):
        return None
    with writing(export_path):
        return SharedFile(names(export_path, kind)[0], kind)


class SharedFile:
    """A file under a temporary name into which shards write, the bytes of each after those of the shards before it.

    Where a shard's bytes go is known when all shards before it have theirs; until then they are held in memory. Shards
    must be begun in order, and all of them be written: the first of those that run is never kept waiting.
    """

    def __init__(self, target: str, kind: str) -> None:
        self.target, self.kind = target, kind
        self._aside = aside_of(target)
        self._turn = threading.Condition()
        self._next, self._end, self._held = 0, len(self._lead), 0
        self._waiting: dict[int, _Shard] = {}
        self._done: list[_Shard] = []
        self._failed: BaseException | None = None
        os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
        _tidy(target)
        self._file: int | None = os.open(self._aside, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)

    @property
    def _lead(self) -> bytes:
        return parquet_footer.MAGIC if self.kind == "parquet" else b""

    def piece(self, index: int) -> Piece:
        """What shard `index` writes to."""
        return Piece(self, index)

    def add(self, shard: _Shard, complete: bool) -> None:
        """Write what is known of a shard, or keep it until its turn."""
        with self._turn:
            self._waiting[shard.index] = shard
            shard.complete = complete
            self._held += shard.fresh
            shard.fresh = 0
            self._turn.wait_for(lambda: self._may_go_on(shard))
            if self._failed is not None:
                raise self._failed
            ready = self._take()
            self._turn.notify_all()
        for place, chunk in ready:
            self._write(place, chunk)

    def _may_go_on(self, shard: _Shard) -> bool:
        """Whether the shard's thread can leave its bytes here, or write them."""
        if self._failed is not None or self._next == shard.index or self._waiting.get(shard.index) is not shard:
            return True
        return shard.complete and self._held <= _HELD_BY_ALL

    def _take(self) -> list[tuple[int, memoryview]]:
        """The chunks whose turn it is, each with its place."""
        ready = []
        while self._next in self._waiting:
            shard = self._waiting.pop(self._next)
            shard.start = self._end if shard.start < 0 else shard.start
            for chunk in shard.chunks:
                ready.append((self._end, chunk))
                self._end += len(chunk)
                self._held -= len(chunk)
            shard.chunks = []
            if not shard.complete:
                break
            self._done.append(shard)
            self._next += 1
        return ready

    def _write(self, place: int, chunk: memoryview) -> None:
        assert self._file is not None
        with writing(self.target):
            while len(chunk):
                count = os.pwrite(self._file, chunk, place)
                place, chunk = place + count, chunk[count:]

    def give_up(self, error: BaseException) -> None:
        """Let the shards that wait end with the error of the one that has failed."""
        with self._turn:
            self._failed = error
            self._turn.notify_all()

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
    """What a shard has given so far. fresh: bytes that the file has not counted yet. start: place of its first byte."""

    index: int
    chunks: list[memoryview] = field(default_factory=list)
    fresh: int = 0
    size: int = 0
    start: int = -1
    rows: int = 0
    footer: bytes = b""
    complete: bool = False


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
        self._shard.fresh += len(chunk)
        self._shard.size += len(chunk)
        if sum(map(len, self._shard.chunks)) > _HELD_BY_ONE:
            self._shared.add(self._shard, complete=False)

    def write_table(self, file: Any) -> None:
        """Add a complete Parquet file: its row groups now, its footer when those of all shards are joined."""
        body, footer = parquet_footer.split(memoryview(file))
        self._shard.footer = bytes(footer)
        self.write(body)

    def close(self) -> None:
        """All is written."""
        self._shared.add(self._shard, complete=True)

    def give_up(self, error: BaseException) -> None:
        """The shard has failed."""
        self._shared.give_up(error)
