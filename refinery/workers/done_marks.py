"""Done marks: stored records that a shard is finished, with its result and key. Valid marks save another run."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from refinery.common.digest import digest_of_file
from refinery.common.lazy import pq
from refinery.common.parquet import table_of
from refinery.common.paths import shorter
from refinery.io.content_digest import content_of, is_lines, stamp_of
from refinery.io.model import Shard
from refinery.io.readers.read_buffer import digested
from refinery.io.writers.earlier_export import WrittenRange
from refinery.kernels.core.arrow import of_texts
from refinery.storage.file_digests import can_be_trusted
from refinery.storage.open import open_store
from refinery.storage.store import Store
from refinery.workers.tasks import ShardResult, Task

_FORMAT = 2  # 1: digests of another kind


@dataclass(frozen=True)
class DoneMark:
    """A done mark.

    key: digest of everything that decides the result. content: digest of the shard's bytes in the input; stamp: their
    state in the file system; both empty for shards that earlier stages have left. files: size and digest by name.
    paths: of the shard's input files, where a quarantine names them; seen: the same, relative to the current folder.
    placed: position of the shard's bytes in the export, if they are there.
    """

    key: str
    result: ShardResult
    files: dict[str, tuple[int, str]] = field(default_factory=dict)
    content: str = ""
    stamp: str = ""
    paths: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    placed: WrittenRange | None = None


def _never() -> bool:
    return False


class ShardPublisher:
    """Publishes the files of a shard, and its done mark last.

    given_up: returns whether the run has given up; then nothing is published any more. Raises InterruptedError.
    """

    def __init__(self, shard: Shard, task: Task, given_up: Callable[[], bool] = _never) -> None:
        self.store, self.task, self.shard, self._given_up = open_store(task.store), task, shard, given_up
        self._own = secrets.token_hex(4)  # a thread of a run that has given up may still write files of this shard
        self.files: dict[str, tuple[int, str]] = {}
        self.key = self.content = self.stamp = ""
        if task.key and shard.part is None and is_lines(shard):  # the key is known after the shard has been read
            stamp, changed = stamp_of(shard)
            self.stamp = stamp if can_be_trusted(changed) else ""
        elif task.key:
            self.key, self.content, self.stamp = made_of(shard, task)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Digest the shard while the body of the `with` reads it, once and to its end."""
        if self.key or not self.task.key:
            yield
            return
        with digested() as digest:
            yield
        self.content = digest.hexdigest()
        self.key = key_of([self.task.key, self.content])

    def scratch(self, name: str) -> Path:
        """Path of a temporary file for what will be published as `name`."""
        return self.store.scratch() / f"{self._own}-{name.replace('/', '-')}"

    def publish(self, local: Path, name: str) -> str:
        """Publish a written file under its name in the store; returns the name."""
        self._require_run()
        if self.task.key:
            digest = digest_of_file(local)
            self.files[name] = digest.size, digest.hexdigest()
        self.store.publish(local, name)
        return name

    def mark(self, result: ShardResult, placed: WrittenRange | None = None) -> None:
        """Write the shard's done mark."""
        self._require_run()
        if self.task.key:
            paths = paths_of(self.shard) if result.quarantine else ()
            mark = DoneMark(self.key, result, self.files, self.content, self.stamp, paths, _seen(paths), placed)
            write(self.store, self.task.folder, mark)

    def _require_run(self) -> None:
        if self._given_up():
            raise InterruptedError("the run has given up")


def name_of(folder: str, shard: int) -> str:
    """Name of a shard's done mark in the store."""
    return f"{folder}/{shard:05d}.done.json"


def key_of(parts: Any) -> str:
    """A digest of plain data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=list).encode()).hexdigest()[:32]


def paths_of(shard: Shard) -> tuple[str, ...]:
    """Paths of a shard's input files."""
    return tuple(source.path for source in shard.sources)


def _seen(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(shorter, paths))


def made_of(shard: Shard, task: Task, known: DoneMark | None = None) -> tuple[str, str, str]:
    """Key of the result, content of the shard, stamp of its files."""
    if shard.part is not None:
        return task.key, "", ""
    stamp, changed = stamp_of(shard)
    if known is not None and known.stamp and known.stamp == stamp:
        content = known.content
    else:
        content = content_of(shard)
        stamp = stamp if can_be_trusted(changed) else ""
    return key_of([task.key, content]), content, stamp


def write(store: Store, folder: str, mark: DoneMark) -> None:
    """Publish a mark."""
    plain = asdict(replace(mark, placed=None)) | {"format": _FORMAT}
    plain["result"]["seconds"] = list(mark.result.seconds.items())
    if mark.placed is not None:
        plain["placed"] = asdict(mark.placed) | {"footer": base64.b64encode(mark.placed.footer).decode()}
    store.write_text(name_of(folder, mark.result.shard), json.dumps(plain, ensure_ascii=False))


def read(store: Store, folder: str, shard: int) -> DoneMark | None:
    """The done mark of a shard; None if it is missing or cannot be read."""
    try:
        plain = json.loads(store.read_text(name_of(folder, shard)))
        if plain.pop("format") != _FORMAT:
            return None
        result = plain["result"]
        result["seconds"] = {int(step): float(spent) for step, spent in result["seconds"]}
        result["rows_of"] = tuple(result["rows_of"])
        result["passed_over"] = tuple((kind, count) for kind, count in result.get("passed_over", ()))
        result["line_offsets"] = tuple((row, offset) for row, offset in result.get("line_offsets", ()))
        placed = plain["placed"]
        if placed is not None:
            placed = WrittenRange(**placed | {"footer": base64.b64decode(placed["footer"])})
        files = {name: (int(size), str(digest)) for name, (size, digest) in plain["files"].items()}
        named = {name: tuple(map(str, plain[name])) for name in ("paths", "seen")}
        return DoneMark(**plain | {"result": ShardResult(**result), "placed": placed, "files": files, **named})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def holds(store: Store, mark: DoneMark, shard: Shard, task: Task) -> DoneMark | None:
    """The mark with the current stamp, if its key is that of this task and its files are unchanged; else None."""
    key, content, stamp = made_of(shard, task, mark)
    if key != mark.key or not all(store.sound(name, *known) for name, known in mark.files.items()):
        return None
    before = mark
    if mark.result.quarantine and mark.paths != paths_of(shard):
        if mark.seen != _seen(paths_of(shard)):
            return None
        mark = _moved(store, mark, paths_of(shard))  # moved together with the current folder
    if stamp != mark.stamp:
        mark = replace(mark, content=content, stamp=stamp)
    if mark is not before:
        write(store, task.folder, mark)
    mark.result.key, mark.result.reused = key, True
    return mark


def _moved(store: Store, mark: DoneMark, paths: tuple[str, ...]) -> DoneMark:
    """The mark of a shard whose input files have moved; its quarantine is rewritten with the new paths."""
    name = mark.result.quarantine
    table = table_of(store.fetch(name))
    where = dict(zip(mark.paths, paths, strict=True))
    column = of_texts([where.get(path, path) for path in table["file"].to_pylist()])
    aside = store.scratch() / name.replace("/", "-")
    pq.write_table(table.set_column(table.column_names.index("file"), "file", column), aside)
    digest = digest_of_file(aside)
    store.publish(aside, name)
    return replace(mark, paths=paths, files=mark.files | {name: (digest.size, digest.hexdigest())})
