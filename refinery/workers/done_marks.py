"""Done marks: what was made of a shard, and of what. A shard that has a mark which still holds is not run again."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from refinery import kernels
from refinery.common.paths import shorter
from refinery.io.content_digest import can_be_trusted, content_of, is_lines, stamp_of
from refinery.io.model import Shard
from refinery.io.readers.read_buffer import digested
from refinery.io.writers.shared_file import Placed
from refinery.storage.open import open_store
from refinery.storage.store import Store
from refinery.workers.tasks import ShardResult, Task

_FORMAT = 1


@dataclass(frozen=True)
class Mark:
    """A done mark.

    key: what the result was made of. content, stamp: of the shard's bytes in the input, and what the file system said of
    them; empty for shards that earlier stages have left. files: size and digest by name. paths: those of the shard's
    files, where its quarantine has them; seen: the same as seen from the current folder. placed: where in the export its bytes are, if they are there.
    """

    key: str
    result: ShardResult
    files: dict[str, tuple[int, str]] = field(default_factory=dict)
    content: str = ""
    stamp: str = ""
    paths: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    placed: Placed | None = None


class Leaving:
    """Publishes what a shard leaves, and its mark at last."""

    def __init__(self, shard: Shard, task: Task) -> None:
        self.store, self.task, self.shard = open_store(task.store), task, shard
        self.files: dict[str, tuple[int, str]] = {}
        self.key = self.content = self.stamp = ""
        if task.key and shard.part is None and is_lines(shard):  # its key is known when it has been read
            stamp, changed = stamp_of(shard)
            self.stamp = stamp if can_be_trusted(changed) else ""
        elif task.key:
            self.key, self.content, self.stamp = made_of(shard, task)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """The shard is read meanwhile, once and to its end."""
        if self.key or not self.task.key:
            yield
            return
        with digested() as digest:
            yield
        self.content = digest.hexdigest()
        self.key = key_of([self.task.key, self.content])

    def scratch(self, name: str) -> Path:
        """A file to write, which will get a name of the store."""
        return self.store.scratch() / name.replace("/", "-")

    def publish(self, local: Path, name: str) -> str:
        """Give a file that is written its name, which is the answer."""
        if self.task.key:
            digest = kernels.core.digest.digest_of_file(local)
            self.files[name] = digest.size, digest.hexdigest()
        self.store.publish(local, name)
        return name

    def mark(self, result: ShardResult, placed: Placed | None = None) -> None:
        """Say that the shard is done."""
        if self.task.key:
            paths = paths_of(self.shard) if result.quarantine else ()
            mark = Mark(self.key, result, self.files, self.content, self.stamp, paths, _seen(paths), placed)
            write(self.store, self.task.folder, mark)


def name_of(folder: str, shard: int) -> str:
    """Where a shard's mark is."""
    return f"{folder}/{shard:05d}.done.json"


def key_of(parts: Any) -> str:
    """A digest of plain data."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=list).encode()).hexdigest()[:32]


def paths_of(shard: Shard) -> tuple[str, ...]:
    """The paths of a shard's files."""
    return tuple(source.path for source in shard.sources)


def _seen(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(shorter, paths))


def made_of(shard: Shard, task: Task, known: Mark | None = None) -> tuple[str, str, str]:
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


def write(store: Store, folder: str, mark: Mark) -> None:
    """Publish a mark."""
    plain = asdict(replace(mark, placed=None)) | {"format": _FORMAT}
    plain["result"]["seconds"] = list(mark.result.seconds.items())
    if mark.placed is not None:
        plain["placed"] = asdict(mark.placed) | {"footer": base64.b64encode(mark.placed.footer).decode()}
    store.write_text(name_of(folder, mark.result.shard), json.dumps(plain, ensure_ascii=False))


def read(store: Store, folder: str, shard: int) -> Mark | None:
    """The mark of a shard; None where there is none that can be read."""
    try:
        plain = json.loads(store.read_text(name_of(folder, shard)))
        if plain.pop("format") != _FORMAT:
            return None
        result = plain["result"]
        result["seconds"] = {int(step): float(spent) for step, spent in result["seconds"]}
        result["rows_of"] = tuple(result["rows_of"])
        placed = plain["placed"]
        if placed is not None:
            placed = Placed(**placed | {"footer": base64.b64decode(placed["footer"])})
        files = {name: (int(size), str(digest)) for name, (size, digest) in plain["files"].items()}
        named = {name: tuple(map(str, plain[name])) for name in ("paths", "seen")}
        return Mark(**plain | {"result": ShardResult(**result), "placed": placed, "files": files, **named})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def holds(store: Store, mark: Mark, shard: Shard, task: Task) -> Mark | None:
    """The mark, if it is of just this work and its files are as they were left; with the stamp of now."""
    key, content, stamp = made_of(shard, task, mark)
    if key != mark.key or not all(store.sound(name, *known) for name, known in mark.files.items()):
        return None
    before = mark
    if mark.result.quarantine and mark.paths != paths_of(shard):
        if mark.seen != _seen(paths_of(shard)):
            return None
        mark = _moved(store, mark, paths_of(shard))  # with the current folder
    if stamp != mark.stamp:
        mark = replace(mark, content=content, stamp=stamp)
    if mark is not before:
        write(store, task.folder, mark)
    mark.result.key, mark.result.reused = key, True
    return mark


def _moved(store: Store, mark: Mark, paths: tuple[str, ...]) -> Mark:
    """The mark of a shard whose files lie elsewhere by now; its quarantine names them as they are."""
    name = mark.result.quarantine
    table = pq.read_table(store.fetch(name))
    where = dict(zip(mark.paths, paths, strict=True))
    column = pa.array([where.get(path, path) for path in table["file"].to_pylist()], pa.string())
    aside = store.scratch() / name.replace("/", "-")
    pq.write_table(table.set_column(table.column_names.index("file"), "file", column), aside)
    digest = kernels.core.digest.digest_of_file(aside)
    store.publish(aside, name)
    return replace(mark, paths=paths, files=mark.files | {name: (digest.size, digest.hexdigest())})
