"""A finished run, read from its folder: its recipe and its tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from refinery.common.lazy import duckdb
from refinery.compiler.model import Chain, Schema
from refinery.compiler.stages import cut_at_barriers
from refinery.errors import DataError, OperatorError
from refinery.execution.assets import require_same_side_files
from refinery.execution.open import open_recipe
from refinery.operators import Library
from refinery.planning.compilation import compile_chains
from refinery.planning.filter_costs import orders_of_run
from refinery.planning.plan import CompileInputs, Plan
from refinery.planning.settings import PlanSettings
from refinery.recipe import Recipe
from refinery.results.open_tables import open_tables
from refinery.storage.run_folder import RunDir


def require_same_inputs(manifest: dict[str, Any], prepared: Plan, consequence: str) -> None:
    """Check that the input is unchanged since the run. Raises DataError, whose message the consequence completes.

    An edit can keep size and time of a file; then its inode has changed.
    """
    both = manifest["inputs"], prepared.inputs()
    then, now = ([(item["path"], item["size"], item["modified"]) for item in of] for of in both)
    changed = sorted({path for path, *_ in set(then) ^ set(now)})
    known = manifest.get("inodes", {})
    changed = changed or sorted(path for path, time in prepared.inodes().items() if known.get(path, time) != time)
    if changed or then != now:
        raise DataError(f"the input has changed since the run ({', '.join(changed[:3])}), so {consequence}")


class _AnyColumn(dict[str, str]):
    """Columns of an input that is not read: every name counts as a column."""

    def __contains__(self, name: object) -> bool:
        return True


@dataclass(frozen=True)
class FinishedRun:
    """An open run folder. manifest: its content. con: its database, read-only."""

    run_dir: RunDir
    manifest: dict[str, Any]
    recipe: Recipe
    library: Library
    con: duckdb.DuckDBPyConnection

    @staticmethod
    def open(work_dir: Path) -> FinishedRun:
        """Open a run folder. Raises DataError when there is no finished run, or an older refinery stored too little."""
        run_dir = RunDir.of_finished(work_dir)
        if not run_dir.manifest.is_file() or not run_dir.database.is_file():
            raise DataError(f"{work_dir}: no finished run here (no {run_dir.manifest.name}); name a run's folder")
        manifest = json.loads(run_dir.manifest.read_text(encoding="utf-8"))
        recipe, library = open_recipe(run_dir.recipe, need_inputs=False)
        con = open_tables(run_dir.database)
        stored = FinishedRun(run_dir, manifest, recipe, library, con)
        if "row_outcomes" not in stored.columns:
            con.close()
            raise DataError(f"{work_dir}: an earlier version of refinery made this run and stored less; run it again")
        return stored

    def __enter__(self) -> FinishedRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.con.close()

    @cached_property
    def columns(self) -> dict[str, dict[str, str]]:
        """Columns of every table, with their types."""
        columns: dict[str, dict[str, str]] = {}
        query = "SELECT table_name, column_name, data_type FROM information_schema.columns ORDER BY ALL"
        for table, column, kind in self.con.execute(query).fetchall():
            columns.setdefault(table, {})[column] = kind
        return columns

    def compiled(self, params: Mapping[int, dict[str, Any]] | None = None) -> list[Chain]:
        """Compile the recipe's stages with their conditions, even for a run that only measured; no input is read.

        params: other parameters of steps, by their numbers.
        """
        changed = params or {}
        steps = tuple(replace(step, params=changed.get(step.index, step.params)) for step in self.recipe.steps)
        recipe = replace(self.recipe, measure_only=False, steps=steps)
        settings = PlanSettings.of(recipe, self.library).compile
        inputs = CompileInputs(settings, self.library, Schema(True, _AnyColumn()))
        return compile_chains(cut_at_barriers(recipe.steps, self.library), inputs)

    def require_recipe_order(self) -> None:
        """Check that steps ran in the recipe's order. Raises DataError where filters were moved.

        A moved filter has no statistics of samples that a later step removed first, so their fate under other bounds is
        unknown.
        """
        if any(ordering.moved for ordering in orders_of_run(self.run_dir)):
            raise DataError(
                f"{self.run_dir.root}: fusion_strategy {self.recipe.fusion_strategy} has put filters in another order than the "
                f"recipe's, so bounds cannot be tried on its stored statistics; refinery run {self.run_dir.recipe} "
                "--set fusion_strategy=null --work_dir OTHER makes a run that allows it"
            )

    def require_side_files(self) -> None:
        """Check that side files (word lists, files that SQL reads) are unchanged since the run. Raises DataError."""
        require_same_side_files(self.manifest, self.recipe.assets_of_steps)

    def count(self, query: str, values: Sequence[Any] = ()) -> int:
        """The single number that a query returns."""
        return int(self.con.execute(query, list(values)).fetchall()[0][0])

    def operator_of(self, step: Any) -> Any:
        """The operator of a step. Raises OperatorError when the operator no longer exists."""
        try:
            return self.library.operators[step.name]
        except KeyError:
            raise OperatorError(f"{step.name}: there is no such operator any more") from None
