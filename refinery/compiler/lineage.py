"""Lineage of a column or statistic: the inputs that it reads and the steps that it passes through."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

from refinery.common.fields import field_name, keys_of
from refinery.common.lazy import exp
from refinery.compiler.deduplicators import key_name
from refinery.compiler.model import REST
from refinery.compiler.program import Program
from refinery.errors import Problem, RecipeError, suggestion
from refinery.operators import Operator

# Kinds of columns that belong to one step; others are computed once for all steps that need them.
_BATCH = "batch"
_OF_ONE_STEP = {"delta", "changed", "alive", "mark", "inner"}
_ABOUT = {"_row": "the number of the sample", "_suffix": "the suffix of the file"}


@dataclass(frozen=True)
class Origin:
    """One node of a lineage.

    column: the name in the compiled SQL. meaning: a description, if the name is not clear. step: the step that computes
    the column, 0 for a column as read, None for a column of no step. expression: over the columns below. inputs: fields
    of the sample that the expression reads itself. depth: distance from the requested column.
    """

    column: str
    meaning: str
    step: int | None
    expression: str
    inputs: tuple[str, ...]
    depth: int


def inputs_of(origins: Sequence[Origin]) -> list[str]:
    """Fields of a sample at which a lineage ends."""
    return list(dict.fromkeys(name for origin in origins for name in origin.inputs))


def steps_of(origins: Sequence[Origin]) -> list[int]:
    """Steps that a lineage passes through, in ascending order."""
    return sorted({origin.step for origin in origins if origin.step})


def lineage(program: Program, column: str) -> list[Origin]:
    """The lineage of a result column of a recipe of one stage; see `through_stages`."""
    return through_stages([LineagePass(program)], column)


@dataclass(frozen=True)
class LineagePass:
    """A stage, and the deduplicator at its end with its operator, if there is one."""

    program: Program
    after: Any | None = None
    operator: Operator | None = None

    @property
    def removes(self) -> bool:
        """True if the deduplicator removes samples, not parts of their texts."""
        return self.operator is not None and not self.operator.matcher.takes_units


def through_stages(stages: Sequence[LineagePass], column: str) -> list[Origin]:
    """The lineage of a result column by sqlglot, nearest first, back through all stages.

    column: a statistic, the name of a text field, `_dropped`, or `kept_instead`, which a deduplicator finds. Guards,
    which exclude samples that an earlier step removed, are followed for `_dropped` only, which consists of them. Raises
    RecipeError for an unknown column.
    """
    texts = {field_name(keys): keys for stage in stages for keys in stage.program.read}
    stats = {stat.column: number for number, stage in enumerate(stages) for stat in stage.program.stats}
    known = [*stats, *texts, "_dropped", *(["kept_instead"] if any(stage.removes for stage in stages) else [])]
    if column not in known:
        hint = suggestion(column, known) or f"There are {', '.join(known)}."
        raise RecipeError([Problem("--lineage", f"there is no column {column!r}", hint)])
    tracer = _Stages(stages)
    if column == "_dropped":
        return tracer.fate()
    if column == "kept_instead":
        return [origin for number in range(len(stages)) for origin in tracer.kept_instead(number, 0)]
    if column in stats:
        return tracer.result(stats[column], column, 0)
    keys = texts[column]
    number = tracer.changed_before(len(stages), keys)
    if number is None:
        name = next(stage.program.read[keys] for stage in stages if keys in stage.program.read)
        return [Origin(name, f"{column} as read", 0, "no step changes it", (column,), 0)]
    return tracer.result(number, stages[number].program.outs[keys], 0)


class _Stages:
    """Traces results of a stage, and the stage's inputs back through the stages before it."""

    def __init__(self, stages: Sequence[LineagePass]) -> None:
        self.stages = stages
        self._seen: set[tuple[int, str]] = set()

    def result(self, number: int, name: str, depth: int) -> list[Origin]:
        """The lineage of a result of a stage."""
        from sqlglot.lineage import lineage as trace

        program = self.stages[number].program
        columns = (column.column for column in program.batch_columns)
        schema = {_BATCH: dict.fromkeys(["_i", "_line", "_text", *columns], "VARCHAR")}
        alive = frozenset(name for name, kind in program.kinds.items() if kind == "alive")
        statement = _without_guards(program.pass_sql, alive | {"_kind", "_bad"})
        root = trace(name, statement, schema=schema, dialect="duckdb")
        origins: list[Origin] = []
        for origin in _Walk(program).from_root(root):
            if origin.meaning.endswith(" at the end") and number + 1 < len(self.stages):
                origin = replace(origin, meaning=f"{origin.meaning} of stage {number + 1}")
            origins += self._of_batch(number, replace(origin, depth=origin.depth + depth))
        return origins

    def fate(self) -> list[Origin]:
        """The lineage of everything that removes samples: filters and deduplicators."""
        origins: list[Origin] = []
        for number, stage in enumerate(self.stages):
            filters = [] if stage.program.copies else self.result(number, "_dropped", 0)
            origins += filters if len(filters) > 1 or len(self.stages) == 1 else []
            origins += self.kept_instead(number, 0)
        return origins

    def kept_instead(self, number: int, depth: int) -> list[Origin]:
        """The lineage of the match keys of the deduplicator after a stage; empty if it removes no samples."""
        stage = self.stages[number]
        return self._compared(number, "kept_instead", "the sample that stays instead", depth) if stage.removes else []

    def _compared(self, number: int, column: str, meaning: str, depth: int) -> list[Origin]:
        stage = self.stages[number]
        keys = stage.program.match_keys
        what = ", ".join(key_name(key) for key in keys)
        root = Origin(column, meaning, stage.after.index if stage.after else None, f"set SQL over {what}", (), depth)
        return [root, *(origin for key in keys for origin in self.result(number, key, depth + 1))]

    def changed_before(self, number: int, keys: tuple[str, ...]) -> int | None:
        """The last stage before `number` that changed a text field, a field in it or a field around it."""
        for earlier in range(number - 1, -1, -1):
            for changed in self.stages[earlier].program.outs:
                if changed[: len(keys)] == keys or keys[: len(changed)] == changed:
                    return earlier
        return None

    def _of_batch(self, number: int, origin: Origin) -> list[Origin]:
        """An origin, and the origins of those of its inputs that an earlier stage made."""
        program = self.stages[number].program
        inputs, below = [], []
        for name in origin.inputs:
            if name in program.carried:
                below += self._carried(number, name, origin.depth)
            elif name == program.removed:
                below += self._removed(number, name, origin.depth)
            elif (earlier := self.changed_before(number, keys_of(name))) is not None:
                origin = replace(origin, meaning=f"{name} as stage {earlier + 1} leaves it", step=None)
                below += self._text(earlier, name, origin.depth + 1)
            else:
                inputs.append(name)
        passed_on = origin.inputs == (origin.column,) and not inputs
        return [*([] if passed_on else [replace(origin, inputs=tuple(inputs))]), *below]

    def _once(self, number: int, name: str) -> bool:
        """Return whether a result is met for the first time; a lineage lists each result once."""
        new = (number, name) not in self._seen
        self._seen.add((number, name))
        return new

    def _carried(self, number: int, name: str, depth: int) -> list[Origin]:
        earlier = next(n for n in range(number) if name in {stat.column for stat in self.stages[n].program.stats})
        return self.result(earlier, name, depth) if self._once(earlier, name) else []

    def _removed(self, number: int, name: str, depth: int) -> list[Origin]:
        if not self._once(number - 1, name):
            return []
        return self._compared(number - 1, name, "the units that go", depth)

    def _text(self, earlier: int, name: str, depth: int) -> list[Origin]:
        keys = keys_of(name)
        outs = self.stages[earlier].program.outs
        changed_outs = [
            out for changed, out in outs.items() if changed[: len(keys)] == keys or keys[: len(changed)] == changed
        ]
        return [
            origin for out in changed_outs if self._once(earlier, out) for origin in self.result(earlier, out, depth)
        ]


class _Walk:
    def __init__(self, program: Program) -> None:
        self.steps = dict(program.probes)
        self.lines = program.lines
        self.kinds, self.batch_columns = program.kinds, {column.column: column for column in program.batch_columns}
        self.meanings = {name: f"{field_name(keys)} as read" for keys, name in program.read.items()}
        for change in program.changes:
            self.meanings[change.after] = f"{field_name(change.field)} after step {change.step}"
        self.meanings |= {name: f"{field_name(keys)} at the end" for keys, name in program.outs.items()}
        self.meanings["_dropped"] = "the step that removes the sample"
        self.own = {stat.column for stat in program.stats} | self.meanings.keys()
        self.origins: list[Origin] = []
        self.seen: set[str] = set()

    def from_root(self, root: Any) -> list[Origin]:
        """The root and the nodes below it."""
        self._walk(root, 0)
        return self.origins

    def _walk(self, node: Any, depth: int) -> None:
        name = _column(node)
        expression = node.expression.unalias()
        if isinstance(expression, exp.Table) or name in ("_line", "_i"):
            return  # a column of the batch: the node that reads it lists it as an input
        passes_on = isinstance(expression, exp.Column) and expression.name == name and expression.table != _BATCH
        if not passes_on and name not in self.seen:
            self.seen.add(name)
            self._add(name, expression, depth)
        order = [column.name for column in expression.find_all(exp.Column, bfs=False)]
        for child in sorted(node.downstream, key=lambda child: order.index(_column(child))):
            self._walk(child, depth if passes_on else depth + 1)

    def _add(self, name: str, expression: exp.Expr, depth: int) -> None:
        text = expression.transform(_unqualified).sql("duckdb", normalize_functions="lower", comments=False)
        step = self.steps.get(name, None if depth == 0 else 0)
        meaning = self.meanings.get(name, "")
        if step and name not in self.own and self.kinds.get(name) not in _OF_ONE_STEP:
            step, meaning = None, "computed once for all steps that need it"
        self.origins.append(Origin(name, meaning, step, text, self._inputs(expression), depth))

    def _inputs(self, expression: exp.Expr) -> tuple[str, ...]:
        names: list[str] = []
        for node in expression.walk(bfs=False):
            if isinstance(node, exp.JSONPath):
                names.append(field_name(tuple(str(part.this) for part in node.find_all(exp.JSONPathKey))))
            elif isinstance(node, (exp.JSONExtract, exp.JSONExtractScalar)) and isinstance(
                node.expression, exp.Literal
            ):
                names.append(_field(node.expression.name))
            elif isinstance(node, exp.Anonymous) and node.name.lower() == "json_type" and len(node.expressions) > 1:
                names.append(_field(node.expressions[1].name))
            elif isinstance(node, exp.Column) and (node.table == _BATCH or node.name in _ABOUT):
                names.append(self._batch_name(node.name))
        return tuple(dict.fromkeys(name for name in names if name not in ("_line", "_i")))

    def _batch_name(self, column: str) -> str:
        """The name of a batch column at its source."""
        column_of_batch = self.batch_columns.get(column)
        if column_of_batch is None or not column_of_batch.name:
            return _ABOUT.get(column, column)
        return field_name((column_of_batch.name,)) if column_of_batch.kind == "input" else column_of_batch.name


def _column(node: Any) -> str:
    """The column's name without its table's; sqlglot returns both as SQL."""
    from sqlglot import parse_one

    return parse_one(node.name, dialect="duckdb").name


def _field(path: str) -> str:
    """The field that a JSON path or pointer names, as a recipe would name it."""
    if not path.startswith("/"):
        return path.removeprefix("$.").replace('"', "")
    return field_name(tuple(key.replace("~1", "/").replace("~0", "~") for key in path[1:].split("/")))


def _without_guards(sql: str, guards: Container[str]) -> exp.Expr:
    """The statement without the conditions that exclude removed and unreadable samples."""
    from sqlglot import parse_one

    def unguarded(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name == REST:
            return exp.column("_line")
        if isinstance(node, exp.Case) and _asks_for_text(node.args["ifs"][0].this):
            return node.args["ifs"][0].args["true"].transform(unguarded)
        if not isinstance(node, exp.Case) or len(node.args["ifs"]) != 1 or node.args.get("default") or node.this:
            return node
        condition = node.args["ifs"][0].this
        while isinstance(condition, (exp.And, exp.EQ, exp.Is)):
            condition = condition.this
        if isinstance(condition, exp.Column) and condition.name in guards:
            return node.args["ifs"][0].args["true"].transform(unguarded)
        return node

    return parse_one(sql, dialect="duckdb").transform(unguarded)


def _asks_for_text(condition: exp.Expr) -> bool:
    """Return whether a CASE is for lines without `_text` in the batch; the text is the same either way."""
    return isinstance(condition, exp.Is) and isinstance(condition.this, exp.Column) and condition.this.name == "_text"


def _unqualified(node: exp.Expr) -> exp.Expr:
    """A column without the name of its layer."""
    if isinstance(node, exp.Column) and re.fullmatch(r"_s\d+|_read|_\d+|batch", node.table):
        return exp.column(node.name)
    return node
