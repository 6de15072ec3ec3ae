"""Evidence for the decision of a deduplicator about a row: the match, and what the two samples share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from refinery.compiler.deduplicators import key_name
from refinery.dedup.matchers import SampleMatcher
from refinery.dedup.matchers.model import SharedShingles
from refinery.dedup.matchers.substrings import SubstringMatcher
from refinery.inspect.why.passages import passages
from refinery.inspect.why.row_replay import RowInStage, RowReplay
from refinery.inspect.why.units import RemovedUnit as RemovedUnit

# Rows whose file is looked up, among possibly thousands; each row may need another shard.
_FILES = 20


@dataclass(frozen=True)
class OtherSample:
    """Another sample as the deduplicator received it. file: with its line. simhash: 16 hexadecimal digits."""

    row: int
    file: str
    text: str | None
    simhash: str | None = None
    shared: SharedShingles | None = None


@dataclass(frozen=True)
class SampleCluster:
    """Samples that match directly or through others. rows: samples of this run; size: with samples of an index."""

    size: int
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Duplicate:
    """Reason for the removal of a sample.

    kept: the sample kept instead; None when it is in an index, which kept_in_index names. via: the sample that was
    matched, when it is another one than `kept`. matched: the match key, `band 3` or `distance 2`. jaccard: the exact
    similarity, when the operator verified it.
    """

    kept: OtherSample | None
    kept_in_index: str | None
    via: OtherSample | None
    matched: str
    simhash: str | None = None
    distance: int | None = None
    estimated_jaccard: float | None = None
    jaccard: float | None = None


class DuplicateEvidence:
    """Explain decisions of deduplicators from the tables of a run, and from the recomputed rows that they name."""

    def __init__(self, replay: RowReplay) -> None:
        self._replay, self._con = replay, replay.con

    def cluster(self, step: Any, row: int) -> SampleCluster | None:
        """The cluster of a row; None when no other sample is like it."""
        rows = self._con.execute(
            "SELECT cluster, size FROM clusters WHERE step = ? AND _row = ?", [step.index, row]
        ).fetchall()
        if not rows:
            return None
        number, size = rows[0]
        query = "SELECT _row FROM clusters WHERE step = ? AND cluster = ? ORDER BY _row"
        return SampleCluster(size, tuple(row for (row,) in self._con.execute(query, [step.index, number]).fetchall()))

    def duplicate(self, step: Any, row: int, seen: RowInStage) -> Duplicate | None:
        """Reason why the deduplicator `step` removed a row, `seen` in the stage before; None when it kept the row."""
        query = (
            "SELECT kept, kept_in_index, via, matched, distance, estimated_jaccard, jaccard FROM duplicates "
            "WHERE step = ? AND _row = ?"
        )
        rows = self._con.execute(query, [step.index, row]).fetchall()
        if not rows:
            return None
        kept, kept_in_index, via, matched, *numbers = rows[0]
        one = None if kept is None else self._other(step, kept, seen)
        other = None if via is None or via == kept else self._other(step, via, seen)
        return Duplicate(one, kept_in_index, other, matched, _shown(self._matcher(step), seen), *numbers)

    def _matcher(self, step: Any) -> SampleMatcher:
        return self._replay.prepared.library.operators[step.name].sample_matcher

    def _other(self, step: Any, row: int, seen: RowInStage) -> OtherSample:
        place = self._replay.place(row)
        there = next(s for s in self._replay.walk(place) if s.planned.stage.number == seen.planned.stage.number)
        matcher, text, own = self._matcher(step), there.text_given_to(step), seen.text_given_to(step)
        key = _shown(matcher, there)
        known = own is not None and text is not None
        shared = matcher.shared(own or "", text or "", key, step.params) if known else None
        return OtherSample(row, place.file(there.row.line), text, key, shared)

    def units(self, step: Any, row: int, text: str | None) -> tuple[RemovedUnit, ...]:
        """Units that the deduplicator `step` takes out of a row's text."""
        operator = self._replay.prepared.library.operators[step.name]
        if isinstance(operator.matcher, SubstringMatcher):
            return passages(self._replay, step, row, text, operator.units.get("name", "unit"))
        query = "SELECT unit, kept, matched FROM duplicates WHERE step = ? AND _row = ? ORDER BY unit"
        units = self._con.execute(query, [step.index, row]).fetchall()
        if not units:
            return ()
        parts = [] if text is None else operator.parts(text, step.params)
        first = [kept for _, kept, _ in units if kept is not None]
        files = self._replay.files(list(dict.fromkeys(first))[:_FILES])
        return tuple(
            RemovedUnit(
                unit,
                operator.units.get("name", "unit"),
                parts[unit] if unit < len(parts) else None,
                matched,
                kept,
                files.get(kept),
            )
            for unit, kept, matched in units
        )


def _shown(matcher: SampleMatcher, seen: RowInStage) -> str | None:
    """Text of a row's match key, as evidence shows it."""
    names = seen.program.match_keys
    return matcher.shown({key_name(name): seen.row.values.get(name) for name in names})
