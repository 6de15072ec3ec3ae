"""Costs of a stage's steps for `fusion_strategy`, measured on a sample or by class, and the order that they give."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pc
from refinery.compiler.column_names import called
from refinery.compiler.filter_order import FilterOrder, StepColumns, arranged
from refinery.compiler.model import Chain, Stat, bytes_name
from refinery.compiler.program import Program
from refinery.io.batch import Batch
from refinery.io.model import Shard
from refinery.io.readers.read import read
from refinery.kernels.core.arrow import numbers
from refinery.operators import Library
from refinery.storage.run_folder import RunDir, aside
from refinery.workers.step_seconds import by_step
from refinery.workers.worker import Worker

# Pieces of the input that are measured, bytes of each, and rounds; an extra first round compiles the kernels.
_PIECES = 4
_PIECE = 512 << 10
_ROUNDS = 3

# Classes of cost for `greedy`: DuckDB's own functions, compiled kernels, Python row by row.
_CLASSES = {"SQL": 1.0, "kernel": 4.0, "Python": 64.0}
# Share of samples that a filter is assumed to keep if nothing is measured.
_KEEPS = 0.5


@dataclass
class Costs:
    """Costs of steps and features, and the rows that filters keep.

    spent: cost by step, and by feature under a number below 0. uses: the features that each step needs; the first step
    that needs a feature pays for it. kept: for every filter, the rows of a measured sample that it keeps. weights: of
    these rows; without them every filter keeps half.
    """

    filters: frozenset[int]
    features: dict[str, int]
    uses: dict[int, list[int]]
    spent: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    kept: dict[int, np.ndarray] = field(default_factory=dict)
    weights: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @staticmethod
    def none(program: Program, chain: Chain) -> Costs:
        """Costs of a chain before any cost is known."""
        features = {column: -number for number, column in enumerate(chain.features, 1)}
        uses: dict[int, list[int]] = defaultdict(list)
        for column, users in chain.features.items():
            for step in dict.fromkeys(users):
                uses[step].append(features[column])
        return Costs(frozenset(info.index for info in program.steps if info.kind == "filter"), features, uses)

    def expected(self) -> Callable[[Sequence[int]], float]:
        """A function that returns the cost of an order of steps."""
        left = cache(self._left)

        def of(order: Sequence[int]) -> float:
            cost, done, computed = 0.0, frozenset[int](), set[int]()
            for step in order:
                new = {step, *self.uses.get(step, ())} - computed
                computed |= new
                cost += left(done) * sum(self.spent[number] for number in sorted(new))
                done |= {step} & self.filters
            return cost

        return of

    def _left(self, done: frozenset[int]) -> float:
        """Share of the input left after some filters, as in the measured sample; filters may remove the same rows."""
        if not self.weights.size:
            return float(_KEEPS ** len(done))
        there = np.ones(len(self.weights), bool)
        for step in done & self.kept.keys():
            there &= self.kept[step]
        return float(self.weights[there].sum() / self.weights.sum())

    def passes(self) -> dict[int, float]:
        """Share of the sample's bytes that each filter keeps alone; empty if nothing is measured."""
        return {step: round(self._left(frozenset({step})), 4) for step in sorted(self.kept)}


def best_order(strategy: str, needs: Sequence[StepColumns], costs: Costs) -> FilterOrder:
    """The order of the steps by their costs."""
    own = {need.step: float(f"{costs.spent[need.step]:.3g}") for need in needs}
    return arranged(strategy, needs, costs.expected(), own, costs.passes())


def stored_orders(path: Path, key: str) -> list[FilterOrder]:
    """The orders in a file of an earlier run; empty if that run had another recipe or other inputs."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return [FilterOrder.of_json(stage) for stage in content["stages"]] if content["key"] == key else []
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def orders_of_run(run_dir: RunDir) -> list[FilterOrder]:
    """The orders in which the stages of a finished run ran; empty for the recipe's order."""
    plan = json.loads(run_dir.plan.read_text(encoding="utf-8"))
    return [FilterOrder.of_json(stage) for stage in plan.get("orderings", ())]


def store_orders(path: Path, key: str, orderings: Sequence[FilterOrder]) -> None:
    """Write the orders for `stored_orders`, because another measurement may give another order."""
    unfinished = aside(path)
    unfinished.write_text(json.dumps({"key": key, "stages": [stage.json() for stage in orderings]}, indent=2))
    os.replace(unfinished, path)


def order_notes(orderings: Sequence[FilterOrder], stats: Sequence[Stat]) -> list[str]:
    """A line for each stage whose filters were moved: the order of steps, and the statistics that removed rows lack."""
    notes = []
    for stage in orderings:
        passed = {step for move in stage.moves for step, _ in move.passed}
        missing = [stat.column for stat in stats if stat.step in passed]
        if stage.moved:
            order = ", ".join(map(str, stage.steps))
            left_out = f"; rows that go earlier now have no {', '.join(missing)}" if missing else ""
            notes.append(f"fusion_strategy {stage.strategy}: steps ran in the order {order}{left_out}")
    return notes


def class_costs(program: Program, chain: Chain, library: Library) -> Costs:
    """Costs by class of step (`greedy`): nothing is measured, so every run of the recipe has the same order."""
    costs = Costs.none(program, chain)
    runs = {function.name: function.runs for function in library.functions()}
    for definition in chain.layers.definitions():
        kinds = {runs[name] for name in called(definition.expression) if name in runs}
        kind = "Python" if kinds - {"kernel"} else "kernel" if kinds else "SQL"
        number = costs.features.get(definition.name, definition.step)
        costs.spent[number] = max(costs.spent[number], _CLASSES[kind])
    return costs


def measure_costs(program: Program, chain: Chain, shards: Sequence[Shard]) -> Costs:
    """Costs measured on a sample of the input, in seconds per megabyte of text (`probe`).

    program: its filters remove nothing; columns (`chain.passes`) have the rows that they would keep. Samples that
    cannot be read, or on which a step raises, are left out.
    """
    costs = Costs.none(program, chain)
    owners = {definition.name: definition.step for definition in chain.layers.definitions()} | costs.features
    kept: dict[int, list[np.ndarray]] = {step: [] for step in chain.passes}
    weights: list[np.ndarray] = []
    worker = Worker(program)
    try:
        for batch in _sample(shards):
            done, _ = worker.attempt(batch)  # compiles kernels and finds the rows that raise
            done = done.filter(pc.is_null(done["_bad"]))
            if not len(done):
                continue
            for step, column in chain.passes.items():
                kept[step].append(numbers(done[column].cast(pa.int8())).astype(bool))
            weights.append(_weights(done, chain))
            for number, seconds in _fastest(worker, batch.take(numbers(done["_i"])), owners).items():
                costs.spent[number] += seconds
    finally:
        worker.close()
    if weights:
        costs.kept = {step: np.concatenate(flags) for step, flags in kept.items()}
        costs.weights = np.concatenate(weights)
        for number in costs.spent:
            costs.spent[number] /= costs.weights.sum() / 1e6
    return costs


def _sample(shards: Sequence[Shard]) -> Iterator[Batch]:
    """Pieces from all over the input."""
    places = sorted({len(shards) * k // _PIECES for k in range(_PIECES)})
    for place in places[: len(shards)]:
        yield from islice(read(shards[place], _PIECE), 1)


def _weights(done: pa.Table, chain: Chain) -> np.ndarray:
    """Bytes of each row's text, and one for the row."""
    sizes = [bytes_name(step) for step in chain.versions]
    return numbers(done[sizes[0]].cast(pa.int64())) + 1.0 if sizes else np.ones(len(done))


def _fastest(worker: Worker, batch: Batch, owners: dict[str, int]) -> dict[int, float]:
    """Seconds by owner, of the fastest of several rounds."""
    rounds: list[tuple[float, int, dict[int, float]]] = []
    for _ in range(_ROUNDS):
        worker.measure(batch)
        spent = by_step(json.loads(worker.profile()), owners, worker.program.light, 0.0)
        rounds.append((sum(spent.values()), len(rounds), spent))
    return min(rounds)[2]
