"""The file of an export while shards write it together, without joining parts afterwards."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from refinery.common.digest import Digest
from refinery.errors import OutputError
from refinery.io.model import Written
from refinery.io.writers import parquet_footer
from refinery.io.writers.earlier_export import CHANGED, EarlierExport, WrittenRange, footers_of, is_sound, stamp_of
from refinery.io.writers.export_files import names
from refinery.io.writers.model import ExportJob
from refinery.io.writers.registry import writer_of
from refinery.io.writers.temp_files import aside_of, scratch_in
from refinery.io.writers.tidy import tidy
from refinery.io.writers.write import open_output, writing

# Bytes that a shard, and all complete shards together, hold in memory before they go to temporary files.
_HELD_BY_ONE = 64 << 20
_HELD_BY_ALL = 256 << 20
_BLOCK = 4 << 20


# Called when a shard's bytes have their place.
OnPlaced = Callable[[WrittenRange], None]


def share(
    export_path: str,
    kind: str,
    shard_size: int,
    lines: bool,
    aside: Path,
    note: Callable[[str], None] | None = None,
) -> SharedFile | None:
    """The file of an export that shards can write themselves; None if their parts must be joined.

    Parts are joined for several files, JSON arrays, and tables made from lines or the other way round. aside: folder
    for bytes that do not fit memory until their turn comes. note: stores the record that another attempt needs.
    """
    if shard_size > 0 or not writer_of(kind).is_shared(lines):
        return None
    return SharedFile(names(export_path, kind)[0], kind, aside, note)


class SharedFile:
    """A file under a temporary name into which shards write, the bytes of each after those of the shards before it.

    The place of a shard's bytes is known when all shards before it are complete. Until then memory holds them, or a
    file in the folder `aside` when they are many; no shard waits. Shards that are begun in order seldom need that file.
    """

    def __init__(self, target: str, kind: str, aside: Path, note: Callable[[str], None] | None = None) -> None:
        self.target, self.writer, self.folder, self._note = target, writer_of(kind), aside, note
        self.into = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._lead = self.writer.lead
        self._next, self._end, self._held = 0, len(self._lead), 0
        self._waiting: dict[int, _Shard] = {}
        self._done: list[_Shard] = []
        self._file: int | None = None
        self._aside = ""
        self._useful = False  # another attempt can use bytes of the file
        self._complete: Written | None = None  # the export is already complete
        if note is None:  # no other attempt will follow
            self.resume(None, {}, 0, _nobody)

    # Bytes of earlier attempts

    def resume(
        self,
        known: EarlierExport | None,
        placed: dict[int, WrittenRange],
        shards: int,
        on_placed: Callable[[int, WrittenRange], None],
        overwrite: bool = False,
    ) -> set[int]:
        """Open the file, with the shards of an earlier file; returns the numbers of these.

        known: the earlier file. placed: shards whose results are valid. shards: number of all shards. on_placed: stores the new place
        of a shard that is copied. overwrite: the earlier file may be replaced even if somebody has changed it. Raises
        OutputError when the file cannot be written.
        """
        placed = {shard: place for shard, place in placed.items() if known is not None and place.into == known.into}
        kept: set[int] = set()
        with writing(self.target):
            os.makedirs(os.path.dirname(os.path.abspath(self.target)), exist_ok=True)
            if known is not None and placed:
                kept = self._go_on(known, placed)
                kept = kept or self._from_finished(known, placed, shards, on_placed, overwrite)
            if self._file is None and self._complete is None:
                self._begin()
            if known is not None and os.path.basename(known.aside) != os.path.basename(self._aside):
                Path(known.aside).unlink(missing_ok=True)
            tidy(self.target, self._aside)
        return kept

    def _begin(self) -> None:
        self._aside = aside_of(self.target, self.into)
        self._file = _held(self._aside, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        if self._note is not None:
            self._note(EarlierExport(self.into, os.path.abspath(self._aside), os.path.abspath(self.target)).write())

    def _go_on(self, known: EarlierExport, placed: dict[int, WrittenRange]) -> set[int]:
        """Open the unfinished file of an earlier attempt again; its shards up to the first invalid one stay."""
        if os.path.abspath(self.target) != known.target or not os.path.exists(known.aside):
            return set()
        end, shard = len(self._lead), 0
        while shard in placed and placed[shard].start == end and is_sound(known.aside, placed[shard]):
            self._take(shard, placed[shard])
            end, shard = end + placed[shard].size, shard + 1
        if not shard:
            return set()
        self.into, self._aside = known.into, os.path.join(os.path.dirname(self.target), os.path.basename(known.aside))
        self._file = _held(self._aside, os.O_RDWR)
        os.ftruncate(self._file, end)
        self._next, self._end, self._useful = shard, end, True
        return set(range(shard))

    def _from_finished(
        self,
        known: EarlierExport,
        placed: dict[int, WrittenRange],
        shards: int,
        on_placed: Callable[[int, WrittenRange], None],
        overwrite: bool,
    ) -> set[int]:
        """Keep the finished file of an earlier run if it is this export to the byte; else copy the shards that it has."""
        stamp = stamp_of(known.target)
        if stamp is None:
            return set()
        if stamp != known.stamp:
            sound = {shard: place for shard, place in placed.items() if is_sound(known.target, place)}
            if len(sound) < len(placed) and not overwrite and os.path.abspath(self.target) == known.target:
                raise OutputError(f"{known.target}: {CHANGED}")
            placed = sound
        if os.path.abspath(self.target) == known.target and self._is_made_of(known.target, placed, shards):
            self._keep_finished(known, placed, stamp)
        elif placed:
            self._copy_finished(known, placed, on_placed)
        return set(placed)

    def _is_made_of(self, path: str, placed: dict[int, WrittenRange], shards: int) -> bool:
        """Return whether a file has the bytes of all shards in order, those of its format around them, and no others."""
        end = len(self._lead)
        for shard in range(shards):
            if shard not in placed or placed[shard].start != end:
                return False
            end += placed[shard].size
        tail = self.writer.tail(footers_of(placed))
        if tail is None or os.path.getsize(path) != end + len(tail):
            return False
        with open(path, "rb") as file:
            return file.read(len(self._lead)) == self._lead and os.pread(file.fileno(), len(tail), end) == tail

    def _keep_finished(self, known: EarlierExport, placed: dict[int, WrittenRange], stamp: tuple[int, ...]) -> None:
        self._complete = Written(self.target, sum(place.rows for place in placed.values()), stamp[0])
        if self._note is not None and stamp != known.stamp:  # the bytes need not be read again
            self._note(replace(known, stamp=stamp).write())

    def _copy_finished(
        self, known: EarlierExport, placed: dict[int, WrittenRange], on_placed: Callable[[int, WrittenRange], None]
    ) -> None:
        self._begin()
        for shard, place in sorted(placed.items()):
            copied = _Shard(shard, size=place.size, rows=place.rows, footer=place.footer)
            copied.elsewhere = (known.target, place.start)
            copied.known, copied.on_placed = place.digest, _of_shard(on_placed, shard)
            self.complete(copied)

    def _take(self, shard: int, place: WrittenRange) -> None:
        """Count a shard whose bytes are in place."""
        self._done.append(
            _Shard(shard, size=place.size, written=place.size, start=place.start, rows=place.rows, footer=place.footer)
        )

    # Bytes of shards

    def piece(self, index: int, on_placed: OnPlaced | None = None) -> ShardFile:
        """The file object of shard `index`. on_placed: called when the shard's bytes have their place."""
        return ShardFile(self, index, on_placed)

    def relieve(self, shard: _Shard) -> None:
        """Free the memory of an incomplete shard's bytes."""
        with self._lock:
            ready = self._place(shard) if self._next == shard.index else []
        if ready:
            self._write_all(ready)
        else:
            self._put_aside(shard)

    def complete(self, shard: _Shard) -> None:
        """Write a complete shard and the waiting shards after it; or let it wait."""
        with self._lock:
            early = self._next != shard.index and self._held + shard.held > _HELD_BY_ALL
        if early:
            self._put_aside(shard)
        ready: list[tuple[int, _Bytes]] = []
        placed: list[_Shard] = []
        with self._lock:
            self._waiting[shard.index] = shard
            self._held += shard.held
            while self._next in self._waiting:
                first = self._waiting.pop(self._next)
                self._held -= first.held
                ready += self._place(first)
                placed.append(first)
                self._done.append(first)
                self._next += 1
        self._write_all(ready)
        self._useful = self._useful or bool(placed)
        for one in placed:
            if one.on_placed is not None:
                one.on_placed(WrittenRange(self.into, one.start, one.size, one.digested(), one.rows, one.footer))

    def _place(self, shard: _Shard) -> list[tuple[int, _Bytes]]:
        """The byte sources of a shard, each with its place from the end of the file on."""
        shard.start = self._end if shard.start < 0 else shard.start
        ready: list[tuple[int, _Bytes]] = []
        if shard.elsewhere is not None:
            ready.append((self._end, _FileBytes(*shard.elsewhere, shard.size)))
            self._end += shard.size
        if shard.aside is not None:
            size = shard.size - shard.written - shard.held
            ready.append((self._end, _FileBytes(str(shard.aside), 0, size, temporary=True)))
            self._end += size
        for chunk in shard.chunks:
            ready.append((self._end, chunk))
            self._end += len(chunk)
        shard.chunks, shard.held, shard.aside, shard.written, shard.elsewhere = [], 0, None, shard.size, None
        return ready

    def _put_aside(self, shard: _Shard) -> None:
        if shard.elsewhere is not None:
            return
        path = self.folder / f"{shard.index:05d}.{self.into}.export"
        with (
            writing(path),
            path.open("r+b" if shard.aside else "wb") as file,
        ):  # a file that was removed is not made anew
            file.seek(0, os.SEEK_END)
            for chunk in shard.chunks:
                file.write(chunk)
        shard.chunks, shard.held, shard.aside = [], 0, path

    def _write_all(self, ready: list[tuple[int, _Bytes]]) -> None:
        for place, content in ready:
            if isinstance(content, _FileBytes):
                self._copy(place, content)
            else:
                self._write(place, content)

    def _write(self, place: int, chunk: memoryview) -> None:
        assert self._file is not None
        with writing(self.target):
            while len(chunk):
                count = os.pwrite(self._file, chunk, place)
                place, chunk = place + count, chunk[count:]

    def _copy(self, place: int, source: _FileBytes) -> None:
        """Copy bytes of a file. Raises OutputError if the file is lost, or has lost bytes."""
        size = source.size
        with writing(source.path), open(source.path, "rb") as file:
            file.seek(source.start)
            while size > 0:
                block = file.read(min(_BLOCK, size))
                if not block:
                    raise OSError(errno.EIO, f"{size} bytes of it were lost while the run worked")
                self._write(place, memoryview(block))
                place += len(block)
                size -= len(block)
        if source.temporary:
            Path(source.path).unlink()

    # The end

    def finish(self) -> list[Written]:
        """Give the file its name. Raises OutputError when that fails."""
        if self._complete is not None:
            return [self._complete]
        try:
            return self._finished()
        finally:
            self.close()

    def _finished(self) -> list[Written]:
        with writing(self.target):
            rows = sum(shard.rows for shard in self._done)
            tail = self.writer.tail([(shard.start, shard.footer) for shard in self._done if shard.footer])
            if tail is None:
                return self._put_together()
            if self._lead or tail:
                self._write(0, memoryview(self._lead))
                self._write(self._end, memoryview(tail))
            elif self._end == 0:
                open_output(Path(self._aside), f".{self.writer.name}").close()
            os.replace(self._aside, self.target)
            if self._note is not None:
                known = EarlierExport(
                    self.into, os.path.abspath(self._aside), os.path.abspath(self.target), stamp_of(self.target)
                )
                self._note(known.write())
            return [Written(self.target, rows, os.path.getsize(self.target))]

    def take_back(self) -> None:
        """Take the file's name away again; its contents stay for another attempt."""
        if self._complete is None and self._aside and os.path.exists(self.target):
            os.replace(self.target, self._aside)

    def _put_together(self) -> list[Written]:
        """Write the file anew from tables whose columns have different types in some shards."""
        assert self._file is not None
        folder = os.path.dirname(os.path.abspath(self.target))
        with scratch_in(folder) as scratch:
            parts = []
            for shard in self._done:
                if shard.footer:
                    parts.append(os.path.join(scratch, f"{shard.index:05d}.{self.writer.name}"))
                    body = os.pread(self._file, shard.size, shard.start)
                    Path(parts[-1]).write_bytes(self._lead + body + shard.footer)
            self.discard()
            return self.writer.join(ExportJob(parts, self._own, 0, False, os.cpu_count() or 1, folder))

    def _own(self, _count: int) -> list[str]:
        """The one file of the export."""
        return [self.target]

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def close(self) -> None:
        """Leave the bytes to another attempt, if it can use any of them; else remove the file."""
        self._close() if self._note is not None and self._useful else self.discard()

    def discard(self) -> None:
        """Remove the file, unless it has its name already."""
        self._close()
        if self._aside:
            Path(self._aside).unlink(missing_ok=True)


def _held(path: str, flags: int) -> int:
    """An open file with a lock, by which others see that it is in use."""
    file = os.open(path, flags, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        pass  # some file systems have no locks
    return file


def _nobody(shard: int, place: WrittenRange) -> None:
    """Ignore the place of a shard."""


def _of_shard(on_placed: Callable[[int, WrittenRange], None], shard: int) -> OnPlaced:
    return lambda place: on_placed(shard, place)


@dataclass(frozen=True)
class _FileBytes:
    """Bytes of a file that are to be copied. temporary: the file is removed afterwards."""

    path: str
    start: int
    size: int
    temporary: bool = False


# Bytes to be written: in memory, or in a file.
_Bytes = memoryview | _FileBytes


@dataclass
class _Shard:
    """Bytes of a shard so far: `size` bytes, of which `written` are in the file, then those in the file `aside`, then
    `held` in chunks; or all of them `elsewhere`, a file and their start in it. start: place of the first byte.
    """

    index: int
    chunks: list[memoryview] = field(default_factory=list)
    size: int = 0
    held: int = 0
    written: int = 0
    aside: Path | None = None
    elsewhere: tuple[str, int] | None = None
    start: int = -1
    rows: int = 0
    footer: bytes = b""
    on_placed: OnPlaced | None = None
    digest: Digest | None = None
    known: str = ""

    def digested(self) -> str:
        """The digest of the shard's bytes."""
        return self.known if self.digest is None else self.digest.hexdigest()


class ShardFile:
    """One shard's bytes, written like a file. rows: of the samples in them, which the writer counts."""

    def __init__(self, shared: SharedFile, index: int, on_placed: OnPlaced | None = None) -> None:
        digest = None if on_placed is None else Digest()
        self._shared, self._shard = shared, _Shard(index, on_placed=on_placed, digest=digest)

    @property
    def target(self) -> str:
        """The file that the bytes become a part of."""
        return self._shared.target

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._shard.size

    def count(self, rows: int) -> None:
        """Count `rows` more samples in the written bytes."""
        self._shard.rows += rows

    def write(self, data: Any) -> None:
        """Add bytes, which must not change afterwards."""
        chunk = memoryview(data).cast("B")
        if self._shard.digest is not None:
            self._shard.digest.update(chunk)
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
        """Complete the shard."""
        self._shared.complete(self._shard)
