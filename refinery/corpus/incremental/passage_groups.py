"""The deduplicator of substrings: a change decides anew about the passages of entering rows, and of rows that have equal windows.

With `keep: first`, only rows after an entering or leaving one can change, so an add reads no text of an earlier sample but of those whose
items it opens (`passage_items`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from refinery.common.connections import connect
from refinery.corpus.incremental.delta import RowDelta
from refinery.corpus.incremental.passage_items import PassageItems
from refinery.corpus.incremental.passage_texts import PassageTexts
from refinery.corpus.incremental.state import StageState
from refinery.dedup.match_keys import SqlLimits
from refinery.kernels.core.arrow import ints
from refinery.kernels.dedup import substrings
from refinery.kernels.dedup.substring_groups import Passages, covering, repetitions
from refinery.planning.plan import CompiledStage, Plan
from refinery.storage.local import LocalStore

_EQUAL = "width, key, content, content_2"
# Items of entering and leaving rows.
_CHANGED = f"""
CREATE TABLE changed AS
SELECT {_EQUAL}, min(_row) AS first FROM (
  FROM fresh SEMI JOIN entered ON entered._row = fresh._row {{}}
) WHERE key <> {substrings.REPEATED} GROUP BY ALL
"""
_OF_LEFT = "UNION ALL FROM stored SEMI JOIN left_rows ON left_rows._row = stored._row AND left_rows.at = stored.change"
_TOUCHED = f"""
CREATE TABLE touched AS
SELECT DISTINCT _row, change FROM (FROM stored UNION ALL FROM fresh) JOIN changed USING ({_EQUAL}) WHERE {{}}
"""
_DECIDED = """
CREATE TABLE decided AS
SELECT present._row, present.at FROM present SEMI JOIN touched ON touched._row = present._row AND touched.change = present.at
UNION ALL SELECT entered._row, entered.at FROM entered
"""
_OWN = """
CREATE TABLE own AS
SELECT * FROM (FROM fresh {}) AS items SEMI JOIN decided ON decided._row = items._row AND decided.at = items.change
"""
_EQUALS = f"""
CREATE TABLE equals AS
SELECT {_EQUAL}, _row, change, place FROM stored SEMI JOIN own USING ({_EQUAL}) WHERE key <> {substrings.REPEATED}
"""
_COPIES = f"""
SELECT _row, place FROM (
  SELECT _row, place, {{}} AS number FROM (
    SELECT {_EQUAL}, _row, place FROM equals SEMI JOIN present ON present._row = equals._row AND present.at = equals.change
    UNION ALL SELECT {_EQUAL}, _row, place FROM fresh WHERE key <> {substrings.REPEATED}
  )
) AS numbered SEMI JOIN decided ON decided._row = numbered._row
WHERE number > 1
"""
_REPEATED = (
    f"SELECT _row, place, key, content, content_2 FROM own WHERE key = {substrings.REPEATED} ORDER BY _row, place"
)


@dataclass(frozen=True)
class PassageGroups:
    """The deduplicator of substrings at the end of a stage. change: number of the change. store: of the workers' files."""

    plan: Plan
    planned: CompiledStage
    state: StageState
    change: int
    store: LocalStore
    room: SqlLimits

    def apply(self, delta: RowDelta, keys: pa.Table | None) -> RowDelta:
        """Decide anew which passages go. delta: of the rows that the steps keep. keys: of the entering rows.

        Returns the delta of the rows as the deduplicator leaves them.
        """
        left, _, left_at = self.state.status_of(delta.leave)
        folders = [self.state.keys.folder, self.state.cells.folder]
        with connect(folders, self.room.threads, self.room.memory, self.room.folder) as con:
            entered = np.full(len(delta.enter), self.change)
            con.register("left_rows", pa.table({"_row": ints(left), "at": ints(left_at)}))
            con.register("entered", pa.table({"_row": ints(delta.enter), "at": ints(entered)}))
            items = PassageItems(con, self.state, self._length, left, keys, self.change)
            cells = items.cut_open(PassageTexts(self.plan, self.planned, self.state, self.store, self.room))
            found = self._found(items, bool(len(left)))
        self.state.cells.append(self.change, cells)
        decided, passages = found
        others = self._changed(np.setdiff1d(decided, delta.enter, assume_unique=True), passages)
        self._remember(delta.enter, others, passages)
        self.state.settle(self.change, left, delta.enter)
        return RowDelta(np.union1d(left, others), np.union1d(delta.enter, others))

    @property
    def _step(self) -> dict[str, object]:
        assert self.planned.stage.after is not None
        params: dict[str, object] = self.planned.stage.after.params
        return params

    @property
    def _length(self) -> int:
        return int(str(self._step["min_length"]))

    @property
    def _every(self) -> bool:
        return self._step["keep"] == "none"

    def _found(self, items: PassageItems, leaves: bool) -> tuple[np.ndarray, dict[int, list[int]]]:
        """The rows that the change decides about, and starts and ends of the passages of those that have any."""
        items.run(_CHANGED.format(_OF_LEFT if leaves else ""))
        items.run(_TOUCHED.format("true" if self._every else "_row > first"))
        touched = items.place_present("touched")
        items.run(_DECIDED)
        items.run(_OWN.format("UNION ALL FROM stored" if touched else ""))
        items.run(_EQUALS)
        items.place_present("equals")
        number = "count(*)" if self._every else "row_number()"
        order = "" if self._every else "ORDER BY _row, place"
        copies = items.columns(_COPIES.format(f"{number} OVER (PARTITION BY {_EQUAL} {order})"), "_row", "place")
        [decided] = items.columns("SELECT _row FROM decided ORDER BY _row", "_row")
        return decided, self._joined(copies, items.columns(_REPEATED, "_row", *substrings.ITEM))

    def _joined(self, copies: list[np.ndarray], repeated: list[np.ndarray]) -> dict[int, list[int]]:
        """Starts and ends of the passages of rows. copies: rows and places of items that have an equal one. repeated: items of repetitions."""
        row, place = copies
        again = repetitions(repeated[0], np.stack(repeated[1:], axis=1), self._every)
        rows = np.concatenate((row, again.row))
        start = np.concatenate((substrings.first_of(place), again.start))
        end = np.concatenate((substrings.last_of(place) + self._length, again.end))
        one_copy = np.zeros(len(rows), np.int64)  # passages that touch are one, whatever they are copies of
        joined = covering(Passages(rows, start, end, one_copy, start))
        bounds = np.stack([joined.start, joined.end], axis=1).reshape(-1)
        cuts = np.flatnonzero(np.diff(joined.row, prepend=-1))
        lists = np.split(bounds, cuts[1:] * 2) if len(cuts) else []
        return {int(joined.row[at]): own.tolist() for at, own in zip(cuts, lists, strict=True)}

    def _changed(self, rows: np.ndarray, passages: dict[int, list[int]]) -> np.ndarray:
        """The rows, of some, whose passages are others than before."""
        table = self.state.units.take(rows)
        known = dict(zip(table["_row"].to_pylist(), table["units"].to_pylist(), strict=True)) if len(table) else {}
        return np.array([row for row in rows.tolist() if passages.get(row, []) != known.get(row, [])], np.int64)

    def _remember(self, entered: np.ndarray, others: np.ndarray, passages: dict[int, list[int]]) -> None:
        """Record the passages of rows: of entering ones that have any or had some, and of others that changed."""
        has_any = np.array([row for row in entered.tolist() if row in passages], np.int64)
        rows = np.unique(np.concatenate((has_any, entered[self.state.units.known(entered)], others)))
        lists = pa.array([passages.get(row, []) for row in rows.tolist()], pa.list_(pa.int64()))
        self.state.units.append(self.change, pa.table({"_row": ints(rows), "units": lists}))
