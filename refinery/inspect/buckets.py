"""`refinery buckets`: cut points between buckets of equal weight, from the stored scores of a run."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from refinery.compiler.templates import ident, template
from refinery.errors import DataError, OutputError, Problem, RecipeError, suggestion
from refinery.inspect.finished_run import FinishedRun
from refinery.operators.folders import read_sql

OPERATOR = "score_buckets"


@dataclass(frozen=True)
class Buckets:
    """Cut points of one step. A score is in bucket 1 up to the first cut point, and so on. least, most: of the scores."""

    name: str
    score: str
    weight: str
    buckets: int
    cut_points: tuple[float, ...]
    samples: int
    total_weight: float
    least: float
    most: float
    file: str

    @property
    def empty(self) -> int:
        """Number of buckets that no score of the run is in, because many scores are equal."""
        return self.buckets - len({*self.cut_points, self.most})


def find(stored: FinishedRun, names: Sequence[str], buckets: int | None, output: str | None) -> list[Buckets]:
    """Find the cut points of the steps score_buckets with these names, by default all, and write each to its file."""
    steps = _steps(stored, names)
    if output is not None and len(steps) > 1:
        raise RecipeError([Problem("--output", f"the run has {len(steps)} steps {OPERATOR}", "Give the name of one.")])
    found = [_of_step(stored, step, buckets or step.params["buckets"], output) for step in steps]
    for one in found:
        _write(one)
    return found


def _write(found: Buckets) -> None:
    """Write the file of cut points. Raises OutputError where another file is."""
    path = Path(found.file)
    if path.exists() and b'"cut_points"' not in path.read_bytes():
        raise OutputError(f"{path} is no file of cut points, and stays as it is; name another one with --output")
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_text(json.dumps(asdict(found), indent=2) + "\n", encoding="utf-8")
        os.replace(unfinished, path)
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}") from None


def _steps(stored: FinishedRun, names: Sequence[str]) -> list[Any]:
    steps = {step.params["name"]: step for step in stored.recipe.steps if step.name == OPERATOR}
    if not steps:
        raise RecipeError([Problem("", f"the recipe of the run has no step {OPERATOR}", "Add one with the score.")])
    for name in names:
        if name not in steps:
            what = f"the recipe of the run has no {OPERATOR} with the name {name!r}"
            raise RecipeError([Problem("", what, suggestion(name, steps) or f"It has {', '.join(steps)}.")])
    return [step for name, step in steps.items() if not names or name in names]


def _of_step(stored: FinishedRun, step: Any, buckets: int, output: str | None) -> Buckets:
    name = step.params["name"]
    columns = {
        stat.name: ident(stat.column) for chain in stored.compiled() for stat in chain.stats if stat.step == step.index
    }
    given = {"score": columns[f"{name}_score"], "weight": columns[f"{name}_weight"]}
    query = template(read_sql("analysis/cut_points.sql")).render(given | {"buckets": buckets})
    cuts, samples, weight, lightest, least, most = stored.con.execute(query).fetchall()[0]
    if not samples or not weight:
        raise DataError(f"{name}: no sample of the run has a score and a weight")
    if lightest < 0:
        raise DataError(f"{name}: weights must not be negative, and one is {lightest:g}")
    file = output or str(stored.run_dir.root / f"{name}.cuts.json")
    shown = step.params["score"], step.params["weight"]
    return Buckets(name, *shown, buckets, tuple(cuts), samples, weight, least, most, file)
