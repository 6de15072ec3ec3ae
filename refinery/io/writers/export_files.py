"""Names of an export's files, and the files under temporary names until they are complete."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from pathlib import Path

from refinery.io.model import Written
from refinery.io.writers.temp_files import aside_of
from refinery.io.writers.write import writing


def put(target: str, write: Callable[[str], int]) -> Written:
    """Write a file of an export, which gets its name when it is complete.

    write: writes the file of a temporary name and returns the number of samples. Raises OutputError.
    """
    aside = aside_of(target)
    try:
        with writing(target):
            os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
            rows = write(aside)
            os.replace(aside, target)
            return Written(target, rows, os.path.getsize(target))
    finally:
        Path(aside).unlink(missing_ok=True)


def names(export_path: str, kind: str, count: int = 0) -> list[str]:
    """The files to write: `export_path` itself for count 0, else Data-Juicer's names for its shards."""
    path = os.path.expanduser(export_path)
    if count == 0:
        return [behind_link(path)]
    width = len(str(count)) + 1
    return [f"{stem_of(path, kind)}-{k:0{width}}-of-{count:0{width}}.{kind}" for k in range(count)]


def numbered(export_path: str, kind: str) -> str:
    """A glob pattern of all files that `names` can name, for any count."""
    stem = glob.escape(os.path.abspath(stem_of(os.path.expanduser(export_path), kind)))
    return f"{stem}-[0-9]*-of-[0-9]*.{kind}"


def behind_link(path: str) -> str:
    """The target of a link, which gets the new contents; the link stays."""
    return os.path.realpath(path) if os.path.islink(path) else path


def stem_of(path: str, kind: str) -> str:
    """The path without the suffix of its format."""
    return path[: -len(kind) - 1] if path.lower().endswith(f".{kind}") else os.path.splitext(path)[0]
