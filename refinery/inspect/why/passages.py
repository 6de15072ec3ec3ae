"""Passages that `substring_deduplicator` takes out of a text, beside their copies in other samples."""

from __future__ import annotations

from typing import Any

from refinery.inspect.why.row_replay import RowReplay
from refinery.inspect.why.units import RemovedUnit
from refinery.kernels.dedup.substring_cuts import bounds_in_bytes

# Passages whose copy is looked up, and bytes that are shown before each of both.
_SHOWN, _BEFORE = 5, 40

_PASSAGES = """
SELECT unit, length, copy_at, coalesce(kept, via), matched FROM duplicates WHERE step = ? AND _row = ? ORDER BY unit
"""


def passages(replay: RowReplay, step: Any, row: int, text: str | None, kind: str) -> tuple[RemovedUnit, ...]:
    """Passages that a step takes out of a row's text, by the tables of a run; the first ones with their copies."""
    tokens, shown = step.params["unit"] == "token", list[RemovedUnit]()
    texts = {row: text}
    for number, (start, length, at, other, matched) in enumerate(
        replay.con.execute(_PASSAGES, [step.index, row]).fetchall()
    ):
        looked = number < _SHOWN
        if looked and other not in texts:
            texts[other] = _given(replay, step, other)
        passage, _ = _part(text, start, length, tokens)
        there, before = _part(texts.get(other), at, length, tokens) if looked else (None, None)
        file = next(iter(replay.files([other]).values()), None) if looked else None
        copy = None if there is None else f"{before}[{there}]"
        what = f"{matched}, {length:,} {step.params['unit']}s at {start:,} as at {at:,}"
        shown.append(RemovedUnit(start, kind, passage, what, other, file, copy))
    return tuple(shown)


def _given(replay: RowReplay, step: Any, row: int) -> str | None:
    """The text of a row as the step received it."""
    for seen in replay.walk(replay.place(row)):
        if seen.planned.stage.after is not None and seen.planned.stage.after.index == step.index:
            return seen.text_given_to(step)
    return None


def _part(text: str | None, start: int, length: int, tokens: bool) -> tuple[str | None, str | None]:
    """A passage of a text, and what stands before it."""
    if text is None:
        return None, None
    [(first, end)] = bounds_in_bytes(text, [start, start + length], tokens)
    data = text.encode()
    return _whole(data[first:end]), _whole(data[max(0, first - _BEFORE) : first])


def _whole(data: bytes) -> str:
    """Text of bytes without the parts of characters at the ends."""
    return data.decode(errors="ignore")
