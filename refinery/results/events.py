"""Log events of a run's recipe and results."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from refinery.common.numbers import size
from refinery.compiler.filter_order import FilterOrder
from refinery.compiler.model import bytes_name
from refinery.errors import UnreadableError
from refinery.io.model import Shard
from refinery.monitoring.log import event
from refinery.planning.plan import CompiledStage
from refinery.planning.shard_cut import ShardCut
from refinery.planning.sizes import Sizes, rows_of_step
from refinery.recipe.model import Note
from refinery.results.alarms import KINDS, Alarm, Reason
from refinery.results.database import Database
from refinery.storage.run_folder import RunDir

_UNMOVED = "rows_in > 0 AND removed + changed + quarantined = 0 AND kind <> 'stats'"
# Most kinds of errors that are listed; the quarantine has all rows.
_MOST = 10
# A reason that names a value that is NULL.
_NULL = "^(.+?) is NULL(:|$)"


def log_input(ignored: Sequence[Note], cut: ShardCut, shards: Sequence[Shard]) -> None:
    """Log keys of the recipe that have no effect, and the shards."""
    for note in ignored:
        event("note", str(note), where=note.where)
    event("shards", cut.described(shards), shards=len(shards), size=cut.size)


def log_stages(stages: Sequence[CompiledStage], sizes: Sizes, orderings: Sequence[FilterOrder]) -> None:
    """Log the steps that run as one statement, their batches, and the order of filters with its reason."""
    for planned in stages:
        names = {step.index: step.name for step in planned.steps}
        number, together = planned.stage.number, ", ".join(f"{step} {name}" for step, name in names.items())
        shared = sorted(name for name, steps in planned.chain.features.items() if len(steps) > 1)
        what = f"stage {number}: {len(names)} steps run as one statement{f': {together}' if together else ''}"
        fields: dict[str, Any] = {
            "stage": number,
            "steps": list(names),
            "operators": list(names.values()),
            "shared": shared,
        }
        event("fusion", what, **fields)
        _log_batches(planned, sizes)
    for stage, ordering in enumerate(orderings, 1):
        how = "were moved" if ordering.moved else "stay where they were"
        order = ", ".join(map(str, ordering.steps))
        event("order", f"stage {stage}: {ordering.strategy}: filters {how}: {order}", stage=stage, **ordering.json())


def _log_batches(planned: CompiledStage, sizes: Sizes) -> None:
    """Log the most samples that each operator of a stage is given at a time."""
    operators = planned.inputs.library.operators
    rows = {step.index: rows_of_step(sizes, step, operators[step.name]) for step in planned.all_steps}
    listed = ", ".join(f"{step.index} {step.name} {rows[step.index]:,} samples" for step in planned.all_steps)
    what = f"stage {planned.stage.number}: batches of up to {size(sizes.bytes)}, for each operator at most: "
    if rows:
        event("batches", what + listed, stage=planned.stage.number, bytes=sizes.bytes, rows=rows)


def log_reused(reused: int, of: int) -> None:
    """Log the number of shards whose results are those of an earlier run or try."""
    event("resumed", f"{reused:,} of {of:,} shards are those of an earlier run", reused=reused, of=of)


def log_quarantine(db: Database) -> None:
    """Log the most frequent kinds of errors in the quarantine, with the operator and the first such row."""
    for row in db.rows(f"{KINDS} ORDER BY rows DESC, step, reason LIMIT {_MOST}"):
        reason = Reason(*row)
        fields: dict[str, Any] = {
            "step": reason.step,
            "operator": reason.operator,
            "error": reason.reason,
            "rows": reason.rows,
        }
        event("quarantined", f"in quarantine: {reason}", logging.WARNING, **fields, first=reason.place)


def log_traces(db: Database) -> None:
    """Log the number of traced samples of each step."""
    for step, operator, samples in db.rows("SELECT step, operator, count(*) FROM trace GROUP BY ALL ORDER BY step"):
        event("trace", f"step {step} {operator}: {samples:,} traced", step=step, operator=operator, samples=samples)


def idle_steps(db: Database) -> list[str]:
    """Log every step that neither changed nor removed anything; returns one line that names them all for the user."""
    rows = db.rows(f"SELECT step, operator, rows_in FROM steps WHERE {_UNMOVED} ORDER BY step")
    for step, operator, samples in rows:
        what = f"Datasets before and after op [{operator}] are all the same (step {step})"  # Data-Juicer's words
        event("unchanged", what, logging.WARNING, step=step, operator=operator, rows=samples)
    named = ", ".join(f"{step} {operator}" for step, operator, _ in rows)
    return [f"no sample was changed or removed by step{'s' if len(rows) > 1 else ''} {named}"] if rows else []


def empty_texts(db: Database, stages: Sequence[CompiledStage]) -> list[str]:
    """A line for the user on kept samples whose text is empty; none without such samples."""
    versions = [step for planned in stages if not planned.program.copies for step in planned.chain.versions]
    last = bytes_name(max(versions, default=0))
    empty = db.count(f"SELECT count(*) FROM row_outcomes WHERE _dropped IS NULL AND {last} = 0") if versions else 0
    cure = "drop_empty: true removes them"
    return [f"{empty:,} kept sample{'s have' if empty > 1 else ' has'} an empty text; {cure}"] if empty else []


def passed_over(db: Database) -> list[str]:
    """A line for the user on parts of files that are no samples, by kind; none where there are none."""
    rows = db.rows(
        "SELECT kind, CAST(sum(number) AS BIGINT) AS total FROM passed_over GROUP BY kind ORDER BY total DESC, kind"
    )
    if not rows:
        return []
    listed = ", ".join(f"{count:,} {kind}" for kind, count in rows)
    return [f"no samples, and passed over: {listed}"]


def null_values(db: Database) -> list[str]:
    """Lines for the user on samples that a filter removed for a value that is NULL, one for each step and value."""
    rows = db.rows(
        f"SELECT step, operator, regexp_extract(reason, '{_NULL}', 1) AS named, count(*) AS samples FROM ledger "
        f"WHERE regexp_matches(reason, '{_NULL}') AND NOT starts_with(reason, 'not kept by ') "
        f"GROUP BY ALL ORDER BY samples DESC, step, named LIMIT {_MOST}"
    )
    return [
        f"step {step} {operator} removed {samples:,} sample{'s' if samples > 1 else ''} because {named} is NULL"
        for step, operator, named, samples in rows
    ]


def log_end(alarms: Sequence[Alarm], notes: Iterable[str]) -> None:
    """Log the notes and alarms that the user sees at the end."""
    for note in notes:
        event("note", note)
    for alarm in alarms:
        level = logging.ERROR if alarm.fatal else logging.WARNING
        event(alarm.event, str(alarm), level, **alarm.fields())


def require_readable(alarms: Sequence[Alarm], run_dir: RunDir) -> None:
    """Raise UnreadableError when no row could be read; the published tables have the reasons."""
    for alarm in alarms:
        if alarm.fatal:
            cure = "Correct the input or text_keys, or allow it with max_quarantined: 100%"
            raise UnreadableError(f"{alarm}\nThe table quarantine of {run_dir.database} has them all. {cure}")
