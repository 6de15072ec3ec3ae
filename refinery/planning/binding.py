"""Runs a stage's statement over no rows before a run: if DuckDB refuses it or does not end, a step is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from refinery.common.connections import refused
from refinery.common.duckdb_facts import messages
from refinery.common.lazy import duckdb
from refinery.common.paths import printable
from refinery.compiler.program import Program
from refinery.compiler.stages import Stage
from refinery.compiler.template_faults import blamed
from refinery.errors import OperatorError, Problem, RecipeError, StatementTimeout
from refinery.io.model import Shard
from refinery.io.side_files import files
from refinery.operators import Library
from refinery.recipe.model import StatSummary
from refinery.workers.statement_limits import too_long
from refinery.workers.worker import Worker

# Seconds for each step alone after the whole statement has timed out: over no rows, one step alone takes that long.
_ALONE = 2.0
# Outside of subqueries names are looked up when a step is compiled, so what DuckDB does not find stands within one.
_WITHIN = (
    "a subquery has the columns of its own FROM alone: fields of a sample cannot be named within it. "
    "Name them outside, as in id IN (SELECT id FROM 'list.csv')"
)
# Places of steps that have run into the limit, with what is wrong, while a recipe is looked at; None: nobody remembers.
_endless: ContextVar[dict[str, str] | None] = ContextVar("endless", default=None)


@contextmanager
def remembering() -> Iterator[None]:
    """Remember steps that time out, so that another check of the same recipe does not run them again."""
    before = _endless.set({} if (known := _endless.get()) is None else known)
    try:
        yield
    finally:
        _endless.reset(before)


def bind(
    whole: Program,
    stage: Stage,
    compiled: Callable[[Sequence[Any]], Program],
    shards: list[Shard],
    summary: StatSummary,
    library: Library,
) -> None:
    """Run the statement of a stage over no rows. Raises RecipeError with the problems of all steps.

    compiled: returns the program of some of its steps. If no step is to blame, raises OperatorError.
    """
    if whole.copies:
        return
    steps = [step for step in (stage.before, *stage.steps, stage.after) if step is not None]
    _require_ended(steps)
    try:
        _run_over_nothing(whole, shards)
        return
    except StatementTimeout as error:
        wrong = _words(error, whole)
        _blame(_slow(whole, steps, compiled, shards), wrong)
        raise OperatorError(wrong) from None
    except duckdb.Error as error:
        wrong = _words(error, whole)
    problems = _problems(whole, wrong, steps, compiled, shards, library)
    problems += _of_keys(whole, compiled, shards, summary) if whole.keys else []
    raise RecipeError(problems) if problems else OperatorError(wrong)


def _of_keys(
    whole: Program, compiled: Callable[..., Program], shards: list[Shard], summary: StatSummary
) -> list[Problem]:
    """Problems that DuckDB finds in the grouping expressions of `stat_summary`."""
    program = _alone(whole, compiled([], summary), whole.seconds)
    try:
        _run_over_nothing(program, shards)
    except (StatementTimeout, duckdb.Error) as error:
        return [Problem(summary.by or summary.where, f"stat_summary: {_words(error, program)}")]
    return []


def _problems(
    whole: Program,
    wrong: str,
    steps: Sequence[Any],
    compiled: Callable[[Sequence[Any]], Program],
    shards: list[Shard],
    library: Library,
) -> list[Problem]:
    """Problems that DuckDB has with each step; steps after one that times out are not tried.

    wrong: what it says of the whole statement, which is not run again where a step is all of it.
    """
    good: list[Any] = []
    problems: list[Problem] = []
    for step in steps:
        program = whole
        try:
            program = _alone(whole, compiled([*good, step]), whole.seconds)
            if (program.pass_sql, program.match_keys) == (whole.pass_sql, whole.match_keys):
                problems.append(_problem(step, wrong, library))
                continue
            _run_over_nothing(program, shards)
            good.append(step)
        except StatementTimeout as error:
            return [*problems, _endless_step(step, _words(error, whole))]
        except duckdb.Error as error:
            problems.append(_problem(step, _words(error, program), library))
        except RecipeError:
            continue  # the step names a statistic of a wrong step
    return problems


def _problem(step: Any, wrong: str, library: Library) -> Problem:
    operator = library.operators[step.name]
    return Problem(step.where, f"{step.name}: {blamed(operator.path, operator.sql, wrong)}")


def _slow(
    whole: Program, steps: Sequence[Any], compiled: Callable[[Sequence[Any]], Program], shards: list[Shard]
) -> Any | None:
    """The first step that takes long alone; its time limit is shorter than that of the whole statement."""
    if len(steps) == 1:
        return steps[0]
    for step in steps:
        try:
            _run_over_nothing(_alone(whole, compiled([step]), min(_ALONE, whole.seconds)), shards)
        except StatementTimeout:
            return step
        except (duckdb.Error, RecipeError):
            continue  # the step needs an earlier step, which the whole statement has
    return None


def _alone(whole: Program, program: Program, seconds: float) -> Program:
    return replace(program, folders=whole.folders, seconds=seconds)


def _blame(step: Any | None, wrong: str) -> None:
    if step is not None:
        raise RecipeError([_endless_step(step, wrong)])


def _endless_step(step: Any, wrong: str) -> Problem:
    what, known = f"{step.name}: {wrong}", _endless.get()
    if known is not None:
        known[step.where] = what
    return Problem(step.where, what)


def _require_ended(steps: Sequence[Any]) -> None:
    """Raise RecipeError for steps that have timed out before."""
    known = _endless.get() or {}
    if wrong := [Problem(step.where, known[step.where]) for step in steps if step.where in known]:
        raise RecipeError(wrong)


def _words(error: Exception, program: Program) -> str:
    """Message for a statement that fails over no rows."""
    if isinstance(error, StatementTimeout):
        return f"{too_long(program.seconds)}, over no rows at all: it has no end, or reads too much for every batch"
    unnamed = _unnamed(program) if messages.is_unnamed_file(error) else None
    return unnamed or refused(error, program.folders) or _first_line(error)


def _unnamed(program: Program) -> str | None:
    """The first file that a glob of the SQL matches and that DuckDB cannot name."""
    paths = (path for name in sorted(program.files) for path in files(name))
    path = next((path for path in paths if printable(path) != path), None)
    return path and f"{printable(path)}: the name is not UTF-8, so SQL cannot read it. Rename it"


def _run_over_nothing(program: Program, shards: list[Shard]) -> None:
    worker = Worker(program)
    try:
        worker.bind(shards)
    finally:
        worker.close()


def _first_line(error: Exception) -> str:
    """First line of DuckDB's message, with the name that it proposes; some messages are put in a recipe's words."""
    if (mixed := messages.mixed_types(error)) is not None:
        return f"the expression gives {mixed[0]} where {mixed[1]} is needed; compare or CAST it"
    if messages.is_ungrouped(error):
        return "an aggregate looks at more than one row; an operator sees one sample at a time"
    text, near = messages.binder_reason(error), messages.proposed_name(error)
    if messages.is_unknown_name(error):
        return f"{text}; {_WITHIN}"
    return f"{text}. Did you mean {near!r}?" if near else text
