"""Files of a change, as the corpus publishes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.common.connections import connect
from refinery.common.lazy import pc, pq
from refinery.compiler.templates import lit
from refinery.corpus.engine import LINE, PART, ROW, Change, Counts, Delta
from refinery.corpus.incremental.delta import RowDelta
from refinery.corpus.incremental.rows import NONE, in_part, number_of, parts_of
from refinery.corpus.incremental.shards import Samples
from refinery.kernels.core.arrow import ints, numbers

_LIVING = """
SELECT _part, _row FROM read_parquet({additions}) AS kept
ANTI JOIN {retractions} AS gone ON gone._part = kept._part AND gone._row = kept._row AND gone._snapshot > kept._snapshot
"""
_NOTHING = "(SELECT 0 AS _part, 0 AS _row, 0 AS _snapshot WHERE false)"


def living(change: Change) -> np.ndarray:
    """Rows that the last snapshot has kept, ascending."""
    if not change.additions:
        return NONE
    names = {name: lit([str(file) for file in getattr(change, name)]) for name in ("additions", "retractions")}
    gone = f"read_parquet({names['retractions']})" if change.retractions else _NOTHING
    with connect({file.parent for file in (*change.additions, *change.retractions)}) as con:
        table = con.sql(_LIVING.format(additions=names["additions"], retractions=gone)).to_arrow_table()
    return np.sort(number_of(numbers(table["_part"]), numbers(table["_row"])))


def written(folder: Path, delta: RowDelta, samples: Samples, outcomes: pa.Table) -> dict[str, tuple[Path, ...]]:
    """Write the files of a change: additions, retractions, outcomes."""
    tables = {"additions": _added(samples), "retractions": _placed(delta.leave), "outcomes": _outcomes(outcomes)}
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
    return {name: (folder / f"{name}.parquet",) for name, table in tables.items() if len(table)} | {
        name: () for name, table in tables.items() if not len(table)
    }


def delta_of(
    files: dict[str, tuple[Path, ...]], samples: Samples, rows: dict[int, int], counts: dict[str, int], notes: list[str]
) -> Delta:
    """The difference that a change makes. rows: of each new part."""
    schema = None if samples.lines else samples.values.schema.remove_metadata()
    kinds = Counts(*(counts[name] for name in ("kept", "removed", "quarantined")))
    return Delta(files["additions"], files["retractions"], files["outcomes"], schema, rows, kinds, tuple(notes))


def _added(samples: Samples) -> pa.Table:
    """The samples that enter the export."""
    if samples.lines:
        lines = samples.values.column(0).combine_chunks()
        return _placed(samples.rows, **{LINE: pc.binary_slice(lines, 0, -1).cast(pa.large_string())})
    return _placed(samples.rows, **{name: samples.values[name] for name in samples.values.column_names})


def _outcomes(table: pa.Table) -> pa.Table:
    """Outcomes with the place of the sample that stays instead."""
    if not len(table):
        return _placed(np.zeros(0, np.int64))
    instead = table["instead"].combine_chunks()
    there, other = np.asarray(instead.is_valid()), numbers(instead.fill_null(0))
    more = {"kept_part": ints(parts_of(other), there), "kept_row": ints(in_part(other), there)}
    return _placed(numbers(table["_row"]), step=table["step"], **more)


def _placed(rows: np.ndarray, **columns: pa.Array | pa.ChunkedArray) -> pa.Table:
    """A table with the part and the number in it of rows."""
    return pa.table({PART: ints(parts_of(rows)), ROW: ints(in_part(rows)), **columns})
