"""Trace records of samples, and the selection of traced operators."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Sample = Mapping[str, Any]


@dataclass(frozen=True)
class TraceSelection:
    """Selection: operators to trace (empty: all), most samples of each (None: all), further fields of records."""

    operators: tuple[str, ...] = ()
    most: int | None = 10
    keys: tuple[str, ...] = ()

    @staticmethod
    def of(operators: Sequence[str] | None, most: int | None, keys: Sequence[str] | None) -> TraceSelection:
        """Make a selection from a tracer's arguments. Raises ValueError for a negative number."""
        if most is not None and most < 0:
            raise ValueError(f"show_num must be 0 or more, or None for all, not {most}")
        return TraceSelection(tuple(operators or ()), most, tuple(keys or ()))

    def has(self, operator: str) -> bool:
        """Return whether an operator is traced."""
        return not self.operators or operator in self.operators


def of_mapper(original: Sample, processed: Sample, text_key: str, keys: Sequence[str]) -> dict[str, Any] | None:
    """The record of a changed text: fields `keys`, `original_text`, `processed_text`; None for an unchanged text."""
    before, after = field(original, text_key), field(processed, text_key)
    if before == after:
        return None
    return {key: field(original, key) for key in keys} | {"original_text": before, "processed_text": after}


def of_filter(sample: Sample, should_keep: bool) -> dict[str, Any] | None:
    """The record of a removed sample, the whole sample; None for a kept sample."""
    return None if should_keep else dict(sample)


def field(sample: Sample, path: str) -> Any:
    """A field by its name, or by its dotted path; None if it is missing."""
    if path in sample:
        return sample[path]
    value: Any = sample
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return None
        value = value[key]
    return value


def line(record: Mapping[str, Any]) -> bytes:
    """A record as a line of JSON; values without a JSON form become their text."""
    return json.dumps(record, ensure_ascii=False, default=_plain).encode("utf-8", "replace") + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if hasattr(value, "tolist"):  # numbers and arrays of numpy
        return value.tolist()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
