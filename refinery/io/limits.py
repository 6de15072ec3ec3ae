"""Limits of memory while files are read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadLimits:
    """Limits of memory: bytes and rows of a batch, bytes of one line. check: lines must be JSON objects.

    known: the run has read the file before, so lines are counted and not checked again. repeated: of repeated keys
    in a line only the last one is kept; not needed if lines are only counted, were written by a run, or are known to have none.
    """

    batch_bytes: int = 8 << 20
    rows: int = 8192
    line: int = 1 << 30
    check: bool = True
    known: bool = False
    repeated: bool = True
