"""Removal of the temporary files of killed processes beside an export."""

from __future__ import annotations

import fcntl
import glob
import os
import re
import shutil
from pathlib import Path

from refinery.common.running import is_running
from refinery.io.writers.registry import suffix_of
from refinery.storage.run_folder import seal

_OF_PROCESS = re.compile(r"[0-9]{1,15}")
_OF_EXPORT = re.compile(r"[0-9a-f]{16}")


def tidy(target: str, own: str = "") -> None:
    """Remove temporary files of killed processes for the export `target`, its statistics and its numbered files.

    own: a file that stays. A living process has its number in the name of its file, or has the file locked.
    """
    folder, name = os.path.split(os.path.abspath(target))
    suffix = suffix_of(name)
    stem = name[: -len(suffix) - 1] if suffix else name
    for old in Path(folder).glob(f".{glob.escape(stem)}*.tmp"):
        rest, _, owner = old.name.removesuffix(".tmp").rpartition(".")
        rest, _, seal_in_name = rest.rpartition(".")
        ours = rest[1:] == name or re.fullmatch(rf"\.{re.escape(stem)}(_stats|-\d+-of-\d+)(\..*)?", rest)
        sealed = seal_in_name == seal(os.path.join(folder, rest[1:]))
        if ours and sealed and old.name != os.path.basename(own) and _abandoned(old, owner):
            old.unlink(missing_ok=True)
    for scratch in Path(folder).glob(f".refinery.{seal(folder)}.*.*"):
        owner = scratch.name.split(".")[3]
        if _OF_PROCESS.fullmatch(owner) and not is_running(int(owner)):
            shutil.rmtree(scratch, ignore_errors=True)


def _abandoned(path: Path, owner: str) -> bool:
    if _OF_PROCESS.fullmatch(owner):
        return not is_running(int(owner))
    if not _OF_EXPORT.fullmatch(owner):
        return False
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(file)
    return True
