"""Last phase: each stage's statement runs over no rows; if DuckDB refuses it or does not end, a step is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from refinery.common.connections import refused
from refinery.common.duckdb_facts import messages
from refinery.common.lazy import duckdb
from refinery.common.paths import printable
from refinery.compiler.program import Program
from refinery.compiler.template_faults import blamed
from refinery.errors import OperatorError, Problem, RecipeError, StatementTimeout
from refinery.io.model import Shard
from refinery.io.side_files import files
from refinery.planning.compilation import compile_part, compile_rest, sure
from refinery.planning.phase import Phase
from refinery.planning.plan import CompiledStage
from refinery.planning.stored_stages import binds_alike, store_stage
from refinery.workers.statement_limits import too_long
from refinery.workers.worker import Worker

# Seconds for each step alone after the whole statement has timed out: over no rows, one step alone takes that long.
_ALONE = 2.0
# Outside of subqueries names are looked up when a step is compiled, so what DuckDB does not find stands within one.
_WITHIN = (
    "a subquery has the columns of its own FROM alone: fields of a sample cannot be named within it. "
    "Name them outside, as in id IN (SELECT id FROM 'list.csv')"
)


def bind_stages(stages: Sequence[CompiledStage], shards: Sequence[Shard]) -> Phase[None]:
    """Bind every stage to the samples, and store those that bind. Raises OperatorError if no step is to blame."""
    problems: list[Problem] = []
    for planned in stages:
        if not (planned.stored and binds_alike(planned.program)):
            problems += _problems_of(planned, shards)
    return Phase(None, tuple(problems))


def _problems_of(planned: CompiledStage, shards: Sequence[Shard]) -> Sequence[Problem]:
    """Problems that DuckDB has with a stage, and with what is left of it without the parts that have some."""
    try:
        _Binding(planned, shards).require()
    except RecipeError as error:
        rest = compile_rest(planned.stage, planned.inputs, {problem.where for problem in error.problems})
        problems = [*sure(error.problems, planned.inputs.schema), *rest.problems]
        return problems if rest.value is None else [*problems, *_problems_of(rest.value, shards)]
    if planned.key and not planned.stored:
        store_stage(planned.key, planned.program, planned.chain, planned.inputs.library)
    return ()


class _Binding:
    """Statement of a stage over no rows of the shards."""

    def __init__(self, planned: CompiledStage, shards: Sequence[Shard]) -> None:
        stage = planned.stage
        self._program, self._library = planned.program, planned.inputs.library
        self._summary = planned.inputs.settings.summary
        settings = planned.inputs.settings
        self._exported = {"partition_by": settings.partition_place, "repeat_by": settings.repeat_place}
        self._keep_place = settings.keep_place
        self._part = partial(compile_part, planned)
        self._steps = [step for step in (stage.before, *stage.steps, stage.after) if step is not None]
        self._shards = shards

    def require(self) -> None:
        """Raise RecipeError with the problems of all steps, or OperatorError if no step is to blame."""
        program = self._program
        if program.copies:
            return
        try:
            self._run(program)
            return
        except StatementTimeout as error:
            wrong = _words(error, program)
            if (step := self._slow_step()) is not None:
                raise RecipeError([_endless(step, wrong)]) from None
            raise OperatorError(wrong) from None
        except duckdb.Error as error:
            wrong = _words(error, program)
        problems = self._problems(wrong)
        problems += self._problems_of_keys() if program.keys else []
        if program.kept_fields and not problems:
            problems += self._problems_of_kept_fields(wrong)
        if (program.partition or program.repeats) and not problems:
            problems.append(self._problem_of_export(program, wrong))
        raise RecipeError(problems) if problems else OperatorError(wrong)

    def _problem_of_export(self, program: Program, wrong: str) -> Problem:
        """The problem of an expression over exported samples, of which DuckDB says what is wrong."""
        keys = [name for name, used in (("partition_by", program.partition), ("repeat_by", program.repeats)) if used]
        return Problem(self._exported[keys[0]], f"{' or '.join(keys)}: {wrong}")

    def _problems_of_kept_fields(self, wrong: str) -> list[Problem]:
        """The problem of `keep_fields`, where the statement binds without them. wrong: what DuckDB says of the statement."""
        try:
            self._run(self._alone(self._part(self._steps), self._program.seconds))
        except (StatementTimeout, duckdb.Error):
            return []
        return [Problem(self._keep_place, f"keep_fields: {wrong}")]

    def _problems_of_keys(self) -> list[Problem]:
        """Problems that DuckDB finds in the grouping expressions of `stat_summary`."""
        program = self._alone(self._part([], self._summary), self._program.seconds)
        try:
            self._run(program)
        except (StatementTimeout, duckdb.Error) as error:
            where = self._summary.by or self._summary.where
            return [Problem(where, f"stat_summary: {_words(error, program)}")]
        return []

    def _problems(self, wrong: str) -> list[Problem]:
        """Problems that DuckDB has with each step; steps after one that times out are not tried.

        wrong: what it says of the whole statement, which is not run again where a step is all of it.
        """
        good: list[Any] = []
        problems: list[Problem] = []
        whole = self._program
        for step in self._steps:
            program = whole
            try:
                program = self._alone(self._part([*good, step]), whole.seconds)
                if (program.pass_sql, program.match_keys) == (whole.pass_sql, whole.match_keys):
                    problems.append(self._problem(step, wrong))
                    continue
                self._run(program)
                good.append(step)
            except StatementTimeout as error:
                return [*problems, _endless(step, _words(error, whole))]
            except duckdb.Error as error:
                problems.append(self._problem(step, _words(error, program)))
            except RecipeError:
                continue  # the step names a statistic of a wrong step
        return problems

    def _problem(self, step: Any, wrong: str) -> Problem:
        operator = self._library.operators[step.name]
        return Problem(step.where, f"{step.name}: {blamed(operator.path, operator.sql, wrong)}")

    def _slow_step(self) -> Any | None:
        """The first step that takes long alone; its time limit is shorter than that of the whole statement."""
        if len(self._steps) == 1:
            return self._steps[0]
        for step in self._steps:
            try:
                self._run(self._alone(self._part([step]), min(_ALONE, self._program.seconds)))
            except StatementTimeout:
                return step
            except (duckdb.Error, RecipeError):
                continue  # the step needs an earlier step, which the whole statement has
        return None

    def _alone(self, program: Program, seconds: float) -> Program:
        return replace(program, folders=self._program.folders, seconds=seconds)

    def _run(self, program: Program) -> None:
        worker = Worker(program)
        try:
            worker.bind(self._shards)
        finally:
            worker.close()


def _endless(step: Any, wrong: str) -> Problem:
    return Problem(step.where, f"{step.name}: {wrong}")


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
