"""The user's cache folder: rebuildable files, among them machine code, so nobody else may be able to write there."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

VARIABLE = "REFINERY_CACHE_DIR"
_NOWHERE = Path(os.devnull) / "refinery"
_ROOM = 16_000_000  # free bytes that a folder must have: some kernels, and the stages of a recipe


def cache_root() -> Path:
    """Folder of all rebuildable files: the named one, else one of this user in the temporary folder, else a new one.

    It belongs to this user, and nobody else can write to it. Where no folder can be written to, nothing is kept.
    """
    return _usable(named_folder(), os.geteuid())


def temporary_root(kind: str, within: str | None = None) -> Path:
    """Folder of this user's files of a kind in the temporary folder, or in the cache where somebody else has that name.

    within: in place of the temporary folder.
    """
    user = os.geteuid()
    folder = Path(within or tempfile.gettempdir()) / f"refinery-{kind}-{user}"
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
    return folder if is_private(folder, user) else cache_root() / kind


def named_folder() -> Path | None:
    """`$REFINERY_CACHE_DIR`, else the folder in the user's cache folder; None for a user without a home folder."""
    if base := os.environ.get(VARIABLE):
        return Path(os.path.abspath(os.path.expanduser(base)))
    caches = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(caches):  # by the standard, another value means nothing
        return Path(caches) / "refinery"
    home = os.path.expanduser("~")
    return Path(home) / ".cache" / "refinery" if os.path.isabs(home) else None


def is_private(folder: Path, user: int) -> bool:
    """True for a folder of a user that nobody else can write to, reached by no link of anybody else."""
    try:
        name, target = os.lstat(folder), os.stat(folder)
    except OSError:
        return False
    shared = target.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(target.st_mode) and target.st_uid == user and name.st_uid in (user, 0) and not shared


@lru_cache(maxsize=8)
def _usable(named: Path | None, user: int) -> Path:
    own = f"refinery-{user}"
    places = (named, named / own) if named else ()
    usable = next((place for place in places if _is_usable(place, user)), None)
    if usable is not None:
        return usable
    try:
        place = Path(tempfile.gettempdir()) / own
        return place if _is_usable(place, user) else _new()
    except OSError:  # there is no folder for temporary files either
        return _NOWHERE


def _is_usable(folder: Path, user: int) -> bool:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        space = os.statvfs(folder)
    except (OSError, ValueError):
        return False
    room = space.f_bavail * space.f_frsize >= _ROOM and (space.f_favail > 0 or space.f_files == 0)
    return room and is_private(folder, user) and os.access(folder, os.W_OK | os.X_OK)


def _new() -> Path:
    """A new folder, which the processes that this one starts share, and which is removed when it ends."""
    folder = tempfile.mkdtemp(prefix="refinery-")
    owner = os.getpid()
    os.environ[VARIABLE] = folder

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return Path(folder)
