"""Items of a substring deduplicator in the state of a corpus, by levels.

Level 0 has the items of all rows, as their match keys. Items that share a key with others of other contents are open: the next level
has their cells, of fewer windows each, down to one window (`refinery.kernels.dedup.substring_cells`). Where a key is open, every item of it is
cut, and is cut once, so a later change reads no text of a row whose items are open already. Equal windows of two rows are in
equal items of some level.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.common.lazy import duckdb
from refinery.compiler.templates import lit
from refinery.corpus.incremental.passage_texts import PassageTexts
from refinery.corpus.incremental.state import StageState
from refinery.errors import OperatorError
from refinery.kernels.core.arrow import ints, numbers
from refinery.kernels.dedup import substring_cells, substrings

# Columns of items. change: with which the row came. width: most windows; 0 at level 0. parent: the key of the item that a cell is of.
KIND = pa.schema(
    [
        ("_row", pa.int64()),
        ("change", pa.int32()),
        ("width", pa.int32()),
        *((name, pa.uint64()) for name in substrings.ITEM),
        ("parent", pa.uint64()),
    ]
)
_NAMES = ", ".join(KIND.names)
_OF_KEYS = f"SELECT _row, change, 0::INTEGER AS width, {', '.join(substrings.ITEM)}, 0::UBIGINT AS parent FROM read_parquet({{}})"
_HERE = f"""
CREATE OR REPLACE TABLE here AS
SELECT * FROM {{}} SEMI JOIN (SELECT key FROM fresh WHERE width = $above AND key <> {substrings.REPEATED}) USING (key)
WHERE width = $above
"""
_LEVEL = f"""
CREATE OR REPLACE TABLE level AS
SELECT _row, change, place, key, content, content_2, false AS new
FROM here SEMI JOIN present ON present._row = here._row AND present.at = here.change
UNION ALL SELECT _row, change, place, key, content, content_2, true FROM fresh WHERE width = $above AND key <> {substrings.REPEATED}
"""
_OPEN = """
CREATE OR REPLACE TABLE open AS
SELECT key FROM level GROUP BY key HAVING min(content) <> max(content) OR min(content_2) <> max(content_2)
"""
_CUT = """
CREATE OR REPLACE TABLE cut AS
SELECT DISTINCT parent AS key FROM stored_cells AS cells SEMI JOIN present ON present._row = cells._row AND present.at = cells.change
WHERE width = $width AND parent IN (SELECT key FROM open)
"""
_WANTED = """
SELECT _row, change, place, key FROM level SEMI JOIN open USING (key)
WHERE new OR NOT EXISTS (SELECT * FROM cut WHERE cut.key = level.key)
ORDER BY _row, place
"""


class PassageItems:
    """Items of all rows, in tables of a connection: `stored`, of the state, with `stored_items` of level 0 and `stored_cells`, and `fresh`,
    that a change brings.

    length: of windows. left: rows of the state that leave, ascending. entering: match keys of the entering rows.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        state: StageState,
        length: int,
        left: np.ndarray,
        entering: pa.Table | None,
        change: int,
    ) -> None:
        self._con, self._state, self._length, self._left = con, state, length, left
        con.register("nothing", KIND.empty_table())
        items = _OF_KEYS.format(lit(files)) if (files := state.keys.names()) else "FROM nothing"
        cells = f"SELECT {_NAMES} FROM read_parquet({lit(files)})" if (files := state.cells.names()) else "FROM nothing"
        self.run(f"CREATE VIEW stored_items AS {items}")
        self.run(f"CREATE VIEW stored_cells AS {cells}")
        self.run("CREATE VIEW stored AS FROM stored_items UNION ALL FROM stored_cells")
        self.run("CREATE TABLE fresh AS FROM nothing")
        if entering is not None and len(entering):
            self._bring(_at_level_0(entering, change))

    def run(self, sql: str, **values: int) -> None:
        """Run a statement."""
        for name, value in values.items():
            sql = sql.replace(f"${name}", str(value))
        self._con.execute(sql).fetchall()

    def columns(self, sql: str, *names: str) -> list[np.ndarray]:
        """Columns of a query."""
        table = self._con.sql(sql).to_arrow_table()
        return [numbers(table[name]) for name in names]

    def place_present(self, table: str) -> int:
        """Make the table `present` of the rows of a table that stay in the stage, and count them; `at` is the change with which each came."""
        [rows] = self.columns(f"SELECT DISTINCT _row FROM {table} ORDER BY _row", "_row")
        row, _, at = self._state.status_of(np.setdiff1d(rows, self._left, assume_unique=True))
        self._con.register("present_arrow", pa.table({"_row": ints(row), "at": ints(at)}))
        self.run("CREATE OR REPLACE TABLE present AS FROM present_arrow")
        return len(row)

    def cut_open(self, texts: PassageTexts) -> pa.Table:
        """Bring the cells of all items that this change opens to `fresh`; return them."""
        made, above = [KIND.empty_table()], 0
        for width in substring_cells.widths(self._length):
            wanted = self._opened(above, width)
            if not len(wanted):
                break
            made.append(self._cut(wanted, texts, width))
            self._bring(made[-1])
            above = width
        return pa.concat_tables(made).sort_by("_row")

    def _cut(self, wanted: pa.Table, texts: PassageTexts, width: int) -> pa.Table:
        """Cells of items, which are in the order of rows and places. Raises OperatorError if a text is not there."""
        of_row = numbers(wanted["_row"])
        cells, done = [], 0
        every, first = np.unique(of_row, return_index=True)
        places = ints(numbers(wanted["place"]).astype(np.int64))
        lists = pa.ListArray.from_arrays(ints(np.append(first, len(of_row)).astype(np.int32)), places)
        for rows, column in texts.of(every, lists):
            firsts = np.append(np.searchsorted(of_row, rows), np.searchsorted(of_row, rows[-1:], "right"))
            done += int(firsts[-1] - firsts[0])
            cells.append(
                self._cells(wanted.slice(firsts[0], firsts[-1] - firsts[0]), column, firsts - firsts[0], width)
            )
        if done != len(wanted):
            raise OperatorError("texts are not the ones that were compared before; the state of the corpus is damaged")
        return pa.concat_tables(cells)

    def _opened(self, above: int, width: int) -> pa.Table:
        """Items of a level that are open and have no cells of `width` yet, in the order of rows and places."""
        self.run(_HERE.format("stored_cells" if above else "stored_items"), above=above)
        self.place_present("here")
        self.run(_LEVEL, above=above)
        self.run(_OPEN)
        self.run(_CUT, width=width)
        return self._con.sql(_WANTED).to_arrow_table()

    def _cells(self, wanted: pa.Table, column: pa.Array, firsts: np.ndarray, width: int) -> pa.Table:
        """Cells of items of some texts. firsts: the first item of each text, and the end."""
        places = np.ascontiguousarray(numbers(wanted["place"]))
        found = substring_cells.cells(column, places, firsts, self._length, width, False)
        if found is None:
            raise OperatorError("texts are not the ones that were compared before; the state of the corpus is damaged")
        items, _ = found
        at = np.repeat(np.arange(len(wanted)), _counts(places, width))
        columns = {name: ints(np.ascontiguousarray(items[:, n])) for n, name in enumerate(substrings.ITEM)}
        columns |= {name: ints(numbers(wanted[name])[at]) for name in ("_row", "change")}
        columns |= {"width": ints(np.full(len(at), width, np.int32)), "parent": ints(numbers(wanted["key"])[at])}
        return pa.table(columns).select(KIND.names).cast(KIND)

    def _bring(self, items: pa.Table) -> None:
        self._con.register("brought", items)
        self.run(f"INSERT INTO fresh SELECT {_NAMES} FROM brought")
        self._con.unregister("brought")


def _at_level_0(keys: pa.Table, change: int) -> pa.Table:
    """Match keys as items."""
    count = len(keys)
    added: dict[str, np.ndarray] = {
        "change": np.full(count, change, np.int32),
        "width": np.zeros(count, np.int32),
        "parent": np.zeros(count, np.uint64),
    }
    columns: dict[str, pa.Array | pa.ChunkedArray] = {name: keys[name] for name in ("_row", *substrings.ITEM)}
    return pa.table(columns | {name: ints(values) for name, values in added.items()}).select(KIND.names).cast(KIND)


def _counts(places: np.ndarray, width: int) -> np.ndarray:
    """Number of cells of each item: they are cut at multiples of `width` from the anchor."""
    first, last = substrings.first_of(places), substrings.last_of(places)
    from_first = (places & np.uint64(0xFFFF)).astype(np.int64)  # from the first window to the anchor, see `substrings`
    counts: np.ndarray = from_first // width - (from_first - (last - first)) // width + 1
    return counts
