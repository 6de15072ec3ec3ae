"""The tables `audit`, `hubs` and `chains` of a run, and notes on steps that remove samples unlike those that stay."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refinery.common.lazy import duckdb
from refinery.compiler.templates import lit
from refinery.dedup.audit.hub import Hub, cures, hub_of, told
from refinery.dedup.audit.measure import ALIKE, ComparedText, Measure
from refinery.dedup.audit.parts import AuditedStep
from refinery.results.audit.compared import by_parts, by_signatures, by_texts
from refinery.results.audit.draw import (
    INDEXED,
    MOST,
    PARTS,
    AuditedPair,
    HubRows,
    hubs_of,
    pairs_of,
    paths_of,
    to_audit,
)
from refinery.results.audit.texts import Texts, whole_texts

_OF_STEP = {"step": "INTEGER", "operator": "VARCHAR"}
# Types of the columns, by table.
TABLES: dict[str, dict[str, str]] = {
    "audit": {
        **_OF_STEP,
        **dict.fromkeys(("_row", "unit", "kept", "via"), "BIGINT"),
        **dict.fromkeys(("source", "basis"), "VARCHAR"),
        "cluster_size": "BIGINT",
        "matched": "VARCHAR",
        **dict.fromkeys(("estimated_jaccard", "jaccard", "cosine", "threshold", "weight"), "DOUBLE"),
    },
    "hubs": {
        **_OF_STEP,
        "via": "BIGINT",
        "matched": "VARCHAR",
        **dict.fromkeys(("connected", "compared"), "BIGINT"),
        "measure": "VARCHAR",
        **dict.fromkeys(("median_similarity", "least_similarity"), "DOUBLE"),
        "alike": "BOOLEAN",
        **dict.fromkeys(("reason", "excerpt"), "VARCHAR"),
    },
    "chains": {
        **_OF_STEP,
        **dict.fromkeys(("_row", "kept", "cluster_size", "links"), "BIGINT"),
        "path": "BIGINT[]",
        "measure": "VARCHAR",
        "similarity": "DOUBLE",
    },
}
# The rows of `audit_summary` that say, for all sources of a step, that fewer than half of what was removed is like what stays.
UNLIKE = (
    "SELECT * FROM audit_summary WHERE source IS NULL AND high < 0.5 AND CASE "
    "WHEN step IN (SELECT step FROM audit WHERE cosine IS NOT NULL) THEN measure = 'cosine' "
    f"ELSE measure = 'jaccard' AND threshold = {ALIKE} END"
)
# Chains of a step, one of each cluster.
_CHAINS = 20


@dataclass(frozen=True)
class Audit:
    """Rows of the tables, by the names of their columns."""

    audit: list[dict[str, Any]]
    hubs: list[dict[str, Any]]
    chains: list[dict[str, Any]]

    def write(self, con: duckdb.DuckDBPyConnection) -> None:
        """Create the tables in the database of a connection."""
        for table, columns in TABLES.items():
            listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
            con.execute(f"CREATE OR REPLACE TABLE {table} ({listed})").fetchall()
            if rows := getattr(self, table):
                shape = {name: [kind[:-2]] if kind.endswith("[]") else kind for name, kind in columns.items()}
                select = f"SELECT one.* FROM (SELECT unnest(from_json(?::JSON, {lit(json.dumps([shape]))})) AS one)"
                con.execute(f"INSERT INTO {table} BY NAME {select}", [json.dumps(rows)]).fetchall()


def audited(
    con: duckdb.DuckDBPyConnection,
    steps: Sequence[AuditedStep],
    text_key: Sequence[str],
    texts: Texts,
    most: int | None,
) -> Audit:
    """The audit that a recipe asks for; most: its key `audit`. Without the key, of steps that are small or suspicious."""
    if not steps:
        return Audit([], [], [])
    if most is None:
        suspicious = to_audit(con)
        return measured(con, [one for one in steps if one.step.index in suspicious], text_key, texts, MOST)
    return measured(con, steps if most else [], text_key, texts, most)


def measured(
    con: duckdb.DuckDBPyConnection, steps: Sequence[AuditedStep], text_key: Sequence[str], texts: Texts, most: int
) -> Audit:
    """Compare sampled pairs of the tables `duplicates` and `clusters`. most: pairs of each step."""
    made = Audit([], [], [])
    of_samples = [one.step.index for one in steps if one.parts is None]
    pairs, hubs = pairs_of(con, of_samples, most), hubs_of(con, of_samples) if of_samples else []
    pairs += pairs_of(con, [one.step.index for one in steps if one.parts], most, PARTS)
    indexed = pairs_of(con, of_samples, most, INDEXED)
    for one in steps:
        drawn, by_index = ([pair for pair in of if pair.step == one.step.index] for of in (pairs, indexed))
        around = [hub for hub in hubs if hub.step == one.step.index]
        _add(made, con, one, one.measure(text_key), texts, drawn, around)
        made.audit.extend(by_signatures(by_index, one.measure(text_key)))
    return made


def _add(
    made: Audit,
    con: duckdb.DuckDBPyConnection,
    one: AuditedStep,
    measure: Measure,
    texts: Texts,
    drawn: Sequence[AuditedPair],
    around: Sequence[HubRows],
) -> None:
    """Add the rows of a step whose texts are compared."""
    if one.parts is not None:
        made.audit.extend(by_parts(one.step, drawn, one.parts, measure, texts))
        return
    rows = {row for pair in drawn for row in (pair.row, pair.kept) if row is not None}
    rows |= {row for hub in around for row in (hub.row, *hub.members)}
    known = whole_texts(texts, one.step, measure, sorted(rows)) if rows else {}
    compared = list(by_texts(drawn, measure, known))
    made.audit.extend(compared)
    made.hubs.extend(_hub(hub, known, measure, one.step.params) for hub in around if hub.row in known)
    made.chains.extend(_chains(con, compared, measure))


def _hub(
    hub: HubRows, known: Mapping[int, ComparedText], measure: Measure, params: Mapping[str, Any]
) -> dict[str, Any]:
    """A row of `hubs`."""
    compared: Hub = hub_of(known[hub.row], [known[row] for row in hub.members if row in known], measure, params)
    return {
        "step": hub.step,
        "operator": hub.operator,
        "via": hub.row,
        "matched": hub.matched,
        "connected": hub.connected,
        "compared": compared.compared,
        "measure": measure.name,
        "median_similarity": None if math.isnan(compared.median) else compared.median,
        "least_similarity": None if math.isnan(compared.least) else compared.least,
        "alike": compared.alike,
        "reason": compared.reason,
        "excerpt": compared.excerpt,
    }


def _chains(
    con: duckdb.DuckDBPyConnection, audited: Sequence[dict[str, Any]], measure: Measure
) -> list[dict[str, Any]]:
    """Rows of `chains`: of each cluster the audited pair that is least alike, if others connect it."""
    least: dict[int, dict[str, Any]] = {}
    for row in audited:
        value = row[measure.name]
        if value is None or value >= measure.alike or row["via"] == row["kept"]:
            continue
        if row["kept"] not in least or (value, row["_row"]) < (
            least[row["kept"]][measure.name],
            least[row["kept"]]["_row"],
        ):
            least[row["kept"]] = row
    chosen = sorted(least.values(), key=lambda row: (-(row["cluster_size"] or 0), row[measure.name], row["_row"]))[
        :_CHAINS
    ]
    if not chosen:
        return []
    paths = paths_of(con, chosen[0]["step"], [(row["_row"], row["kept"]) for row in chosen])
    return [
        {
            **{name: row[name] for name in ("step", "operator", "_row", "kept", "cluster_size")},
            "links": len(path) - 1,
            "path": path,
            "measure": measure.name,
            "similarity": row[measure.name],
        }
        for row, path in zip(chosen, paths, strict=True)
    ]


def notes_of(audit: Audit, steps: Sequence[AuditedStep], con: duckdb.DuckDBPyConnection) -> list[str]:
    """Notes on steps of which fewer than half of what they removed is like what stays. con: has the view `audit_summary`."""
    if not audit.audit:
        return []
    unlike = con.execute(f"SELECT step, high, n, threshold, measure, basis FROM ({UNLIKE})").fetchall()
    rows_by_step = {row[0]: row[1:] for row in unlike}
    found = [one.step for one in steps if one.step.index in rows_by_step]
    return [_note(step, rows_by_step[step.index], audit) for step in found]


def _note(step: Any, row: tuple[Any, ...], audit: Audit) -> str:
    high, sampled, threshold, measure, basis = row
    what = "samples are like the one that stays" if basis == "texts" else f"{basis} are like one that stays"
    hubs = [hub for hub in audit.hubs if hub["step"] == step.index and not hub["alike"]]
    why = f" {told(hubs[0]['connected'], hubs[0]['reason'], hubs[0]['excerpt'])}" if hubs else ""
    return (
        f"{step.where}: {step.name}: at most {high:.1%} of the removed {what} ({measure} of at least "
        f"{threshold:g}, {sampled:,} sampled).{why} See the tables hubs, chains and audit. To keep them apart, "
        f"{', or '.join(cures(step.params))}"
    )
