"""Alarms of a run: most rows could not be read, or none is left; with the reasons that cost the most rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from refinery.io.file_errors import likely_reason
from refinery.io.line_errors import CUT_OFF, DAMAGED, NOT_CLOSED, STOPPED
from refinery.io.model import Source
from refinery.results.database import Counts, Database
from refinery.results.stage_result import StageResult
from refinery.results.tables import quarantine_source

_MOST = 5
# Errors that differ only in the place within a line count as one kind.
_PLACES = r"'(column|position|character|char|byte|line) (0x)?[0-9a-fA-F]+', '\1 …', 'g'"
# Kinds of errors in the quarantine, with the place of the first row.
KINDS = f"""
SELECT step, operator, regexp_replace(left(error, 200), {_PLACES}) AS reason, count(*) AS rows,
  arg_min(file || ':' || line, _row) AS place
FROM quarantine GROUP BY step, operator, reason
"""
_REMOVED = "SELECT step, operator, reason, count(*) AS rows, NULL AS place FROM ledger GROUP BY ALL"
_REASONS = f"{KINDS} UNION ALL {_REMOVED} ORDER BY rows DESC, step, reason LIMIT {_MOST}"
# Errors of a row at which reading of its file ended before the end, and the first such row of each file.
_CUT_SHORT = (DAMAGED, NOT_CLOSED, STOPPED, CUT_OFF)
UNFINISHED = f"""
SELECT file, error FROM quarantine
WHERE step = 0 AND ({" OR ".join(f"starts_with(error, '{error}')" for error in _CUT_SHORT)})
QUALIFY row_number() OVER (PARTITION BY file ORDER BY _row) = 1 ORDER BY file LIMIT {_MOST}
"""


@dataclass(frozen=True)
class Reason:
    """Reason for lost rows. step: 0 for rows that could not be read. place: of the first such row in quarantine."""

    step: int
    operator: str | None
    reason: str | None
    rows: int
    place: str | None

    def __str__(self) -> str:
        by = f"by step {self.step} {self.operator}" if self.step else "not readable"
        why = f"{by}: {self.reason}" if self.reason else by
        return f"{self.rows:,} {why}{f' (first {self.place})' if self.place else ''}"


@dataclass(frozen=True)
class Alarm:
    """An alarm. event: its name in the log. unreadable: number of unreadable rows. fatal: no row could be read.

    likely: the likely cause, with the cure.
    """

    event: str
    what: str
    counts: Counts
    unreadable: int = 0
    reasons: tuple[Reason, ...] = field(default=())
    fatal: bool = False
    likely: str = ""

    def __str__(self) -> str:
        text = f"{self.what}: {'; '.join(map(str, self.reasons))}" if self.reasons else self.what
        return f"{text}. {self.likely}" if self.likely else text

    def fields(self) -> dict[str, Any]:
        """Fields of the alarm's log entry, as plain data."""
        counts = {name: getattr(self.counts, name) for name in ("read", "kept", "removed", "quarantined")}
        return counts | {"unreadable": self.unreadable, "reasons": [vars(reason) for reason in self.reasons]}


def alarms(db: Database, counts: Counts, sources: Sequence[Source], allowed: bool) -> list[Alarm]:
    """Alarms of a run whose tables are complete; a run without alarms costs no queries of reasons.

    sources: the inputs. allowed: `max_quarantined` allows that all rows are in quarantine.
    """
    if not counts.read:
        return [Alarm("no_samples", f"{_named(sources)}: the input holds no sample, so nothing was done", counts)]
    half = 2 * counts.quarantined > counts.read
    unfinished = _unfinished(db, counts) if counts.quarantined else []
    if counts.kept and not half:
        return unfinished
    unreadable = db.count("SELECT count(*) FROM quarantine WHERE step = 0") if counts.quarantined else 0
    reasons = tuple(Reason(*row) for row in db.rows(_REASONS))
    fatal = unreadable == counts.read and not allowed
    event = "unreadable" if half else "nothing_kept"
    likely = _likely(db, sources) if 2 * unreadable > counts.read else ""
    return [Alarm(event, _what(counts, unreadable), counts, unreadable, reasons, fatal, likely), *unfinished]


def _unfinished(db: Database, counts: Counts) -> list[Alarm]:
    """Alarms for the first files that could not be read to their end, however few rows are known to be lost."""
    what = "could not be read to its end, so any samples after that are missing and not counted"
    return [Alarm("file_cut_short", f"{file} {what}: {error}", counts) for file, error in db.rows(UNFINISHED)]


def none_readable(db: Database, first: StageResult) -> bool:
    """Return whether no row of the first stage could be read; does not need the tables."""
    read = sum(result.rows for result in first.results)
    if not read or sum(result.quarantined for result in first.results) < read:
        return False
    broken = quarantine_source(first.files("quarantine"))
    return db.count(f"SELECT count(*) FROM ({broken}) WHERE step = 0") == read


def _what(counts: Counts, unreadable: int) -> str:
    if unreadable == counts.read:
        return f"no row could be read, all {counts.read:,} are in quarantine"
    if counts.kept:
        share = f"{counts.quarantined:,} of {counts.read:,} rows are in quarantine"
        return f"{share} ({unreadable:,} could not be read)" if unreadable else share
    return f"no row is left of {counts.read:,}"


def _named(sources: Sequence[Source]) -> str:
    return sources[0].path if len(sources) == 1 else f"{len(sources):,} files"


def _likely(db: Database, sources: Sequence[Source]) -> str:
    """Likely reason, judged by the first bytes of the file with the most unreadable rows; "" for none."""
    worst = "SELECT file FROM quarantine WHERE step = 0 GROUP BY file ORDER BY count(*) DESC, file LIMIT 1"
    for (file,) in db.rows(worst):
        for source in sources:
            if source.path == file and (reason := likely_reason(source)):
                return f"{file}: {reason}"
    return ""
