"""SQL statements that make the tables of a run, known before any shard has run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from refinery.compiler.deduplicators import judged
from refinery.compiler.ledger import LEDGER_COLUMNS, case_of_step, ledger_columns
from refinery.compiler.model import bytes_name
from refinery.compiler.templates import ident, lit, template
from refinery.dedup.model import DedupResult
from refinery.operators import Operator, read_sql
from refinery.planning.plan import CompiledStage
from refinery.planning.sizes import Sizes, rows_of_step

# Least number of samples that are joined and sorted at a time.
MANY = 1 << 19


@dataclass(frozen=True)
class TableStatement:
    """One statement. table: the table it makes. more: adds further samples, if `sql` covers only the first ones.

    query: True if `sql` is only a query, whose rows are the relation `table`.
    """

    table: str
    sql: str
    more: str = ""
    query: bool = False


@dataclass(frozen=True)
class StepCells:
    """Cells of the table `steps`. parameters: as JSON. batch: most samples that the operator is given at a time."""

    parameters: str = "{}"
    batch: int | None = None


def statements(
    stages: Sequence[CompiledStage],
    findings: Sequence[DedupResult | None],
    cells: Mapping[int, StepCells],
    samples: int = 0,
) -> list[TableStatement]:
    """Statements that make the tables, in order.

    They read variables (`first_rows`, `facts_1` and on; `first_row` and `last_row` for statements over some samples)
    and tables (`broken`, `_seconds`) that `database.fill` sets.
    findings: of the deduplicator at the end of each stage. cells: of each step. samples: rows read.
    """
    barriers = _barriers(stages, findings)
    columns = stat_columns(stages)
    return [
        _statement("quarantine"),
        *(_statement(name, barriers=barriers) for name in ("duplicates", "clusters")),
        _facts(_numbers(stages), removing_of(barriers), len(stages) > 1, samples),
        _ledger(stages, removing_of(barriers), samples > MANY),
        _statement("stats", facts="facts", ordered=True, columns=columns),
        _statement("row_outcomes", facts="facts", ordered=True, stats=columns),
        steps_statement(stages, cells),
    ]


def piece_statements(stages: Sequence[CompiledStage], findings: Sequence[DedupResult | None]) -> list[TableStatement]:
    """Statements that make the rows of some shards, in order, and last a query of their sums (`_sums`).

    They read what `statements` read, restricted to these shards: `matches_N` is a variable with the files of matches of step N
    here, `first_code` and `last_code` are the first and last number of a sample as matches have them.
    """
    barriers = [barrier | {"matches": _MATCHES.format(step=barrier["step"])} for barrier in _barriers(stages, findings)]
    facts = _facts(_numbers(stages), removing_of(barriers), len(stages) > 1)
    sums = template(read_sql("tables/_sums.sql")).render(**summed_columns(stages), relation="facts", again=False)
    return [
        _statement("quarantine"),
        _statement("duplicates", barriers=barriers),
        facts,
        _ledger(stages, removing_of(barriers), many=False),
        TableStatement("_sums", sums),
    ]


_MATCHES = "read_parquet(getvariable('matches_{step}')) WHERE _row BETWEEN getvariable('first_code') AND getvariable('last_code')"


def clusters_statements(
    stages: Sequence[CompiledStage], findings: Sequence[DedupResult | None]
) -> dict[int | None, tuple[str, tuple[str, ...]]]:
    """SQL that makes a part of the table `clusters`, and files of members that become one part each, by step.

    `clusters` is a variable with the file, `clusters_before` is the number of clusters in the files before it. Without files, SQL for an
    empty part.
    """
    statements: dict[int | None, tuple[str, tuple[str, ...]]] = {}
    for barrier in _barriers(stages, findings):
        if barrier["clusters"]:
            own = barrier | {"members": _MEMBERS, "before": "getvariable('clusters_before')"}
            statements[barrier["step"]] = _statement("clusters", barriers=[own]).sql, barrier["clusters"]
    return statements or {None: (_statement("clusters", barriers=[]).sql, ("",))}


_MEMBERS = "read_parquet(getvariable('clusters'))"


def steps_statement(
    stages: Sequence[CompiledStage], cells: Mapping[int, StepCells], parts: bool = False
) -> TableStatement:
    """The statement that makes the table `steps`: of the relation `facts`, or of the sums of its parts.

    parts: the tables `_sums` and `_broken` have the sums of all blocks.
    """
    columns = summed_columns(stages)
    sums = template(read_sql("tables/_sums.sql")).render(**columns, relation="_sums" if parts else "facts", again=parts)
    broken = "_broken" if parts else "(SELECT step, count(*) AS _rows FROM quarantine GROUP BY step)"
    return _statement("steps", steps=_steps(stages, cells), sums=sums.strip(), broken=broken)


def summed_columns(stages: Sequence[CompiledStage]) -> dict[str, list[str]]:
    """Columns of facts that the table of steps adds up: `texts`, bytes of texts, and `changes`, counted where true."""
    steps = _steps(stages, {})
    texts = dict.fromkeys(step[name] for step in steps for name in ("bytes_before", "bytes_after"))
    changes = dict.fromkeys(step["changed"] for step in steps if step["changed"])
    return {"texts": list(texts), "changes": list(changes)}


def stat_columns(stages: Sequence[CompiledStage]) -> list[str]:
    """The quoted columns of the table `stats`, in their order."""
    return [ident(stat.column) for planned in stages for stat in planned.program.stats]


def removing_of(barriers: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The deduplicators that remove samples, not units of them."""
    return [barrier for barrier in barriers if not barrier["units"]]


def _numbers(stages: Sequence[CompiledStage]) -> list[int]:
    """The stages that leave facts."""
    return [planned.stage.number for planned in stages if not planned.program.copies]


def _statement(name: str, **values: Any) -> TableStatement:
    return TableStatement(name, template(read_sql(f"tables/{name}.sql")).render(values))


def _facts(
    stages: Sequence[int], removing: Sequence[Any], quarantined: bool, samples: int | None = None
) -> TableStatement:
    """Facts of all samples. Of few samples, a query; of many of one stage, a view.

    Stages of many samples are joined and sorted for some samples at a time. samples: None for a table, however many.
    """
    joined, many = len(stages) > 1 or bool(removing), samples is not None and samples > MANY
    values = {"stages": stages, "removing": removing, "quarantined": quarantined, "joined": joined}
    if samples is not None and not many:
        return replace(_statement("facts", more=False, range="", kind="", **values), query=True)
    return _in_pieces("facts", many and joined, kind="VIEW" if many and not joined else "TABLE", **values)


def _ledger(stages: Sequence[CompiledStage], removing: Sequence[Any], many: bool) -> TableStatement:
    """Table of removed rows; with deduplicators, rows are sorted for some samples at a time."""
    chains = [ledger_columns(planned.chain, planned.steps) for planned in stages]
    values = {"facts": "facts", "ordered": True, "removing": removing, **_joined(chains)}
    return _in_pieces("ledger", many and bool(removing), **values)


def _in_pieces(name: str, pieces: bool, **values: Any) -> TableStatement:
    """A statement that runs for some samples at a time, or for all at once."""
    values["range"] = "getvariable('first_row') AND getvariable('last_row')" if pieces else ""
    first = _statement(name, more=False, **values)
    return replace(first, more=_statement(name, more=True, **values).sql) if pieces else first


def quarantine_source(files: Sequence[str]) -> str:
    """SQL for the rows that the shards could not read or process."""
    if files:
        return f"SELECT * FROM read_parquet({lit(list(files))}, filename = true)"
    columns = (
        "0::BIGINT AS _row, '' AS file, 0::BIGINT AS line, 0 AS step, '' AS operator, '' AS error, ''::BLOB AS raw"
    )
    return f"SELECT {columns}, '' AS filename WHERE FALSE"


def _joined(chains: Sequence[Mapping[str, Mapping[int, str]]]) -> dict[str, str]:
    """The ledger's columns over the steps of all stages."""
    cases_by_name = {}
    for name, kind in LEDGER_COLUMNS.items():
        cases = {step: sql for chain in chains for step, sql in chain[name].items()}
        cases_by_name[name] = case_of_step(cases, kind)
    return cases_by_name


def _barriers(stages: Sequence[CompiledStage], findings: Sequence[DedupResult | None]) -> list[dict[str, Any]]:
    """Values of each deduplicator for the SQL templates."""
    barriers = []
    for planned, known in zip(stages, findings, strict=True):
        step = planned.stage.after
        if step is None or known is None:
            continue
        barriers.append(
            {
                **judged(step),
                "units": not known.clusters and bool(known.units),
                "duplicates": known.duplicates,
                "matches": f"read_parquet({lit(list(known.duplicates))})",
                "members": f"read_parquet({lit(list(known.clusters))})",
                "clusters": known.clusters,
                "before": "0",
                "index": known.index.names() if known.index else [],
            }
        )
    return barriers


def _steps(stages: Sequence[CompiledStage], cells: Mapping[int, StepCells]) -> list[dict[str, Any]]:
    rows = []
    order = [number for planned in stages for number in planned.stage.numbers()]
    texts = _texts_of(order, {step for planned in stages for step in planned.chain.versions})
    changed = {change.step: change.changed for planned in stages for change in planned.program.changes}
    for step, kind in listed(stages):
        before, after = texts[step.index]
        rows.append(
            {
                "index": step.index,
                "name": step.name,
                "kind": kind,
                "where": step.where,
                "title": step.title,
                "params": cells.get(step.index, StepCells()).parameters,
                "batch": cells.get(step.index, StepCells()).batch,
                "changed": changed.get(step.index),
                "bytes_before": bytes_name(before),
                "bytes_after": bytes_name(after),
                "place": order.index(step.index),
            }
        )
    return rows


def _texts_of(order: Sequence[int], versions: set[int]) -> dict[int, tuple[int, int]]:
    """Versions of the main text before and after each step."""
    version, by_step = 0, {}
    for step in order:
        before, version = version, step if step in versions else version
        by_step[step] = before, version
    return by_step


def listed(stages: Sequence[CompiledStage]) -> list[tuple[Any, str]]:
    """All steps in the recipe's order, with their kinds."""
    steps: list[tuple[Any, str]] = []
    for planned in stages:
        kinds = {info.index: info.kind for info in planned.program.steps}
        steps += [(step, kinds[step.index]) for step in planned.stage.steps]
        if planned.stage.after is not None:
            steps.append((planned.stage.after, "deduplicator"))
    return steps


def step_cells(steps: Sequence[Any], operators: Mapping[str, Operator], sizes: Sizes) -> dict[int, StepCells]:
    """Cells of the table `steps` that are known before the run. sizes: of batches."""
    cells = {}
    for step in steps:
        parameters = json.dumps(dict(step.params), ensure_ascii=False, default=list)
        cells[step.index] = StepCells(parameters, rows_of_step(sizes, step, operators[step.name]))
    return cells
