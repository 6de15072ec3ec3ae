"""Arrays that take long to make: one process of this user makes them, all others map its file in the cache folder."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from refinery.common.arrays import mapped_arrays, write_arrays
from refinery.common.cache_folder import cache_root
from refinery.common.digest import digest_of_file

_MOST = 4  # files of a kind, of up to some hundred megabytes each, beside those in use
_IN_USE = 3600  # seconds since a process has read a file: the steps of one recipe may need more files than _MOST
_SUFFIX, _DRAFT, _LOCK = ".arrow", "draft", "lock"


def shared_arrays(kind: str, key: str, count: int, make: Callable[[], Sequence[np.ndarray]]) -> Sequence[np.ndarray]:
    """The `count` arrays of a key, which cannot be written; `make` makes them where no process has done so before.

    kind: the folder. key: a word that names all that the arrays depend on. A process waits while another one makes arrays of the kind.
    Where nothing can be written, each process makes its own.
    """
    folder = cache_root() / kind
    if (arrays := _read(folder, key, count)) is not None:
        return arrays
    with _alone(folder) as can_write:
        if not can_write:
            return make()
        if (arrays := _read(folder, key, count)) is not None:
            return arrays
        made = make()
        with suppress(OSError):
            _write(folder, key, made)
        arrays = _read(folder, key, count)
        return made if arrays is None else arrays


@contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """Wait until no other process writes here; False where locks or files are not possible. The lock ends with the process."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            locked = True
        except OSError:
            locked = False
        yield locked
    finally:
        os.close(file)


def _read(folder: Path, key: str, count: int) -> list[np.ndarray] | None:
    """The arrays of a key; None if there is no file, or it is damaged: its name has the digest of its content."""
    for path in folder.glob(f"{key}.*{_SUFFIX}"):
        with suppress(OSError, ValueError):
            if digest_of_file(path).hexdigest() == path.name.split(".")[1]:
                arrays = mapped_arrays(path, count)
                os.utime(path)  # those not used for longest are removed first
                return arrays
    return None


def _write(folder: Path, key: str, arrays: Sequence[np.ndarray]) -> None:
    """Write the file of a key, in place of a damaged one, and remove the oldest files beyond _MOST, unless they are in use.

    For the holder of the lock.
    """
    draft = folder / _DRAFT
    try:
        write_arrays(draft, *arrays)
        for damaged in folder.glob(f"{key}.*{_SUFFIX}"):
            damaged.unlink()
        os.replace(draft, folder / f"{key}.{digest_of_file(draft).hexdigest()}{_SUFFIX}")
    finally:
        draft.unlink(missing_ok=True)
    files = sorted(folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
    for path in files[:-_MOST]:
        if path.stat().st_mtime + _IN_USE < time.time():
            path.unlink()
