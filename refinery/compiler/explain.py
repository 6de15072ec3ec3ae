"""What the compiler made of a recipe: the steps of each stage, how each one runs, what they share."""

from __future__ import annotations

from dataclasses import dataclass

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
    places = _layers(chain)
    found = []
    for step in program.steps:
        operator = library.operators[step.name]
        features = [column for column, users in chain.features.items() if step.index in users]
        called = [f for f in operator.functions if f.name in chain.functions]
        for column in features:
            name = next(name for name in library.features if column.startswith(f"_{name}_"))
            called += [f for f in library.features[name].functions if f.name in chain.functions]
        kinds = {function.runs for function in called}
        found.append(
            StepPlan(
                index=step.index,
                name=step.name,
                where=step.where,
                kind=step.kind,
                runs="Python" if "python" in kinds else "kernel" if kinds else "SQL",
                functions=tuple(sorted({function.name for function in called})),
                features=tuple(features),
                shared=tuple(column for column in features if len(set(chain.features[column])) > 1),
                layers=tuple(sorted(places.get(step.index, ()))),
            )
        )
    return found


def _layers(chain: Chain) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for number, layer in enumerate(chain.layers.layers(), 1):
        for definition in layer:
            found.setdefault(definition.step, set()).add(number)
    return found
