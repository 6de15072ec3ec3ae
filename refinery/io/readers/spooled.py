"""Samples that a program has handed over, as JSON lines; records that are no samples keep their reasons."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from refinery.io.readers.jsonl import JsonLinesReader

if TYPE_CHECKING:
    from refinery.io.batch import BadSample, Batch
    from refinery.io.limits import ReadLimits
    from refinery.io.model import Shard

# The first byte of a line that stands for a bad record; no JSON begins with it.
_BAD = b"\x18"


def bad_line(raw: str, error: str) -> bytes:
    """The line of a record that is no sample. raw: as much of the record as quarantine should show."""
    return _BAD + json.dumps([raw, error]).encode() + b"\n"


class SpooledReader(JsonLinesReader):
    """JSON lines that `python_data.spool` has written; its lines of bad records become BadSamples with their reasons."""

    name = "samples"
    recipe_names = ()
    title = ""
    suffixes = frozenset({".samples"})
    compressed = shaped = hints = False

    def joined(self, shard: Shard, limits: ReadLimits) -> None:
        """Bad records are explained file by file."""

    def batches(self, shard: Shard, limits: ReadLimits) -> Iterator[Batch]:
        """The lines that start in the shard's bytes."""
        for batch in super().batches(shard, limits):
            yield replace(batch, bad=[_explained(bad) for bad in batch.bad]) if batch.bad else batch


def _explained(bad: BadSample) -> BadSample:
    if not bad.raw.startswith(_BAD):
        return bad
    raw, error = json.loads(bad.raw[len(_BAD) :])
    return replace(bad, raw=raw.encode("utf-8", "surrogatepass"), error=error)
