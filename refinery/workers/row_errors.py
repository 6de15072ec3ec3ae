"""Finds the rows of a batch that a step raises on, so that only these rows are lost.

In the good case no row is checked by itself: a batch that raises is halved until a single row is left, and the
expression that fails for that row is then tried on all other rows at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from refinery.common.duckdb_facts.messages import row_reason
from refinery.common.lazy import duckdb
from refinery.compiler.program import Program, pretty
from refinery.errors import StatementTimeout
from refinery.io.batch import Batch
from refinery.kernels.core.arrow import ints, numbers
from refinery.workers.statement_limits import too_long

# Most rows of a batch, failing in the same expression, whose messages are determined: each takes a query of a millisecond.
_MESSAGES = 100
# The reason of further rows. A message of another row would show that row's values.
_FAILED_TOO = f"the step fails on this row, too; messages are determined for {_MESSAGES} such rows of a batch"


def _no_rows_fault() -> tuple[type[duckdb.Error], ...]:
    """Errors that no row is to blame for."""
    return (
        duckdb.OutOfMemoryException,
        duckdb.InterruptException,
        duckdb.BinderException,
        duckdb.CatalogException,
        duckdb.ParserException,
        duckdb.IOException,
        duckdb.PermissionException,
    )


@dataclass(frozen=True)
class Failure:
    """A row that a step raises on. at: position of the row in the batch."""

    at: int
    step: int
    error: str


class RowIsolation:
    """Runs a program's statement over batches, leaving out rows that it raises on.

    query: runs SQL over a batch, given the number of its shard's first row in the input, and returns the rows.
    """

    def __init__(self, program: Program, query: Callable[[str, Batch, int], pa.Table]) -> None:
        self._program, self._query = program, query
        self._suspects: set[int] = set()  # expressions that have raised, by their number among the probes

    def run(self, batch: Batch, first_row: int = 0, left: np.ndarray | None = None) -> tuple[pa.Table, list[Failure]]:
        """Run the statement over a batch (or its rows `left`), without the rows that it raises on.

        `_i` of the result is the position in the batch. Raises DuckDB's error when no row is to blame.
        """
        left = np.arange(len(batch.rows)) if left is None else left
        failures: list[Failure] = []
        while True:
            try:
                return self._over(batch, left, first_row), failures
            except duckdb.OutOfMemoryException:
                if len(left) < 2:
                    raise
                new = []
            except _no_rows_fault():
                raise
            except StatementTimeout:
                new = self._too_slow(batch, left, first_row)
            except duckdb.Error:
                new = self._failing(batch, left, first_row)
            if not new:  # the rows fail together, none fails alone
                return self._in_halves(batch, first_row, left, failures)
            failures += new
            left = np.setdiff1d(left, [failure.at for failure in new])

    def _too_slow(self, batch: Batch, left: np.ndarray, first_row: int) -> list[Failure]:
        """The first row of a slow batch, if it is too slow by itself.

        Raises StatementTimeout when other rows are slow as well: SQL that is slow for every row is not tried on each.
        """
        at = int(left[0])
        number = self._slow(batch, at, first_row)
        if number is None:
            return [] if len(left) > 1 else [Failure(at, 0, too_long(self._program.seconds))]
        rows = len(batch.rows)
        others = {rows - 1, rows // 2, 0} - {at}
        if others and all(self._times_out(number, batch, other, first_row) for other in sorted(others)):
            raise StatementTimeout(self._endless(self._program.probes[number][1], len(others) + 1))
        return [Failure(at, self._program.probes[number][1], too_long(self._program.seconds))]

    def _endless(self, step: int, tried: int) -> str:
        where = next((f"{info.where}: " for info in self._program.steps if info.index == step and info.where), "")
        reason = too_long(self._program.seconds)
        return (
            f"{where}{self._program.names.get(step, 'step')}: {reason} for each of {tried} rows alone: "
            "it has no end, or needs a higher row_timeout"
        )

    def _slow(self, batch: Batch, at: int, first_row: int) -> int | None:
        """Number of the first expression that takes too long for a row; None if none does."""
        numbers = range(len(self._program.probes))
        return next((number for number in numbers if self._times_out(number, batch, at, first_row)), None)

    def _times_out(self, number: int, batch: Batch, at: int, first_row: int) -> bool:
        sql = pretty(self._program.probe(number))
        try:
            self._query(sql, batch.take(np.array([at])), first_row)
        except StatementTimeout:
            return True
        except duckdb.Error:
            return False
        return False

    def _in_halves(
        self, batch: Batch, first_row: int, left: np.ndarray, failures: list[Failure]
    ) -> tuple[pa.Table, list[Failure]]:
        done, failed = zip(*(self.run(batch, first_row, half) for half in np.array_split(left, 2)), strict=True)
        return pa.concat_tables(done), [*failures, *failed[0], *failed[1]]

    def _over(self, batch: Batch, left: np.ndarray, first_row: int) -> pa.Table:
        """Run the statement over rows `left`."""
        part = batch if len(left) == len(batch.rows) else batch.take(left)
        done = self._query(self._program.pass_sql, part, first_row)
        at = done.schema.get_field_index("_i")
        return done.set_column(at, "_i", ints(left[numbers(done["_i"])]))

    def _failing(self, batch: Batch, left: np.ndarray, first_row: int) -> list[Failure]:
        """Some of the rows that raise: all rows on which one expression raises, or else a single row.

        Expressions that have failed before are tried first, so that many rows with the same failure cost little.
        """
        for suspect in sorted(self._suspects):
            if failures := self._tried(suspect, batch, left, first_row):
                return failures
        at = self._raising(batch, left, first_row)
        failure, number = self._blamed(batch, at, first_row)
        if failure is None or number is None:
            return []
        try:
            failures = self._tried(number, batch, left, first_row)
        except duckdb.BinderException:  # a function that TRY does not support, such as error()
            return self._one_by_one(batch, left, first_row)
        self._suspects.add(number)
        return failures or [failure]

    def _one_by_one(self, batch: Batch, left: np.ndarray, first_row: int) -> list[Failure]:
        """All rows that raise, found by halving."""
        try:
            self._over(batch, left, first_row)
            return []
        except _no_rows_fault():
            raise
        except (duckdb.Error, StatementTimeout):
            if len(left) == 1:
                failure, _ = self._blamed(batch, int(left[0]), first_row)
                return [failure] if failure else []
        return [failure for half in np.array_split(left, 2) for failure in self._one_by_one(batch, half, first_row)]

    def _blamed(self, batch: Batch, at: int, first_row: int) -> tuple[Failure | None, int | None]:
        """Failure of the first step that raises on a row, with its expression's number; None when no step raises."""
        number, message = self._guilty(batch.take(np.array([at])), first_row)
        return (None, None) if number is None else (Failure(at, self._program.probes[number][1], message), number)

    def _tried(self, number: int, batch: Batch, left: np.ndarray, first_row: int) -> list[Failure]:
        """The rows on which expression `number` raises; none when an earlier expression raises on any row."""
        try:
            places = self._query(self._program.trial(number), batch.take(left), first_row)["_i"]
        except _no_rows_fault():
            raise
        except (duckdb.Error, StatementTimeout):
            return []
        _, step = self._program.probes[number]
        failing = left[numbers(places)].tolist()
        own = [self.error_of(number, batch.take(np.array([at])), first_row) or "" for at in failing[:_MESSAGES]]
        others = [_FAILED_TOO] * (len(failing) - len(own))
        return [Failure(at, step, message) for at, message in zip(failing, own + others, strict=True)]

    def _raising(self, batch: Batch, left: np.ndarray, first_row: int) -> int:
        """A row that raises, found by halving."""
        while len(left) > 1:
            first, second = np.array_split(left, 2)
            try:
                self._over(batch, first, first_row)
                left = second
            except _no_rows_fault():
                raise
            except (duckdb.Error, StatementTimeout):
                left = first
        return int(left[0])

    def _guilty(self, single: Batch, first_row: int) -> tuple[int | None, str]:
        """Number of the first expression that raises on a row, and its message; None when no expression raises."""
        for number in range(len(self._program.probes)):
            message = self.error_of(number, single, first_row)
            if message is not None:
                return number, message
        return None, ""

    def error_of(self, number: int, batch: Batch, first_row: int) -> str | None:
        """Error message of a probe's expression over a batch; None when it does not raise."""
        try:
            self._query(pretty(self._program.probe(number)), batch, first_row)
        except (duckdb.Error, StatementTimeout) as error:
            return _message(error)
        return None


def _message(error: Exception) -> str:
    """The message on one line, without DuckDB's advice on SQL; for an error in a function, the function's message."""
    if isinstance(error, StatementTimeout):
        return str(error).rpartition(": ")[2]
    return row_reason(error).removeprefix("RowTimeout: ")[:2000]
