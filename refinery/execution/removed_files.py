"""The files of removed samples, at the recipe's `removed_path`: each sample with its row of the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from refinery import kernels
from refinery.common.arrays import read_array
from refinery.common.field_profile import FieldProfile, InputProfile
from refinery.common.fields import OTHERS, keys_of
from refinery.common.lazy import pc
from refinery.errors import ConservationError
from refinery.execution.export_sink import Note
from refinery.execution.folder_export import folder_parts
from refinery.io.batch import LINE
from refinery.io.model import Written
from refinery.io.writers.field_choice import FieldChoice, Lines, values_of
from refinery.io.writers.set_fields import set_members
from refinery.io.writers.tables import tables_of_part
from refinery.kernels.core.arrow import ints, strings, texts
from refinery.recipe.export import ExportSettings
from refinery.recipe.outputs import REMOVED_COLUMNS
from refinery.results.blocks import first_rows
from refinery.results.database import Database
from refinery.results.stage_result import StageResult

# The name of the folders of a step, since `step` is a column of the files, with the number alone.
BY_STEP = "removed_by"
_FIRST = REMOVED_COLUMNS[0]


def folder_names(settings: ExportSettings) -> list[str]:
    """Names of the folders: of the fields, but for the step."""
    return [BY_STEP if name == "step" else keys_of(name)[-1] for name in settings.by]


@dataclass
class RemovedFiles:
    """The files of the samples that a run removes.

    target: their place on this machine. lines: samples are JSON lines. note: gets notes for the user.
    """

    settings: ExportSettings
    target: str
    lines: bool
    note: Note
    replaced: dict[str, int] = field(default_factory=dict)

    def write(self, db: Database, done: Sequence[StageResult]) -> list[Written]:
        """Write the files from what the shards have left, and the ledger. Raises OutputError, ConservationError."""
        names = folder_names(self.settings)
        options = self.lines, self.note, "removed_partition_by", _columns(self.settings.by_field)
        with folder_parts(self.settings, self.target, *options) as files:
            for shard, first in enumerate(first_rows(done)):
                if shard == len(done[0].results):
                    break
                ledger = self._ledger(db, first, first + done[0].results[shard].rows)
                for table, rows in _in_order(
                    [stage for stage in done if stage.results[shard].removed], shard, self.lines
                ):
                    reasons = _rows_of(ledger, rows + first)
                    files.add(self._explained(table, reasons), self._values(table, reasons), names)
            return files.write("removed")

    def notes(self) -> list[str]:
        """Notes on fields of samples that a column with the reason has replaced."""
        return [
            f"removed_path: {count:,} removed sample{'s have' if count > 1 else ' has'} a field {name!r}, which is replaced by "
            f"that of the ledger; rename the field before, or look it up by {_FIRST}"
            for name, count in self.replaced.items()
        ]

    def _ledger(self, db: Database, first: int, end: int) -> pa.Table:
        """The ledger's rows of a shard, ascending, and the same as JSON."""
        columns = ", ".join(REMOVED_COLUMNS)
        pairs = ", ".join(f"'{name}', {_as_json(name)}" for name in REMOVED_COLUMNS)
        sql = f"SELECT {columns}, CAST(json_object({pairs}) AS VARCHAR) AS json FROM ledger WHERE _row >= {first} AND _row < {end} ORDER BY _row"
        return db.with_room(lambda: db.con.execute(sql).to_arrow_table())

    # Samples

    def _explained(self, table: pa.Table, reasons: pa.Table) -> pa.Table:
        """Samples with the columns that tell why they were removed."""
        if not self.lines:
            self._count({name: len(table) for name in REMOVED_COLUMNS if name in table.column_names})
            table = table.select([name for name in table.column_names if name not in REMOVED_COLUMNS])
            for name in REMOVED_COLUMNS:
                table = table.append_column(name, reasons[name])
            return table
        view = texts(table[LINE])
        lines: Lines = (view.data, view.offsets)
        taken = {name: count for name in REMOVED_COLUMNS if (count := _having(lines, name))}
        self._count(taken)
        if taken:
            lines = FieldChoice(((OTHERS, OTHERS), *((name, None) for name in taken))).of_lines(lines)
        # All columns are one text behind the first name, so the lines are copied once.
        rest = pc.utf8_slice_codeunits(reasons["json"], len(_FIRST) + 4, -1)
        column = strings(*lines, np.ones(len(table), np.bool_))
        data, offsets = set_members(column, np.arange(len(table)), (_FIRST,), rest, quote=False)
        return pa.table({LINE: strings(data, offsets, np.ones(len(table), np.bool_))})

    def _count(self, counts: dict[str, int]) -> None:
        for name, count in counts.items():
            self.replaced[name] = self.replaced.get(name, 0) + count

    def _values(self, table: pa.Table, reasons: pa.Table) -> list[pa.Array | pa.ChunkedArray]:
        """For each name of folders a column of texts: of the ledger, or of a field of the samples."""
        return [self._value(name, table, reasons) for name in self.settings.by]

    def _value(self, name: str, table: pa.Table, reasons: pa.Table) -> Any:
        if name == "step":
            steps = zip(reasons["step"].to_pylist(), reasons["operator"].to_pylist(), strict=True)
            return pa.array([f"{step:02d}_{operator}" for step, operator in steps], pa.string())
        if name in REMOVED_COLUMNS:
            return reasons[name].cast(pa.string())
        return values_of(table, keys_of(name), self.lines)


def _columns(leave_out: Sequence[str]) -> InputProfile:
    """Values of each column of the ledger, so that a table has its type even where all values are NULL."""
    examples: dict[str, Any] = dict.fromkeys(REMOVED_COLUMNS, "") | {"_row": 0, "step": 0, "kept_instead": 0}
    examples |= {"value": 0.5, "bound": 0.5}
    profiles = {name: FieldProfile.of([value]) for name, value in examples.items() if name not in leave_out}
    return InputProfile(profiles, dict.fromkeys(profiles))


def _as_json(name: str) -> str:
    """SQL for a column of the ledger that JSON can hold."""
    return f"CASE WHEN isfinite({name}) THEN {name} END" if name in ("value", "bound") else name


# Samples with their numbers in the shard.
Numbered = tuple[pa.Table, np.ndarray]


def _in_order(stages: Sequence[StageResult], shard: int, lines: bool) -> Iterator[Numbered]:
    """The removed samples of a shard in their order; those of several stages are together in memory."""
    left = [_left(stage, shard, lines) for stage in stages]
    rows = [
        read_array(stage.store.fetch(stage.results[shard].removed_rows)) for stage in stages if stage.store is not None
    ]
    if len(left) < 2 and all((np.diff(numbers) > 0).all() for numbers in rows):
        yield from chain(*left)
    elif rows:
        tables, numbers = zip(*chain(*left), strict=True)
        order = np.argsort(np.concatenate(numbers))
        yield pa.concat_tables(tables, promote_options="permissive").take(ints(order)), np.concatenate(numbers)[order]


def _left(stage: StageResult, shard: int, lines: bool) -> Iterator[Numbered]:
    """The removed samples that a stage has left of a shard."""
    result, store = stage.results[shard], stage.store
    if store is None:
        return
    rows, at = read_array(store.fetch(result.removed_rows)), 0
    for table in tables_of_part(str(store.fetch(result.removed)), lines):
        yield table, rows[at : at + len(table)]
        at += len(table)


def _rows_of(ledger: pa.Table, rows: np.ndarray) -> pa.Table:
    """The ledger's rows of samples. Raises ConservationError for a sample that it does not have."""
    known = ledger[_FIRST].to_numpy()
    at = np.searchsorted(known, rows)
    if len(rows) and (len(known) == 0 or (known[np.minimum(at, len(known) - 1)] != rows).any()):
        raise ConservationError("rows do not add up: a sample was written as removed, but the ledger does not have it")
    return ledger.take(ints(at))


def _having(lines: Lines, name: str) -> int:
    """Number of members of a name in JSON lines."""
    data, offsets = lines
    key = np.frombuffer(name.encode(), np.uint8)
    count: int = kernels.json.jsonmembers.count_members(data, offsets, len(offsets) - 1, key)
    return count
