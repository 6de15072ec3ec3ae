"""Dependencies of a stage's results besides the samples: files that its SQL reads, files of its parameters, code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from refinery.checkpoints.code import code_of
from refinery.common.paths import CONTENTS, paths_in
from refinery.io.model import Source
from refinery.io.side_files import digests
from refinery.operators import Library
from refinery.operators.assets import files_at, pattern_of
from refinery.planning.compilation import compile_comparison
from refinery.planning.plan import CompiledStage
from refinery.recipe.run_outputs import RunOutputs
from refinery.storage.urls import is_url


def with_digests(
    stages: Sequence[CompiledStage], outputs: RunOutputs, sources: Sequence[Source]
) -> tuple[CompiledStage, ...]:
    """The stages of a run, their programs with the present digests of the files that they depend on. Raises DataError."""
    known: dict[str, str] = {}
    digested, elsewhere = [], _elsewhere(outputs, sources)
    readers = sorted({Path(source.reader) for source in sources if source.reader})
    for planned in stages:
        library = planned.inputs.library
        read = {*planned.program.files, *_compared(planned, stages[0]), *assets(planned, library).values()}
        code = code_of(planned, library, elsewhere, readers)
        names = sorted({*read, *code})
        known |= digests(name for name in names if name not in known)
        program = replace(planned.program, beside={name: known[name] for name in names}, code=code)
        digested.append(replace(planned, program=program))
    return tuple(digested)


def _elsewhere(outputs: RunOutputs, sources: Sequence[Source]) -> set[str]:
    """Local paths that the recipe reads and writes."""
    places = {outputs.work_dir, outputs.temp_dir, outputs.export.path}
    places |= {source.path for source in sources if source.table is None}
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


def _compared(planned: CompiledStage, first: CompiledStage) -> tuple[str, ...]:
    """Files read by the SQL with which a deduplicator verifies candidates. first: stage of the run."""
    step = planned.stage.after
    if step is None or not step.params.get("verify") or not planned.inputs.library.operators[step.name].compare:
        return ()
    return compile_comparison(first, step).files
