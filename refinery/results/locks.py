"""Locks on the outputs of runs, shared by all runs of a user on this machine: no two runs write one file at once.

Lock files are in a folder of the user below /tmp, never beside an export, and are removed with the lock. Files that
another machine or user writes are noticed when the run publishes (see `owned_files`).
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from refinery.common.cache_folder import temporary_root
from refinery.errors import OutputError
from refinery.storage.run_folder import hold, let_go

_PATIENCE = 1.0  # seconds; the last holder of a shared lock holds it alone for a moment while it removes the file


@contextmanager
def locked(wanted: Mapping[str, bool]) -> Iterator[None]:
    """Hold locks on names: True for exclusive, False for shared. Raises OutputError when another run holds one."""
    folder = _folder()
    with ExitStack() as held:
        for name in sorted(wanted) if folder is not None else ():
            assert folder is not None
            held.enter_context(_one(folder, name, wanted[name]))
        yield


def _folder() -> Path | None:
    """The folder of this user's locks, the same for all runs whatever TMPDIR is; None where it cannot be made."""
    folder = temporary_root("locks", "/tmp" if os.access("/tmp", os.W_OK | os.X_OK) else None)
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder if folder.is_dir() else None


@contextmanager
def _one(folder: Path, name: str, alone: bool) -> Iterator[None]:
    path = folder / hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
    file = _taken(path, name, alone)
    hold(file)
    try:
        yield
    finally:
        _left(path, file)


def _taken(path: Path, name: str, alone: bool) -> int:
    """Take a lock; returns its open file, which still has its name. Raises OutputError when another run holds it."""
    end = time.monotonic() + _PATIENCE
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            if _is(path, file):
                return file
        except OSError as error:
            os.close(file)
            if error.errno in (errno.EAGAIN, errno.EACCES):
                if time.monotonic() < end:
                    time.sleep(0.02)
                    continue
                what = name.removeprefix("folder:").removesuffix("-*-of-*")
                raise OutputError(
                    f"{what}: another run is writing here. Wait for it, or choose another place"
                ) from None
            raise
        os.close(file)


def _left(path: Path, file: int) -> None:
    """Release a lock; the last holder removes its file."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is(path, file):
            path.unlink(missing_ok=True)
    except OSError:
        pass  # other runs hold it
    let_go(file)


def _is(path: Path, file: int) -> bool:
    """Return whether an open file is still the file of this path."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file))
    except FileNotFoundError:
        return False
