"""Dependencies of a stage's results besides the samples: files that its SQL reads, files of its parameters, code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from refinery.checkpoints.code import code_of
from refinery.common.paths import CONTENTS, paths_in
from refinery.io.side_files import digests
from refinery.operators import Library
from refinery.operators.assets import files_at, pattern_of
from refinery.planning.compilation import compile_comparison
from refinery.planning.plan import CompiledStage, Plan
from refinery.storage.urls import is_url


def with_digests(prepared: Plan) -> None:
    """Add to every stage's program the present digests of the files that it depends on. Raises DataError."""
    known: dict[str, str] = {}
    stages, elsewhere = [], _elsewhere(prepared)
    readers = sorted({Path(source.reader) for source in prepared.sources if source.reader})
    for planned in prepared.stages:
        read = {*planned.program.files, *_compared(prepared, planned), *assets(planned, prepared.library).values()}
        code = code_of(planned, prepared.library, elsewhere, readers)
        names = sorted({*read, *code})
        known |= digests(name for name in names if name not in known)
        program = replace(planned.program, beside={name: known[name] for name in names}, code=code)
        stages.append(replace(planned, program=program))
    prepared.stages = tuple(stages)


def _elsewhere(prepared: Plan) -> set[str]:
    """Local paths that the recipe reads and writes."""
    recipe = prepared.recipe
    places = {recipe.work_dir, recipe.temp_dir, recipe.export_path}
    places |= {source.path for source in prepared.sources if source.table is None}
    return {place for place in places if place and not is_url(place)}


def assets(planned: CompiledStage, library: Library) -> dict[str, str]:
    """Paths that parameters of the stage's steps name, each with the name of what is read there.

    Of a folder that may hold more, as one for all models and word lists, that is a glob.
    """
    files = {}
    for step in _steps(planned):
        for name, param in library.operators[step.name].params.items():
            for value in paths_in(step.params.get(name)) if param.type in CONTENTS else ():
                files[value] = files_at(value, pattern_of(param))
    return files


def _steps(planned: CompiledStage) -> list[Any]:
    stage = planned.stage
    return [step for step in (stage.before, *stage.steps, stage.after) if step is not None]


def _compared(prepared: Plan, planned: CompiledStage) -> tuple[str, ...]:
    """Files read by the SQL with which a deduplicator verifies candidates."""
    step = planned.stage.after
    if step is None or not step.params.get("verify") or not prepared.library.operators[step.name].compare:
        return ()
    return compile_comparison(prepared.stages[0], step).files
