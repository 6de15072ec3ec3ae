"""A finished run: its counts, its tables, its samples, and the commands that look at it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, overload

import pyarrow as pa

from refinery.common.lazy import duckdb
from refinery.errors import DataError, OperatorError
from refinery.execution.run import Outcome
from refinery.python import looks, shown_run
from refinery.python.connections import REPLACED, ThreadConnections
from refinery.python.opened import read_facts
from refinery.python.progress import shown
from refinery.results.database import Counts
from refinery.results.delivery import not_as_left
from refinery.results.kept_samples import KeptSamples
from refinery.results.pandas_frames import frame_of
from refinery.storage.run_folder import RunDir
from refinery.storage.urls import is_stdout

if TYPE_CHECKING:
    from refinery.inspect.analyze.analyze import Analysis
    from refinery.inspect.audit.audit import RunAudit
    from refinery.inspect.diff.diff import Difference
    from refinery.inspect.tune import Tuning
    from refinery.inspect.why.query import RowHistory
    from refinery.python.answers import Answer, Answers, Page

Progress = Callable[[int, int], None]


@dataclass(frozen=True, repr=False, eq=False)
class Run:
    """A finished run.

    work_dir: the run folder. database: its DuckDB file. outputs: files of kept samples, URLs as texts. counts: rows
    read, kept, removed and quarantined. warnings: lines that a user should read. seconds: wall time. bytes: input
    processed. run_id: as in the table `runs`. repeats: times that samples are exported by `repeat_by`, besides the first
    of each.
    """

    work_dir: Path
    database: Path
    outputs: tuple[Path | str, ...]
    counts: Counts
    warnings: tuple[str, ...]
    seconds: float
    bytes: int
    run_id: str = ""
    repeats: int = 0
    _closed: list[bool] = field(default_factory=list, init=False)

    # Tables

    def sql(self, query: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> duckdb.DuckDBPyRelation:
        """A relation of a query over the run's tables and views, such as `samples`, `ledger` or `steps`.

        params: values of `?` or `$name`. SQL may also name Arrow tables and frames of the caller. Raises DataError if a
        later run has replaced the tables.
        """
        return self.connection().sql(query, params=params)

    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection of this thread to the run's tables, which cannot be written. Raises DataError as `sql`."""
        self._require_open()
        return self._tables.own()

    @property
    def kept(self) -> duckdb.DuckDBPyRelation:
        """The kept samples: their places in the input, and fields that the run has kept; `to_duckdb` has their texts."""
        return self.sql("FROM samples WHERE fate = 'kept'")

    @property
    def removed(self) -> duckdb.DuckDBPyRelation:
        """The removed samples, with step, reason, value and bound."""
        return self.sql("FROM removed")

    @property
    def changed(self) -> duckdb.DuckDBPyRelation:
        """The samples that steps changed, with the text before and after where the change was traced."""
        return self.sql("FROM changed")

    @property
    def quarantined(self) -> duckdb.DuckDBPyRelation:
        """The samples in quarantine, with their errors."""
        return self.sql("FROM quarantine")

    @cached_property
    def _tables(self) -> ThreadConnections:
        return ThreadConnections(self.database, self.run_id)

    # Samples

    def to_arrow(self) -> pa.Table:
        """The kept samples as one Arrow table, in order.

        Raises DataError if they are nowhere, of unlike types, or replaced by a later run.
        """
        return self._kept.table()

    def to_batches(self) -> pa.RecordBatchReader:
        """The kept samples, in order, with memory for some batches. Raises DataError as `to_arrow`."""
        return self._kept.reader()

    def to_duckdb(self, con: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """A relation that reads the exported files. con: by default DuckDB's own connection."""
        return self._kept.relation(con if con is not None else duckdb.default_connection())

    def to_pandas(self) -> Any:
        """The kept samples as a pandas frame, large integers beside NULL as objects. Raises OperatorError without pandas."""
        if importlib.util.find_spec("pandas") is None:
            raise OperatorError("to_pandas needs pandas: pip install pandas")
        return frame_of(self.to_arrow())

    def to_ray(self) -> Any:
        """The kept samples as a `ray.data.Dataset`, which tasks read (extra `ray`)."""
        from refinery.execution.ray.kept import dataset_of

        return dataset_of(self._kept)

    @property
    def _kept(self) -> KeptSamples:
        self._require_open()
        if (not self.outputs and self.counts.kept) or any(is_stdout(str(path)) for path in self.outputs):
            raise DataError(
                f"{self.work_dir}: the run has left no files of kept samples. Name an export_path that is a file or a "
                "folder, and no export_type: none"
            )
        self._require_own()
        return KeptSamples(tuple(map(str, self.outputs)), self.counts.kept + self.repeats)

    # Commands

    @overload
    def why(self, row: SupportsIndex) -> Answer[RowHistory]: ...
    @overload
    def why(self, *, where: str) -> Answers[RowHistory]: ...
    def why(
        self, row: SupportsIndex | None = None, *, where: str | None = None
    ) -> Answer[RowHistory] | Answers[RowHistory]:
        """Way of a row through all steps: by its `_row`, or to the rows for which `where` holds, SQL over the input's columns."""
        return looks.why(self._folder, row, where)

    def tune(self, operator: str | int, /, **params: Any) -> Answer[Tuning]:
        """Rows and bytes that other bounds of a filter would keep, from stored statistics.

        operator: its name, the step's name or number. params: values to try, as a range, a list, or `"10..200:10"`.
        """
        return looks.tune(self._folder, str(operator), params)

    def audit(self, pairs: int | None = None) -> Answer[RunAudit]:
        """Compare removed samples with those that stay: the stored audit, or one of `pairs` samples of each deduplicator."""
        return looks.audit(self._folder, pairs)

    def diff(self, other: Run | str | os.PathLike[str], limit: int = 10) -> Answer[Difference]:
        """Compare this run (A) with another one (B): recipes, rows, statistics, texts. limit: examples of each kind."""
        there = other._folder if isinstance(other, Run) else read_facts(other).run_dir.root
        return looks.diff(self._folder, there, limit)

    def report(self, output: str | os.PathLike[str] | None = None, overwrite: bool = False) -> Page:
        """Write the report page; by default `report.html` in the run folder."""
        return looks.report(self._folder, output, overwrite)

    def analyze(
        self,
        stats: str | Iterable[str] = (),
        group_by: str | None = None,
        output: str | os.PathLike[str] | None = None,
        progress: Progress | bool | None = None,
    ) -> Answer[Analysis]:
        """Measure the statistics of the run's recipe on all of its samples; nothing is removed.

        stats: names of statistics or of operators that measure; by default those of the recipe. output: the analysis' run
        folder, by default `analysis` in the run folder.
        """
        folder = self._folder
        with shown(progress) as report:
            return looks.analyze(folder, stats, group_by, output, report)

    def refilter(
        self,
        changes: Mapping[str, Any] | Iterable[str],
        export: str | os.PathLike[str] | None = None,
        work_dir: str | os.PathLike[str] | None = None,
        writes: bool = True,
        overwrite: bool = False,
        progress: Progress | bool | None = None,
    ) -> Run:
        """Make a new run with other bounds from the stored results of this one.

        changes: `{"process.11.min_num": 30}`, or texts as of `--set`. export, work_dir: by default beside this run. writes: False
        makes tables only.
        """
        folder = self._folder
        with shown(progress) as report:
            part = looks.refilter(folder, changes, export, work_dir, writes, overwrite, report)
        return run_of(part.outcome, part.notes)

    @property
    def _folder(self) -> Path:
        """The run folder, for commands. Raises DataError if the run is closed, or replaced by a later one."""
        self._require_open()
        self._require_own(outputs=False)
        return self.work_dir

    # The object itself

    def close(self) -> None:
        """Close the tables, so that other programs can write to the run folder's database. Nothing can be asked any more."""
        if not self._closed:
            self._closed.append(True)
            self._tables.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Run holds connections to its tables, so it cannot be pickled or copied. Pass on its work_dir, and open that "
            "with refinery.open"
        )

    def __repr__(self) -> str:
        return f"<Run {self.work_dir}: {self._sum}>"

    def __str__(self) -> str:
        return shown_run.text(self) if not self._closed else repr(self)

    def _repr_html_(self) -> str | None:
        return shown_run.html(self) if not self._closed else None

    @property
    def _sum(self) -> str:
        rows = self.counts
        parts = f"{rows.kept:,} kept + {rows.removed:,} removed + {rows.quarantined:,} quarantined"
        return f"{rows.read:,} rows read = {parts}"

    def _require_open(self) -> None:
        if self._closed:
            raise DataError(f"this Run is closed: refinery.open({str(self.work_dir)!r}) opens it again")

    def _require_own(self, outputs: bool = True) -> None:
        """Raise DataError if the run folder is no longer that of this run. outputs: or if the exported files are not."""
        if not self.run_id or not RunDir.of_finished(self.work_dir).manifest.is_file():
            return
        manifest = read_facts(self.work_dir).manifest
        if manifest["run_id"] != self.run_id:
            raise DataError(f"{self.work_dir}: {REPLACED}")
        if outputs and (changed := not_as_left(manifest)):
            raise DataError(changed[0])


def run_of(outcome: Outcome, notes: Iterable[str] = ()) -> Run:
    """The object of a run that has just ended. notes: more lines that a user should read."""
    return Run(
        outcome.run_dir.root,
        outcome.run_dir.database,
        outcome.outputs,
        outcome.counts,
        (*map(str, outcome.alarms), *notes, *outcome.notes),
        outcome.seconds,
        outcome.bytes,
        outcome.run_id,
        outcome.repeats,
    )


def open_run(work_dir: str | os.PathLike[str]) -> Run:
    """The object of the finished run in a folder. Raises DataError where there is none."""
    facts = read_facts(work_dir)
    manifest, run_dir = facts.manifest, facts.run_dir
    run = Run(
        run_dir.root,
        run_dir.database,
        facts.outputs,
        facts.counts,
        facts.warnings,
        manifest["seconds"],
        manifest["bytes"],
        manifest["run_id"],
        max(0, sum(item["rows"] for item in manifest["outputs"]) - facts.counts.kept),
    )
    run.sql("SELECT 1")  # tables that cannot be read are reported now
    return run
