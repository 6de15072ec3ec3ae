"""Plan of a compiled recipe: how each step of a stage runs, the features that steps share, and the deduplicators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from refinery.compiler.bounds import order_terms
from refinery.compiler.column_names import called
from refinery.compiler.model import Chain
from refinery.compiler.program import Program, StepInfo, pretty
from refinery.compiler.script.between_stages import body, matched
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
    """Plans of all steps of the stage. after: the deduplicator at its end; its plan is that of computing its marks."""
    steps = list(program.steps)
    if after is not None:
        steps.append(StepInfo(after.index, after.name, "marks", after.where, program.text_key))
    definitions = [(number, d) for number, layer in enumerate(chain.layers.layers(), 1) for d in layer]
    runs = {function.name: function.runs for function in library.functions()}
    found = []
    for step in steps:
        features = [column for column, users in chain.features.items() if step.index in users]
        own = [
            d for _, d in definitions if d.name in features or (d.step == step.index and d.name not in chain.features)
        ]
        functions = {name for definition in own for name in called(definition.expression) if name in runs}
        kinds = {runs[name] for name in functions}
        found.append(
            StepPlan(
                index=step.index,
                name=step.name,
                where=step.where,
                kind=step.kind,
                runs="Python" if "python" in kinds else "kernel" if kinds else "SQL",
                functions=tuple(sorted(functions)),
                features=tuple(features),
                shared=tuple(column for column in features if len(set(chain.features[column])) > 1),
                layers=tuple(sorted({number for number, definition in definitions if definition.step == step.index})),
            )
        )
    return found


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
        compares=tuple(_compared(step, operator)),
        stays=_stays(step, operator),
        limits=f"{', '.join(limits)}; {excess}" if limits else "none",
        index_folder=params.get("index"),
        statements=tuple(_statements(step, operator)),
    )


def _compared(step: Any, operator: Operator) -> list[str]:
    params = step.params
    if operator.match == "keys":
        key = f": {' '.join(str(params['key']).split())}" if operator.params.get("key") else ", one value for each text"
        return [f"keys{key}; samples with equal ones are duplicates"]
    if operator.match == "hamming":
        distance = params["hamming_distance"]
        return [f"SimHash values of 64 bits; samples whose values differ in at most {distance} bits are duplicates"]
    if operator.match == "units":
        return [_units_compared(params, operator)]
    lines = _bands_compared(params)
    if params.get("verify"):
        threshold = params["jaccard_threshold"]
        lines.append(f"pairs whose true Jaccard similarity is below {threshold:g} are dropped: verify")
    return lines


def _units_compared(params: Mapping[str, Any], operator: Operator) -> str:
    rule = operator.rule
    if rule["kind"] == "more_documents_than":
        return (
            f"parts of each text; those in more than {params[rule['threshold']]} samples are removed from all of them"
        )
    return "parts of each text; repeated ones are removed, the first stays"


def bands_and_rows(params: Mapping[str, Any]) -> tuple[int, int]:
    """Number of bands of a signature and of minima in each band, for the parameters of a deduplicator."""
    if params.get("num_buckets") or params.get("hashes_per_bucket"):
        return params.get("num_buckets") or 14, params.get("hashes_per_bucket") or 8
    if params.get("num_bands") and params.get("num_rows_per_band"):
        return params["num_bands"], params["num_rows_per_band"]
    from refinery.kernels.dedup.minhash_bands import optimum

    return optimum(float(params["jaccard_threshold"]), int(params["num_permutations"]))


def _bands_compared(params: Mapping[str, Any]) -> list[str]:
    if "num_permutations" not in params:
        return ["bands of a signature; samples with an equal band are candidates"]
    bands, rows = bands_and_rows(params)
    threshold = float(params["jaccard_threshold"])
    at = sorted({round(threshold, 4), *(x / 10 for x in range(3, 10, 2))})
    curve = ", ".join(f"{s:g}: {1 - (1 - s**rows) ** bands:.3g}" for s in at)
    chance = 1 - (1 - threshold**rows) ** bands
    return [
        f"{bands} bands x {rows} rows of a MinHash signature; samples with an equal band are candidates",
        f"at jaccard_threshold {threshold:g} a pair is one with probability 1 - (1 - s^{rows})^{bands} = {chance:.3g} ({curve})",
    ]


def _stays(step: Any, operator: Operator) -> str:
    if operator.match == "units":
        empty = operator.rule.get("drop_empty")
        gone = (
            "a sample of which nothing is left is removed"
            if empty and step.params.get(empty)
            else "no sample is removed"
        )
        return f"every sample without the removed parts; {gone}"
    keep = step.params.get("keep") or "first"
    if keep == "first":
        return "the first sample of each cluster"
    terms = ", ".join(f"{term} {direction}" for term, direction in order_terms(keep))
    return f"of each cluster the first by {terms}; among equals the first of the input"


def _statements(step: Any, operator: Operator) -> list[tuple[str, str, str]]:
    """The set SQL of a run."""
    params = step.params
    if operator.match == "units":
        if operator.rule["kind"] == "more_documents_than":
            threshold = int(params[operator.rule["threshold"]])
            return [_named("units_in_many", "the parts that go", threshold=threshold)]
        return [_named("units_seen_before", "the parts that go")]
    found = []
    if params.get("verify"):
        found.append(_named("buckets", "once, here for the first band; the others are alike", bands=[0]))
        found.append(_named("representatives", "in rounds, until all pairs are answered; a kernel compares them"))
        found.append(_named("still_open", "after each round"))
    else:
        when = {"bands": "for each band", "hamming": "for equal values; a kernel finds the near ones"}
        found.append(_named("same_key", when.get(operator.match, "once")))
    keep = params.get("keep") or "first"
    if keep != "first":
        directions = [direction for _, direction in order_terms(keep)]
        order = [{"column": f"order_{n}", "direction": direction} for n, direction in enumerate(directions)]
        found.append(_named("survivors", "once clusters are known, by a union-find kernel", order=order))
    return [*found, _named("duplicates", "rows of the table duplicates", **matched(operator))]


def _named(name: str, when: str, /, **values: Any) -> tuple[str, str, str]:
    return f"_{name}.sql", when, pretty(body(name, **values))
