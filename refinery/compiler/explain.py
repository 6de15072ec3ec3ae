"""Plan of a compiled recipe: how each step of a stage runs, the features that steps share, and the deduplicators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from refinery.compiler.bounds import order_terms
from refinery.compiler.column_names import called
from refinery.compiler.deduplicators import body_of, matched
from refinery.compiler.kept_order import order_of
from refinery.compiler.model import Chain
from refinery.compiler.program import Program, StepInfo, pretty
from refinery.dedup.matchers.model import SetQuery
from refinery.dedup.matchers.params import is_star
from refinery.operators import Library, Operator


@dataclass(frozen=True)
class StepPlan:
    """Plan of one step. runs: "SQL", "kernel" or "Python"; a kernel may pass rare rows to exact Python."""

    index: int
    name: str
    where: str
    kind: str
    runs: str
    functions: tuple[str, ...]
    features: tuple[str, ...]
    shared: tuple[str, ...]
    layers: tuple[int, ...]


def step_plans(program: Program, chain: Chain, library: Library, after: Any | None = None) -> list[StepPlan]:
    """Plans of all steps of the stage. after: the deduplicator at its end; its plan is that of computing its match keys."""
    steps = list(program.steps)
    if after is not None:
        steps.append(StepInfo(after.index, after.name, "marks", after.where, program.text_key))
    definitions = [(number, d) for number, layer in enumerate(chain.layers.layers(), 1) for d in layer]
    runs = {function.name: function.runs for function in library.functions()}
    plans = []
    for step in steps:
        features = [column for column, users in chain.features.items() if step.index in users]
        own = [
            d for _, d in definitions if d.name in features or (d.step == step.index and d.name not in chain.features)
        ]
        functions = {name for definition in own for name in called(definition.expression) if name in runs}
        kinds = {runs[name] for name in functions}
        plans.append(
            StepPlan(
                index=step.index,
                name=step.name,
                where=step.where,
                kind=step.kind,
                runs="Python" if kinds - {"kernel"} else "kernel" if kinds else "SQL",
                functions=tuple(sorted(functions)),
                features=tuple(features),
                shared=tuple(column for column in features if len(set(chain.features[column])) > 1),
                layers=tuple(sorted({number for number, definition in definitions if definition.step == step.index})),
            )
        )
    return plans


@dataclass(frozen=True)
class BarrierPlan:
    """Plan of a deduplicator: what it compares, which sample stays, its limits, and its set SQL.

    compares: lines. statements: each with the name of its file in `sql/deduplicators`, when it runs, and its SQL.
    """

    index: int
    name: str
    where: str
    compares: tuple[str, ...]
    stays: str
    limits: str
    index_folder: str | None
    statements: tuple[tuple[str, str, str], ...]


def barrier_plan(step: Any, operator: Operator) -> BarrierPlan:
    """Plan of a deduplicator."""
    params = step.params
    limits = [
        f"{name} {params[name]}" for name in ("max_cluster_size", "max_removed_share") if params.get(name) is not None
    ]
    excess = "a run beyond them fails" if params.get("on_excess") == "fail" else "a run beyond them gets a note"
    return BarrierPlan(
        index=step.index,
        name=step.name,
        where=step.where,
        compares=tuple(operator.matcher.described(operator, params)),
        stays=_stays(step, operator),
        limits=f"{', '.join(limits)}; {excess}" if limits else "none",
        index_folder=params.get("index"),
        statements=tuple(_statements(step, operator)),
    )


def _stays(step: Any, operator: Operator) -> str:
    if operator.matcher.takes_units:
        empty = operator.rule.get("drop_empty")
        gone = (
            "a sample of which nothing is left is removed"
            if empty and step.params.get(empty)
            else "no sample is removed"
        )
        return f"every sample without the removed parts; {gone}"
    order = order_of(step.params)
    if is_star(step.params):
        order = f"the order of keep ({step.params['keep']})" if order else "the order of the input"
        return f"in {order}, each sample that is like none that stays before it"
    if not order:
        return "the first sample of each cluster"
    terms = ", ".join(f"{term} {direction}" for term, direction in order_terms(order))
    return f"of each cluster the first by {terms}; among equals the first of the input"


def _statements(step: Any, operator: Operator) -> list[tuple[str, str, str]]:
    """The set SQL of a run."""
    statements = [_shown(query) for query in operator.matcher.queries(operator, step.params)]
    if operator.matcher.takes_units:
        return statements
    if preferred := order_of(step.params):
        directions = [direction for _, direction in order_terms(preferred)]
        order = [{"column": f"order_{n}", "direction": direction} for n, direction in enumerate(directions)]
        statements.append(_named("survivors", "once clusters are known, by a union-find kernel", order=order))
    return [*statements, _named("duplicates", "rows of the table duplicates", **matched(operator))]


def _shown(query: SetQuery) -> tuple[str, str, str]:
    return query.name if query.text else f"_{query.name}.sql", query.when, pretty(body_of(query))


def _named(name: str, when: str, /, **values: Any) -> tuple[str, str, str]:
    return _shown(SetQuery(name, when, values))
