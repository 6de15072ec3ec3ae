"""Merges small Parquet files of earlier snapshots into one of a new snapshot; the files themselves stay for readers of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq

from refinery.common.connections import connect
from refinery.compiler.templates import lit
from refinery.corpus.folder import CorpusFolder
from refinery.corpus.levels import merged_at
from refinery.corpus.manifest import DataFile, Manifest

_ADDITIONS = """
SELECT k.* FROM read_parquet({files}, union_by_name = true) AS k
ANTI JOIN {retractions} AS r ON r._part = k._part AND r._row = k._row AND r._snapshot > k._snapshot
ORDER BY k._part, k._row
"""
_RETRACTIONS = "SELECT * FROM read_parquet({files}) ORDER BY _part, _row, _snapshot"
# The last outcome of each sample.
_OUTCOMES = """
SELECT * FROM read_parquet({files}) QUALIFY row_number() OVER (PARTITION BY _part, _row ORDER BY _snapshot DESC) = 1
ORDER BY _part, _row
"""
_NOTHING = "(SELECT 0 AS _part, 0 AS _row, 0 AS _snapshot WHERE false)"


def with_merged(folder: CorpusFolder, unfinished: Path, made: Manifest) -> Manifest:
    """The manifest of a new snapshot, with small files of its tables merged. unfinished: the folder of the snapshot until it is published."""
    merger = _Merger(folder, unfinished, made)
    retractions = merger.listed(made.retractions) if made.retractions else _NOTHING
    return replace(
        made,
        additions=merger.merged("additions", made.additions, _ADDITIONS.replace("{retractions}", retractions)),
        retractions=merger.merged("retractions", made.retractions, _RETRACTIONS),
        outcomes=merger.merged("outcomes", made.outcomes, _OUTCOMES),
    )


@dataclass(frozen=True)
class _Merger:
    folder: CorpusFolder
    unfinished: Path
    made: Manifest

    def merged(self, name: str, files: Sequence[DataFile], query: str) -> tuple[DataFile, ...]:
        """Files of a table after merging. query: over the rows of the files that become one."""
        runs = merged_at(self.made.snapshot, [(file.snapshot, file.bytes) for file in files])
        result = list(files)
        for number, run in reversed(list(enumerate(runs))):
            some = files[run.start : run.stop]
            result[run.start : run.stop] = [self._one(f"{name}-merged-{number}.parquet", some, query)]
        return tuple(result)

    def _one(self, name: str, files: Sequence[DataFile], query: str) -> DataFile:
        path = self.unfinished / name
        rows = query.replace("read_parquet({files}", self._reader(files))
        with connect(
            [self.unfinished, *{self._place(file).parent for file in (*files, *self.made.retractions)}]
        ) as con:
            con.execute(f"COPY ({rows}) TO {lit(str(path))} (FORMAT parquet, COMPRESSION zstd)").fetchall()
        target = self.folder.name(self.folder.snapshot(self.made.snapshot) / name)
        first = min(file.first or file.snapshot for file in files)
        return DataFile(target, pq.read_metadata(path).num_rows, path.stat().st_size, files[-1].snapshot, first)

    def listed(self, files: Sequence[DataFile]) -> str:
        """SQL that reads files."""
        return f"{self._reader(files)})"

    def _reader(self, files: Sequence[DataFile]) -> str:
        return f"read_parquet([{', '.join(lit(str(self._place(file))) for file in files)}]"

    def _place(self, file: DataFile) -> Path:
        """The present path of a file: those of the new snapshot have not got their names yet."""
        path = self.folder.path(file.path)
        return self.unfinished / path.name if path.parent == self.folder.snapshot(self.made.snapshot) else path
