"""Files beside the input that results depend on: files that SQL reads, files of parameters, code of operators."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping

from refinery.errors import DataError
from refinery.io.missing_files import leads_nowhere, refuse, refuse_pattern
from refinery.storage.file_digests import can_be_trusted, file_digest

# Digest of the content by the name of a file, folder or glob.
Digests = Mapping[str, str]
# Device, inode, size in bytes, times of change in ns, by path.
_State = dict[str, tuple[int, int, int, int, int]]

_MAGIC = re.compile(r"[*?\[]")
# From such a character to the end of the folder's name DuckDB's and Python's globs may differ: every name counts there.
_UNSURE = re.compile(r"[\[\\][^/]*")
_DATABASES = (".duckdb", ".db", ".ddb")
LEFT_OUT = ("__pycache__", ".git", ".hg", ".svn", ".venv", ".ipynb_checkpoints")


def files(name: str) -> list[str]:
    """Paths of the files of a name, sorted: a file, all files below a folder, the matches of a glob.

    Rather too many than too few: hidden files count, and files that only DuckDB's globs might match.
    """
    path = _path_of(name)
    paths = set(_below(path))
    if _MAGIC.search(path):
        for match in glob.iglob(_UNSURE.sub("*", path), recursive=True, include_hidden=True):
            paths.update(_below(match))
    paths |= {f"{one}.wal" for one in paths if one.endswith(_DATABASES) and os.path.isfile(f"{one}.wal")}
    return sorted(paths)


def _path_of(name: str) -> str:
    """The path of a name that DuckDB reads, which also takes `file:/x` and `file://localhost/x`."""
    return os.path.expanduser(re.sub(r"^file:(//(localhost)?(?=/))?", "", name))


def _refuse_lost(name: str) -> None:
    """Raise DataError for a glob that matches links or folders which cannot be followed: DuckDB skips these."""
    path = _path_of(name)
    if _MAGIC.search(path):
        refuse_pattern(path)
        refuse(path, [match for match in sorted(glob.iglob(path, recursive=True)) if leads_nowhere(match)])


def is_glob(name: str) -> bool:
    """True if a name is a glob pattern."""
    return _MAGIC.search(name) is not None


def base_of(name: str) -> str:
    """The folder above all files of a glob."""
    base = os.path.expanduser(_MAGIC.split(name, maxsplit=1)[0])
    return base if os.path.isdir(base) else os.path.dirname(base)


def _below(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        yield path
    elif os.path.isdir(path):
        seen: set[str] = set()  # links may form circles
        for folder, folders, names in os.walk(path, followlinks=True):
            folders[:] = [] if os.path.realpath(folder) in seen else [name for name in folders if name not in LEFT_OUT]
            seen.add(os.path.realpath(folder))
            yield from (file for name in names if os.path.isfile(file := os.path.join(folder, name)))


def digest(name: str) -> str:
    """A digest of the contents of a name's files and of their names below the folder or glob, wherever that is."""
    base, combined = base_of(name), hashlib.sha256()
    _refuse_lost(name)
    try:
        for path in files(name):
            own = "" if path == name else os.path.relpath(path, base or ".")
            combined.update(f"{own}\0{file_digest(path)}\n".encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise DataError(f"{error.filename or name}: {error.strerror or error}") from error
    return combined.hexdigest()[:32]


def digests(names: Iterable[str]) -> dict[str, str]:
    """Digests by name."""
    return {name: digest(name) for name in names}


def changed(known: Digests) -> list[str]:
    """Names whose files have other contents than their known digests."""
    return [name for name, before in known.items() if digest(name) != before]


def require_unchanged(known: Digests) -> None:
    """Check that the dependencies of a finished run are unchanged. Raises DataError."""
    if names := changed(known):
        what = f"{', '.join(sorted(names)[:3])} changed since the run"
        raise DataError(f"{what}, so its stored results no longer hold; run it again")


class SideFiles:
    """Checks that side files stay as they were when their digests were taken."""

    def __init__(self, known: Digests) -> None:
        self._known = known
        self._state: _State | None = None
        self._sure = False  # the files were read when their times were old enough to show the next change

    def require(self) -> None:
        """Check the files again. Raises DataError when a file is replaced, changed or gone.

        A file is not read again while the file system's facts about it are the same as at the first check.
        """
        if not self._known:
            return
        now = _state(self._known)
        if self._state is not None and now != self._state:
            raise _error(next(path for path in sorted({*now, *self._state}) if now.get(path) != self._state.get(path)))
        if not self._sure:
            self._sure = all(can_be_trusted(max(of[3:])) for of in now.values())
            for name in changed(self._known):
                raise _error(name)
        self._state = now


def _error(name: str) -> DataError:
    return DataError(
        f"{name}: has changed since the run began; files that steps read must not change during a run. Run again"
    )


def _state(names: Iterable[str]) -> _State:
    states: _State = {}
    for path in {path for name in names for path in files(name)}:
        try:
            now = os.stat(path)
        except OSError:
            continue  # gone; `_state` shows it by the missing path
        states[path] = now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns
    return states
