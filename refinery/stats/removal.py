"""Removal of merged files: a kill at any moment loses nothing and counts nothing twice.

A note beside metric.json lists the files it is made of, and holds the digest of that metric.json. The note is durable
before metric.json is, metric.json before the first file goes, and the note goes last. A merge that finds a note with its
metric.json goes on removing. A note of another metric.json means a kill before that was written: the merge starts again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from refinery.stats.files import MERGED
from refinery.stats.folders import StatsFolder
from refinery.stats.placing import StatsFile

NOTE = ".removing.json"


class Removal:
    """The removal of the merged files of one leaf."""

    def __init__(self, source: StatsFolder, target: StatsFolder, leaf: str) -> None:
        self.source, self.target = source, target
        self.merged = f"{leaf}/{MERGED}"
        self.note = f"{leaf}/{NOTE}"
        self.leaf = leaf

    def replace(self, path: str, pieces: Iterable[bytes], files: list[StatsFile]) -> int:
        """Write metric.json of these files, remove them and return their number."""
        content = b"".join(pieces)
        parts = [[file.path, file.size, file.version] for file in files]
        note = {"metric": hashlib.sha256(content).hexdigest(), "files": parts}
        self.target.write(self.note, [json.dumps(note).encode()], durable=True)
        self.target.write(path, [content], durable=True)
        return self._remove(files)

    def finish(self) -> int:
        """Go on with an interrupted removal; returns the number of files that it removed."""
        content = self.target.read(self.note)
        if content is None:
            return 0
        try:
            note = json.loads(content)
            files = [StatsFile(path, size, version) for path, size, version in note["files"]]
            digest = note["metric"]
        except (ValueError, KeyError, TypeError):  # not ours, or cut off: nothing was removed yet
            return 0
        merged = self.target.read(self.merged)
        if merged is None or hashlib.sha256(merged).hexdigest() != digest:
            return 0
        there = set(self.source.partials(self.leaf))  # files that were written again since are others
        return self._remove([file for file in files if file in there])

    def _remove(self, files: list[StatsFile]) -> int:
        for file in files:
            self.source.remove(file.path)
        self.target.remove(self.note)
        return len(files)
