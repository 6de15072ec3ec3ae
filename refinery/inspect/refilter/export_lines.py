"""Export of a refiltered run with fewer samples: lines copied unchanged from the export of the run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from refinery.compiler.templates import lit
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.refilter.exported_texts import as_left
from refinery.io.model import Written
from refinery.io.writers.export import stats_path
from refinery.io.writers.export_files import names, put
from refinery.io.writers.registry import DEFAULT, writer_of
from refinery.io.writers.tidy import tidy
from refinery.recipe import Recipe
from refinery.recipe.executors import on_cluster
from refinery.storage.urls import is_url

_BLOCK = 4 << 20

# Keys of a recipe that decide the bytes of an export.
_FORM = (
    "export_format",
    "export_shard_size",
    "keep_stats_in_res_ds",
    "add_suffix",
    "executor_type",
    "export_fields",
    "partition_by",
    "repeat_by",
)


@dataclass(frozen=True)
class ExportSelection:
    """Files to copy a new export from. samples: a JSON Lines file. stats: the statistics beside it, if still valid."""

    stored: FinishedRun
    samples: Path
    stats: Path | None

    @staticmethod
    def of(stored: FinishedRun, recipe: Recipe) -> ExportSelection | None:
        """Return the files; None if the export of `recipe` has other bytes, or the run's files have changed since."""
        old, outputs = stored.recipe, stored.manifest["outputs"]
        same = all(getattr(old, name) == getattr(recipe, name) for name in _FORM)
        remote = on_cluster(recipe.executor_type) or is_url(recipe.export_path) or is_url(old.export_path)
        alike = same and not remote and writer_of(recipe.export_format).plain_lines
        if not alike or len(outputs) != 1 or not as_left(stored):
            return None
        beside = stored.manifest.get("beside", [])
        stats = Path(beside[0]["path"]) if len(beside) == 1 and as_left(stored, "beside") else None
        return ExportSelection(stored, Path(outputs[0]["path"]), stats)

    def wanted(self, changes: Path) -> np.ndarray:
        """Mask of the old export's samples that are in the new one. changes: file of samples with another fate."""
        gone = f"(SELECT _row, TRUE AS gone FROM read_parquet({lit(str(changes))}) WHERE _was_kept)"
        sql = f"SELECT gone IS NULL AS wanted FROM row_outcomes LEFT JOIN {gone} USING (_row) WHERE _dropped IS NULL ORDER BY _row"
        with self.stored.con.cursor() as con:
            return np.asarray(con.execute(sql).fetchnumpy()["wanted"], np.bool_)

    def write(self, changes: Path, export_path: str) -> tuple[list[Written], Written | None]:
        """Write the export, and the statistics beside it if they can be copied. Raises OutputError."""
        wanted = self.wanted(changes)
        path = names(export_path, DEFAULT)[0]
        tidy(path)
        samples = put(path, lambda aside: copy_lines(self.samples, Path(aside), wanted))
        try:
            stats = self._copied_stats(stats_path(export_path), wanted)
        except BaseException:
            Path(path).unlink(missing_ok=True)
            raise
        return [samples], stats

    def _copied_stats(self, target: str, wanted: np.ndarray) -> Written | None:
        source = self.stats
        return None if source is None else put(target, lambda aside: copy_lines(source, Path(aside), wanted))


def copy_lines(source: Path, target: Path, wanted: np.ndarray) -> int:
    """Write the wanted lines of `source` to `target`; return their number. wanted: a bool for each line."""
    rows = at = 0
    with source.open("rb") as lines, target.open("wb") as out:
        while block := lines.read(_BLOCK):
            block += lines.readline()
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 0x0A) + 1
            here = wanted[at : at + len(ends)]
            at, rows = at + len(here), rows + int(here.sum())
            runs = np.concatenate([[0], ends])[np.flatnonzero(np.diff(here, prepend=False, append=False))].tolist()
            view = memoryview(block)
            out.write(b"".join([view[start:end] for start, end in zip(runs[::2], runs[1::2], strict=True)]))
    return rows
