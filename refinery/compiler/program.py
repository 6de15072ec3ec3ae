"""What a worker needs to run a stage: plain data that any process or machine can be sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from refinery.compiler.chain import Chain, Change, Keys, Schema, Stat, compile_chain, out_name
from refinery.compiler.env import ident, lit
from refinery.compiler.names import parse
from refinery.library import Function, Library


@dataclass(frozen=True)
class StepInfo:
    """One step of the recipe, without its parameters."""

    index: int
    name: str
    kind: str
    where: str  # file:line


@dataclass(frozen=True)
class Program:
    """The compiled stage.

    pass_sql: the SELECT over relation `batch` that does the work. replay_sql: the same with every version of every
    text. probes: (column, step) in the order of computation, to find out which step a row fails in. needs: columns of
    `batch` besides `_i` (and `_line` for JSON lines).
    """

    steps: tuple[StepInfo, ...]
    lines: bool
    text_key: Keys
    pass_sql: str
    replay_sql: str
    probe_sql: str
    probes: tuple[tuple[str, int], ...]
    functions: tuple[Function, ...]
    stats: tuple[Stat, ...]
    changes: tuple[Change, ...]
    read: dict[Keys, str]
    outs: dict[Keys, str]
    needs: tuple[str, ...]
    uses_row: bool
    stats_json: bool


def build(
    steps: Sequence[Any], library: Library, schema: Schema, text_key: Keys, share: bool = True, stats_json: bool = False
) -> tuple[Program, Chain]:
    """Compile steps to a program; `stats_json` adds each kept row's statistics as a JSON object (`_stats`)."""
    chain = compile_chain(steps, library, schema, text_key, share)
    columns = chain.pass_columns()
    if stats_json:
        columns.append(f"{stats_object(chain.stats)} AS _stats")
    features = {name for name in library.features if any(c.startswith(f"_{name}_") for c in chain.features)}
    functions = _functions(chain, library, features)
    needs = [*sorted(chain.inputs)]
    needs += ["_row"] if chain.uses_row else []
    needs += ["_suffix"] if chain.uses_suffix else []
    program = Program(
        steps=tuple(
            StepInfo(step.index, step.name, library.operators[step.name].kind, step.where) for step in steps
        ),
        lines=schema.lines,
        text_key=text_key,
        pass_sql=pretty(chain.select(columns)),
        replay_sql=pretty(chain.select(chain.replay_columns())),
        probe_sql=pretty(chain.select(["_probe_"])),
        probes=tuple((definition.name, definition.step) for definition in chain.layers.definitions()),
        functions=functions,
        stats=tuple(chain.stats),
        changes=tuple(chain.changes),
        read=dict(chain.read),
        outs={keys: out_name(keys) for keys in chain.texts if any(change.field == keys for change in chain.changes)},
        needs=tuple(needs),
        uses_row=chain.uses_row,
        stats_json=stats_json,
    )
    return program, chain


def _functions(chain: Chain, library: Library, features: set[str]) -> tuple[Function, ...]:
    found: dict[str, Function] = {}
    for name in sorted(features):
        found.update({function.name: function for function in library.features[name].functions})
    for step in chain.steps:
        found.update({function.name: function for function in library.operators[step.name].functions})
    return tuple(found[name] for name in sorted(chain.functions))


def stats_object(stats: Sequence[Stat]) -> str:
    """SQL for the statistics as a JSON object, in the order of the steps; those not computed are left out."""
    pairs = ", ".join(f"{lit(stat.column)}, {ident(stat.column)}" for stat in stats)
    return f"json_object({pairs})"


def pretty(sql: str) -> str:
    """The statement, parsed and printed again: what runs is what a person is shown. Raises ValueError if it does not parse."""
    return parse(sql).transform(_without_parentheses).sql("duckdb", pretty=True, normalize_functions="lower")


def _without_parentheses(node: exp.Expression) -> exp.Expression:
    """What stands in parentheses that mean nothing where they are; an arrow keeps them, it could be taken for a lambda."""
    while isinstance(node, exp.Paren) and isinstance(node.parent, (exp.Coalesce, exp.Nullif, exp.Paren, exp.Alias)):
        if isinstance(node.this, (exp.JSONExtract, exp.JSONExtractScalar, exp.Lambda)):
            break
        inner = node.this
        inner.parent, inner.arg_key = node.parent, node.arg_key
        node = inner
    return node
