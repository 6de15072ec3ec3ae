"""Places that the run of a recipe writes to."""

from __future__ import annotations

from dataclasses import dataclass

from refinery.recipe.export import ExportSettings
from refinery.recipe.stat_summary import StatSummary


@dataclass(frozen=True)
class RunOutputs:
    """Places that the run of a recipe writes to.

    export: the kept samples. removed: the removed ones; None without them. summary: of statistics, which may name a folder of
    statistics files. indexes: folders and URLs of deduplicators' indexes. temp_dir: folder for DuckDB; None for the default.
    traces: the run folder gets files of traces. of_part: the run reads a part of the input only.
    """

    work_dir: str
    export: ExportSettings
    removed: ExportSettings | None
    summary: StatSummary
    indexes: tuple[str, ...]
    temp_dir: str | None
    traces: bool
    of_part: bool
