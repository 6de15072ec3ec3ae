"""What the compiler made of a recipe: the steps of each stage, how each one runs, what they share."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from refinery.compiler.chain import Chain
from refinery.compiler.program import Program
from refinery.library import Library


@dataclass(frozen=True)
class StepPlan:
    """One step as planned. runs: "SQL", "kernel" or "Python"; a kernel may send rare rows to exact Python."""

    index: int
    name: str
    where: str
    kind: str
    runs: str
    functions: tuple[str, ...]
    features: tuple[str, ...]
    shared: tuple[str, ...]
    layers: tuple[int, ...]


def step_plans(program: Program, chain: Chain, library: Library) -> list[StepPlan]:
    """Every step of the stage."""
    definitions = [(number, d) for number, layer in enumerate(chain.layers.layers(), 1) for d in layer]
    runs = {function.name: function.runs for function in library.functions()}
    found = []
    for step in program.steps:
        features = [column for column, users in chain.features.items() if step.index in users]
        own = [
            d for _, d in definitions if d.name in features or (d.step == step.index and d.name not in chain.features)
        ]
        called = {name for definition in own for name in _functions(definition.expression) if name in runs}
        kinds = {runs[name] for name in called}
        found.append(
            StepPlan(
                index=step.index,
                name=step.name,
                where=step.where,
                kind=step.kind,
                runs="Python" if "python" in kinds else "kernel" if kinds else "SQL",
                functions=tuple(sorted(called)),
                features=tuple(features),
                shared=tuple(column for column in features if len(set(chain.features[column])) > 1),
                layers=tuple(sorted({number for number, definition in definitions if definition.step == step.index})),
            )
        )
    return found


def _functions(expression: exp.Expr) -> set[str]:
    """Names of functions that DuckDB itself does not have."""
    return {node.name.lower() for node in expression.find_all(exp.Anonymous)}
