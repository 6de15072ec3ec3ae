"""Statements between the stages of a script: the deduplicator, and the batch of the next stage.

The script uses the statements of `sql/deduplicators` that `refinery run` uses. Where a run processes their results in
Python, the script has plain SQL with the same result; the names of those templates begin with `_script_`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refinery.compiler.column_names import Keys
from refinery.compiler.deduplicators import MATCH_KEY, body, body_of, judged, key_name, matched, size_column, values_of
from refinery.compiler.model import Chain
from refinery.compiler.program import Program, pretty
from refinery.compiler.stages import Stage
from refinery.compiler.templates import ident, json_path, lit, template
from refinery.compiler.user_names import text_of_columns
from refinery.dedup.matchers.model import MatchScript, SetQuery
from refinery.errors import Problem, RecipeError
from refinery.operators import Operator, read_sql
from refinery.recipe.sql import split_comments


@dataclass(frozen=True)
class ScriptPass:
    """A stage of the script.

    operator: of the deduplicator at its end. comparison: the chain that computes the shingles for the exact comparison
    of candidates, if there is one. columns: of the samples, if they are rows of a table. spliced: a function puts new
    values into lines, because the script needs functions anyway.
    """

    stage: Stage
    program: Program
    chain: Chain
    operator: Operator | None = None
    comparison: Chain | None = None
    columns: tuple[str, ...] = ()
    spliced: bool = False

    @property
    def number(self) -> int:
        """The stage's number, from 1."""
        return self.stage.number

    @property
    def steps(self) -> list[Any]:
        """Steps of the chain, after the deduplicator that removes units from texts, if there is one."""
        return [*([self.stage.before] if self.program.removed else []), *self.stage.steps]


def render(name: str, /, **values: Any) -> str:
    """A rendered statement of `sql/`, without the semicolon at its end."""
    return template(read_sql(name)).render(values).strip().rstrip(";")


def laid_out(name: str, /, **values: Any) -> str:
    """A statement of `sql/`, parsed and formatted; its comment stays above it."""
    return with_comment(render(name, **values))


def with_comment(sql: str) -> str:
    """A statement, parsed and formatted; its comment stays above it."""
    comments, body = split_comments(sql.strip())
    return "\n".join([*comments, pretty(body)])


def script_of_barrier(part: ScriptPass) -> Iterator[str]:
    """Statements between a stage's pass and the next one. Afterwards `batch` is the input of the next stage."""
    step, operator = part.stage.after, part.operator
    assert step is not None and operator is not None
    takes_units = operator.matcher.takes_units
    if takes_units and not operator.matcher.queries(operator, step.params):
        what = f"{step.name} has no SQL: kernels compare its texts, in rounds of tasks"
        raise RecipeError([Problem(step.where, what, "Leave the step out of the script, or `refinery run` the recipe")])
    yield left_after(part)
    yield _match_keys(part, step, operator)
    known = {"step": step.index, "name": step.name, "units": takes_units}
    if takes_units:
        [query] = operator.matcher.queries(operator, step.params)
        yield _statement("units", stage=part.number, units=body_of(query))
        yield _statement("duplicates", duplicates="SELECT * FROM removed_units ORDER BY _row, unit", **known)
        return
    script = operator.sample_matcher.script(step.params)
    yield from _pairs(part, script)
    yield _statement("members", nearest=script.nearest)
    order = [{"column": key_name(term.column), "direction": term.direction} for term in part.program.order]
    yield _statement("clustered", survivors=body("survivors", order=order) if order else "")
    yield _statement("found", nearest=script.nearest)
    yield _statement("clusters", **known)
    yield _statement("duplicates", duplicates=body("duplicates", **matched(operator)), **known)
    yield f"DELETE FROM batch WHERE _i IN (SELECT _row FROM duplicates WHERE step = {step.index})"


def _statement(name: str, /, **values: Any) -> str:
    return laid_out(f"deduplicators/_script_{name}.sql", **values)


def removing(parts: Sequence[ScriptPass]) -> list[dict[str, Any]]:
    """Values for the ledger's SQL, for each deduplicator that removes samples."""
    return [
        judged(part.stage.after)
        for part in parts
        if part.stage.after is not None and part.operator is not None and not part.operator.matcher.takes_units
    ]


# Samples after a stage


def left_after(part: ScriptPass) -> str:
    """Statement that makes `batch` of the samples that a stage's pass keeps."""
    program = part.program
    if program.lines:
        lines, last = changed_lines(program, "batch._line", part.spliced)
        return _statement("left", stage=part.number, lines=lines, last=last)
    return _statement("left", stage=part.number, lines=None, replaced=changed_columns(program.outs))


def member_set(line: str, keys: Keys, value: str, spliced: bool, quote: bool = False) -> str:
    """SQL that puts a value into a line. spliced: by the function of a run; else as compact JSON, by DuckDB alone."""
    if spliced:
        return f"set_member({line}, {value}, {lit(json.dumps(keys, ensure_ascii=False))}, {lit(quote)})"
    return f"json_set({line}, {lit(json_path(keys))}, {f'json_quote({value})' if quote else value})"


def changed_lines(program: Program, line: str, spliced: bool) -> tuple[list[str], str]:
    """SQL for JSON lines with new values: columns `line_0`, `line_1`, ..., each over the one before; the last's name."""
    columns = [f"{line} AS line_0"]
    for number, (keys, out) in enumerate(program.outs.items()):
        old, new = f"line_{number}", f"facts.{ident(out)}"
        set_text = member_set(old, keys, new, spliced, quote=keys not in program.written)
        columns.append(f"CASE WHEN {new} IS NULL THEN {old} ELSE {set_text} END AS line_{number + 1}")
    return columns, f"line_{len(columns) - 1}"


def changed_columns(outs: Mapping[Keys, str]) -> str:
    """SQL for the columns of a table that hold new texts."""
    return ",\n    ".join(_replacement(keys, out) for keys, out in outs.items())


def _replacement(keys: Keys, out: str) -> str:
    new = f"coalesce(facts.{ident(out)}, batch.{text_of_columns(keys)})"
    for depth in range(len(keys) - 1, 0, -1):
        new = f"struct_update(batch.{text_of_columns(keys[:depth])}, {ident(keys[depth])} := {new})"
    return f"{new} AS {ident(keys[0])}"


# The deduplicator


def _match_keys(part: ScriptPass, step: Any, operator: Operator) -> str:
    order = [term.column for term in part.program.order]
    columns = {column.name: MATCH_KEY + column.name for column in operator.matcher.columns}
    if f"{MATCH_KEY}marks" in part.program.match_keys:  # a function that returns several match keys at once
        columns = {name: f"{MATCH_KEY}marks.{name}" for name in columns}
    columns |= {key_name(column): column for column in order}
    units = any(column.form == "rows" for column in operator.matcher.columns)
    return _statement("marks", stage=part.number, name=step.name, units=units, columns=columns)


def _pairs(part: ScriptPass, script: MatchScript) -> Iterator[str]:
    for query in script.before:
        yield _query_text(query)
    if part.comparison is not None and script.verified is not None:
        yield _shingles(part.comparison)
        yield _query_text(script.verified)
    else:
        yield _query_text(script.pairs)


def _query_text(query: SetQuery) -> str:
    return with_comment(query.text) if query.text else _statement(query.name, **values_of(query))


def _shingles(comparison: Chain) -> str:
    """The shingles of samples that share a band with others."""
    within = "SELECT * FROM temp.batch WHERE _i IN (SELECT _row FROM buckets)"
    select = comparison.select(["_i AS _row", f"{MATCH_KEY}shingles AS shingles"], plain=True)
    comment = "-- Their shingles, which candidates are compared by."
    return f"{comment}\nCREATE OR REPLACE TEMP TABLE shingles AS\n{pretty(with_batch(select, within))}"


# Batch of the next stage


def with_batch(select: str, source: str) -> str:
    """A statement with `batch` defined as a query."""
    return f"WITH batch AS NOT MATERIALIZED ({source}), {select.removeprefix('WITH ')}"


def pass_over(part: ScriptPass, columns: Sequence[str], parts: Sequence[ScriptPass]) -> str:
    """The stage's SELECT over `batch`, joined with statistics and removed units from earlier stages."""
    program, select = part.program, part.chain.select(list(columns), plain=True)
    if not program.carried and not program.removed:
        return pretty(select)
    stages = {stat.column: earlier.number for earlier in parts for stat in earlier.program.stats}
    carried = [
        {"stage": stages[column.name], "statistic": ident(column.name), "column": ident(column.column)}
        for column in program.batch_columns
        if column.kind == "carried"
    ]
    before = part.stage.before
    sizes_of = before.index if before is not None and program.removed == size_column(before.index) else None
    source = render("deduplicators/_script_batch.sql", carried=carried, removed=program.removed, sizes_of=sizes_of)
    return pretty(with_batch(select, source))
