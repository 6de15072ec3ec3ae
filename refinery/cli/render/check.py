"""Output of `refinery check`, as lines and as plain data."""

from __future__ import annotations

import re
from typing import Any

from refinery.cli.render import console
from refinery.common.numbers import size
from refinery.common.paths import shorter
from refinery.errors import Problem, RefineryError, problems_of
from refinery.planning.plan import Plan
from refinery.recipe.model import Step
from refinery.recipe.shares import ALL_REMOVED


def lines(prepared: Plan) -> list[str]:
    """Notes, the steps that have names, and a last line on the checked recipe and inputs."""
    recipe, count = prepared.recipe, len(prepared.recipe.steps)
    steps = f"{count} step{'s' if count != 1 else ''}"
    notes = [f"note: {shorter(str(note))}" for note in (*recipe.ignored, *prepared.notes)]
    named = [_named(step) for step in recipe.steps if step.title is not None]
    end = "no problems"
    if any(ALL_REMOVED in note.text for note in recipe.ignored):
        end = f"but {ALL_REMOVED}, see the notes"
    return [*notes, *named, f"{shorter(recipe.path or 'the recipe')}: {steps} over {_inputs(prepared)}, {end}"]


def _inputs(prepared: Plan) -> str:
    """The input in a few words: `3 files, 1.2 GB`."""
    sources = prepared.sources
    files = shorter(sources[0].path) if len(sources) == 1 else f"{len(sources):,} files"
    return f"{files}, {size(sum(source.size for source in sources))}"


def passed(prepared: Plan) -> dict[str, Any]:
    """Plain data for a recipe without problems."""
    recipe, sources = prepared.recipe, prepared.sources
    return {
        "ok": True,
        "exit_code": 0,
        "problems": [],
        "notes": [
            *({"where": shorter(n.where), "what": shorter(n.text)} for n in recipe.ignored),
            *map(_note, prepared.notes),
        ],
        "recipe": shorter(recipe.path or ""),
        "steps": [_step(step) for step in recipe.steps],
        "inputs": {"files": len(sources), "bytes": sum(source.size for source in sources)},
    }


def _step(step: Step) -> dict[str, Any]:
    return {"step": step.index, "operator": step.name, "name": step.title, "where": shorter(step.where)}


def _named(step: Step) -> str:
    """A line for a step with a name: `step 3 words_num_filter: too short (recipe.yaml:9)`."""
    return f"step {step.index} {console.shown(step.label)} ({shorter(step.where)})"


def _note(text: str) -> dict[str, str]:
    return {"where": "", "what": shorter(text)}


def failed(error: RefineryError) -> dict[str, Any]:
    """Plain data for a recipe that would not run: every problem, in the order of places."""
    problems = [_problem(problem) for problem in problems_of(error)]
    return {"ok": False, "exit_code": error.exit_code, "problems": problems, "notes": []}


def _problem(problem: Problem) -> dict[str, Any]:
    where = shorter(problem.where)
    placed = re.fullmatch(r"(.+):(\d+)", where)
    file, line = (placed[1], int(placed[2])) if placed else (None, None)
    plain = {"where": where, "file": file, "line": line, "kind": problem.kind}
    return plain | {"what": shorter(problem.what), "hint": problem.hint}
