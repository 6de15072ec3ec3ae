"""The export file of an earlier run, and the ranges of it that shards have written."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from refinery.common.digest import digest_of_file

CHANGED = "has changed since a run wrote it, so it is not overwritten. Move or remove it, name another place, or add --overwrite"


@dataclass(frozen=True)
class WrittenRange:
    """A shard's bytes in an export: in the file that began as `into`, from `start`.

    digest: of the bytes. rows: samples in them. footer: of the Parquet file that the shard would be alone.
    """

    into: str
    start: int
    size: int
    digest: str
    rows: int
    footer: bytes = b""


@dataclass(frozen=True)
class EarlierExport:
    """The export file of an earlier run or attempt, which began as `into`, under either of two names.

    target: the finished file; stamp: the file system's facts about it; None until it has this name.
    """

    into: str
    aside: str
    target: str
    stamp: tuple[int, ...] | None = None

    @staticmethod
    def read(text: str) -> EarlierExport | None:
        """The record that `SharedFile.note` has written; None for any other text."""
        try:
            plain = json.loads(text)
            return EarlierExport(**plain | {"stamp": tuple(plain["stamp"]) if plain["stamp"] else None})
        except (ValueError, TypeError, KeyError):
            return None

    def write(self) -> str:
        """The record as JSON."""
        return json.dumps({"into": self.into, "aside": self.aside, "target": self.target, "stamp": self.stamp})


def is_sound(path: str, place: WrittenRange) -> bool:
    """Check the bytes of a shard against their digest."""
    try:
        digest = digest_of_file(path, place.start, place.start + place.size)
    except OSError:
        return False
    return digest.size == place.size and digest.hexdigest() == place.digest


def footers_of(placed: dict[int, WrittenRange]) -> list[tuple[int, bytes]]:
    """Footers of the shards that have one, in order, with the places of their bytes."""
    return [(place.start, place.footer) for _, place in sorted(placed.items()) if place.footer]


def stamp_of(path: str) -> tuple[int, ...] | None:
    """Size, inode and times of change of a file; a program can set the one time, but not that of the inode."""
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_ctime_ns
