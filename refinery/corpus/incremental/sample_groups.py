"""Deduplicators of samples: a change compares the rows that it touches, and no others.

A matcher with columns of equal values compares samples of each value without regard to others (`SampleMatcher.candidate_columns`),
and a cluster is what its pairs connect. So a change decides anew about the members of the values that entering and leaving rows have,
and about the clusters of these members. The barrier of a run over these rows alone gives what it would give over all: of any other
value, matched members are in the same cluster, and unmatched ones do not affect each other. There is one exception, a limit of
rounds in the verification of candidates; the members of a touched value are all there, so its note comes with the change that reaches it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.common.connections import connect
from refinery.common.lazy import pq
from refinery.compiler.program import Program
from refinery.compiler.templates import ident, lit
from refinery.corpus.engine import EngineRefusal
from refinery.corpus.incremental.dates import Dates
from refinery.corpus.incremental.delta import Outcomes, RowDelta
from refinery.corpus.incremental.rows import NONE, inside
from refinery.corpus.incremental.samples import samples_of
from refinery.corpus.incremental.segments import GROUP
from refinery.corpus.incremental.shards import shard_of
from refinery.corpus.incremental.state import GONE, StageState
from refinery.dedup.barrier import Barrier
from refinery.dedup.match_keys import MatchKeys, SqlLimits
from refinery.dedup.matchers.candidates import is_left_over
from refinery.dedup.matchers.defaults import SampleDefaults
from refinery.dedup.model import DedupInput, DedupResult
from refinery.dedup.verify import Comparison
from refinery.io.model import Shard
from refinery.kernels.core.arrow import ints, numbers
from refinery.planning.compilation import compile_comparison
from refinery.planning.plan import CompiledStage, Plan
from refinery.storage.local import LocalStore
from refinery.workers.executor import ThreadExecutor
from refinery.workers.match_keys import removed_from


@dataclass(frozen=True)
class SampleGroups:
    """The deduplicator of samples at the end of a stage. change: number of the change. store: of the tasks' files. dates: of the samples."""

    plan: Plan
    planned: CompiledStage
    state: StageState
    change: int
    store: LocalStore
    room: SqlLimits
    dates: Dates

    def apply(self, delta: RowDelta, keys: pa.Table | None, outcomes: Outcomes) -> RowDelta:
        """Decide anew which rows stay. delta: of the rows that the steps keep. keys: match keys of the entering rows.

        Returns the delta of the rows that stay.
        """
        step = self.planned.stage.after
        assert step is not None
        left, left_kept, left_at = self.state.status_of(delta.leave)
        gone = self._current(left, left_at)
        self.plan.notes.extend(self.dates.change(gone, keys))
        touched, touched_kept, touched_at = self._touched(
            left, left_kept, [table for table in (keys, gone) if table is not None]
        )
        rows = np.union1d(touched, delta.enter)
        self._require_one_kind(keys)
        kept = self._settled(rows, keys, self._current(touched, touched_at))
        before = np.full(len(rows), GONE, np.int64)
        before[np.searchsorted(rows, touched)] = touched_kept
        at = np.full(len(rows), self.change, np.int64)
        at[np.searchsorted(rows, touched)] = touched_at
        self._record(left[~inside(left, delta.enter)], rows, before, kept, at)
        removed = (kept != rows) & (kept != before)
        outcomes.add(rows[removed], step.index, kept[removed])
        stays, stayed = rows[kept == rows], np.union1d(touched[touched_kept == touched], left[left_kept == left])
        fresh = inside(stays, delta.enter)
        return RowDelta(
            np.setdiff1d(stayed, stays[~fresh], assume_unique=True),
            np.union1d(np.setdiff1d(stays, stayed), stays[fresh]),
        )

    def _record(self, left: np.ndarray, rows: np.ndarray, before: np.ndarray, kept: np.ndarray, at: np.ndarray) -> None:
        """Record the status of the rows that leave, and of those whose status has changed."""
        changed = (before != kept) | (at == self.change)
        row = np.concatenate((left, rows[changed]))
        order = np.argsort(row)
        new_kept = np.concatenate((np.full(len(left), GONE), kept[changed]))
        new_at = np.concatenate((np.full(len(left), self.change), at[changed]))
        self.state.set_status(self.change, row[order], new_kept[order], new_at[order])

    def _current(self, rows: np.ndarray, at: np.ndarray) -> pa.Table | None:
        """Match keys of rows, as of the change with which each came; None without any."""
        table = self.state.keys.take(rows)
        if not len(table):
            return None
        valid = numbers(table["change"]) == at[np.searchsorted(rows, numbers(table["_row"]))]
        return table.take(ints(np.flatnonzero(valid))).drop_columns(["change"])

    def _columns(self, names: Sequence[str]) -> list[str]:
        """Columns of match keys in one of which samples that match are equal."""
        step = self.planned.stage.after
        assert step is not None
        matcher, params = self.plan.library.operators[step.name].sample_matcher, step.params
        columns = matcher.equal_columns(names, params) or matcher.candidate_columns(names, params) or []
        return [name for name, _ in columns]

    def _touched(
        self, left: np.ndarray, left_kept: np.ndarray, keys: Sequence[pa.Table]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of the stage to decide about, without those that leave: their numbers, clusters, changes. keys: of leaving and entering rows."""
        members = self._members(keys)
        _, clusters, _ = self.state.status_of(members)
        rows = np.union1d(members, self._of_clusters(np.union1d(clusters, left_kept)))
        row, kept, at = self.state.status_of(np.setdiff1d(rows, left, assume_unique=True))
        return row, kept, at

    def _members(self, keys: Sequence[pa.Table]) -> np.ndarray:
        """Rows of the stage that have a compared value of some match keys."""
        files = self.state.keys.names()
        tables = [table for table in keys if len(table)]
        if not files or not tables:
            return NONE
        columns = self._columns(tables[0].column_names)
        looked = pa.concat_tables([table.select(columns) for table in tables])
        equal = " OR ".join(f"{ident(name)} IN (SELECT {ident(name)} FROM looked)" for name in columns)
        table = self._sql(f"SELECT _row, change FROM read_parquet({lit(files)}) WHERE {equal}", looked)
        rows, change = (numbers(table[name]).astype(np.int64) for name in ("_row", "change"))
        if not len(rows):
            return NONE
        row, _, at = self.state.status_of(np.unique(rows))
        place = np.minimum(np.searchsorted(row, rows), max(0, len(row) - 1))
        current = (row[place] == rows) & (at[place] == change) if len(row) else np.zeros(len(rows), bool)
        return np.unique(rows[current])

    def _of_clusters(self, kept: np.ndarray) -> np.ndarray:
        """Rows of some clusters, and rows that once were in one of these."""
        files = self.state.status.names()
        if not files or not len(kept):
            return NONE
        table = self._sql(
            f"SELECT DISTINCT _row FROM read_parquet({lit(files)}) SEMI JOIN looked USING (kept)",
            pa.table({"kept": ints(kept)}),
        )
        row, now, _ = self.state.status_of(np.sort(numbers(table["_row"])))
        return row[inside(now, kept)]

    def _sql(self, query: str, looked: pa.Table) -> pa.Table:
        folders = [self.state.keys.folder, self.state.status.folder]
        with connect(folders, self.room.threads, self.room.memory, self.room.folder) as con:
            con.register("looked", looked)
            return con.sql(query).to_arrow_table()

    def _settled(self, rows: np.ndarray, entering: pa.Table | None, touched: pa.Table | None) -> np.ndarray:
        """The row that stays of the cluster of each row, among these rows alone."""
        keys = [table for table in (entering, touched) if table is not None and len(table)]
        kept = rows.copy()
        if not keys:
            return kept
        compared = pa.concat_tables(keys)
        own = np.searchsorted(rows, numbers(compared["_row"]))
        compared = compared.set_column(compared.column_names.index("_row"), "_row", ints(own)).sort_by("_row")
        folder = f"stage_{self.planned.stage.number}/compared"
        findings = Barrier(self._executor, self.store, self.store, folder).find(self._inputs(rows, compared, folder))
        if findings.writing is not None:
            findings.writing.result()
        self._require_all_rounds(findings)
        for name in findings.clusters:
            members = pq.ParquetFile(self.store.fetch(name)).read(["_row", "kept"])
            kept[numbers(members["_row"])] = rows[numbers(members["kept"])]
        gone = np.sort(np.concatenate([NONE, *(removed_from(self.store, one) for one in findings.removed_in.values())]))
        assert np.array_equal(gone, np.flatnonzero(kept != rows))
        self.store.remove(f"{folder}/")
        return kept

    def _require_one_kind(self, entering: pa.Table | None) -> None:
        """Check that entering match keys can be compared with those of the stage, also where no row is touched. Raises OperatorError."""
        step = self.planned.stage.after
        assert step is not None
        matcher = self.plan.library.operators[step.name].sample_matcher
        if (
            entering is None or type(matcher).kinds is SampleDefaults.kinds
        ):  # of all others, any match keys can be compared
            return
        path = self.store.scratch() / "kinds.parquet"
        known = self._one_of_the_stage()
        pq.write_table(pa.concat_tables([entering, known]) if known is not None else entering, path)
        with MatchKeys([str(path)], matcher.columns, self.room) as keys:
            matcher.require(matcher.kinds(keys))

    def _one_of_the_stage(self) -> pa.Table | None:
        """Match keys of one row of the stage; None without any."""
        for rows in self.state.keys.rows_by_file():
            for some in np.array_split(rows, max(1, len(rows) // GROUP)):
                row, _, at = self.state.status_of(some)
                table = self._current(row, at)
                if table is not None and len(table):
                    return table.slice(0, 1)
        return None

    def _require_all_rounds(self, findings: DedupResult) -> None:
        for note in findings.notes:
            if is_left_over(note):
                raise EngineRefusal(note)

    @property
    def _executor(self) -> ThreadExecutor:
        return ThreadExecutor(self.store.url, self.plan.workers, self.plan.recipe.memory_limit, self.room.folder)

    def _inputs(self, rows: np.ndarray, keys: pa.Table, folder: str) -> DedupInput:
        """The rows as the one shard of a run, numbered from 0 in their order."""
        step = self.planned.stage.after
        assert step is not None
        file = self.store.root / folder / "00000.marks.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(keys, file, compression="none", use_dictionary=False, write_statistics=False)
        return DedupInput(
            step=step,
            operator=self.plan.library.operators[step.name],
            files=[str(file)],
            order=self.planned.program.order,
            sources=["corpus"],
            alive=[len(rows)],
            first_rows=[0],
            folder=self.store.scratch(),
            room=self.room,
            compare=self._comparison(rows, keys, f"{folder}/texts"),
            whole=False,
        )

    def _comparison(self, rows: np.ndarray, keys: pa.Table, folder: str) -> Comparison:
        """Comparison of the texts of rows that share a value with another one."""

        @cache
        def program() -> Program:
            return compile_comparison(self.plan.stages[0], self.planned.stage.after)

        @cache
        def shards() -> Sequence[Shard]:
            return self._texts(rows, keys, self.store.root / folder)

        return Comparison(program, shards, self.store, f"{folder}/shingles", self.room)

    def _texts(self, rows: np.ndarray, keys: pa.Table, folder: Path) -> list[Shard]:
        """The one shard of a run, with the texts of candidates."""
        places = self._candidates(keys)
        return [shard_of(0, samples_of(self.state, rows[places], self.plan.lines), folder, places, None)]

    def _candidates(self, keys: pa.Table) -> np.ndarray:
        """Numbers of the rows that share a compared value with another one."""
        columns = self._columns(keys.column_names)
        shared = " UNION ".join(
            f"SELECT _row FROM looked WHERE {ident(name)} IN (SELECT {ident(name)} FROM looked GROUP BY ALL HAVING count(*) > 1)"
            for name in columns
        )
        return np.sort(numbers(self._sql(shared, keys)["_row"]))
