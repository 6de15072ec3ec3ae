"""A part of a text that a deduplicator has removed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RemovedUnit:
    """A part that a deduplicator took out of the text.

    unit: its number in the text, from 0. kind: line, paragraph, sentences or unit. text: None for an operator that
    does not declare how to split a text. matched: such as `in 7 samples`. first: the first row with the unit, when that
    row keeps it; for a passage, a row with a copy. file: the file of `first`, for the first 20 such rows. copy: a passage as it stands
    there, in brackets, after what comes before it.
    """

    unit: int
    kind: str
    text: str | None
    matched: str
    first: int | None
    file: str | None
    copy: str | None = None
