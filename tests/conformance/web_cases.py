"""Recorded results of the web's peers (DCLM, datamap-rs, NeMo Curator, dolma, datatrove by language), as cases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.compiled import run_samples
from tests.conftest import RECORDED
from tests.recorded_results import web_results

WEB = web_results()
VECTORS = WEB / "vectors"
PEERS = ("dclm", "datamap", "nemo", "dolma", "fineweb2")


@dataclass(frozen=True)
class Steps:
    """A recipe's steps for a recorded case, and the names of statistics in place of the peer's.

    value: statistic that is compared with `value` or `score`. document: statistics by dolma's types, empty for a type that
    is not compared. fields: function that makes further fields of a sample from its document. columns: their types in DuckDB.
    """

    process: list[Any]
    value: str = ""
    document: Mapping[str, str] | None = None
    fields: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None
    columns: Mapping[str, str] = field(default_factory=dict)


# Steps of a peer's operator with the recorded parameters.
Translation = Callable[[Mapping[str, Any]], Steps]


@lru_cache(maxsize=1)
def documents() -> dict[Any, dict[str, Any]]:
    """All documents and addresses by id; those of other collections by the names that `vectors/fineweb2` uses."""
    found: dict[Any, dict[str, Any]] = {}
    for name in ("docs.jsonl", "urls.jsonl", "fineweb2/docs.jsonl"):
        found |= {one["id"]: one for one in read_lines(VECTORS / name)}
    for name in ("datatrove", "data_juicer"):
        found |= {f"{name}:{one['id']}": one for one in read_lines(RECORDED / name / "docs.jsonl")}
    return found


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSONL file; lines end with a line feed only."""
    return [json.loads(line) for line in path.read_bytes().decode().split("\n") if line]


def cases(peer: str, op: str) -> list[dict[str, Any]]:
    """Recorded cases of one operator of a peer."""
    path = VECTORS / peer / f"{op}.jsonl"
    found = read_lines(path) if path.is_file() else []
    for case, after in pairwise(found):
        if "documents" in case:  # a case without documents of its own is about those of the case before it
            after.setdefault("documents", case["documents"])
    return found


def recorded_operators() -> list[tuple[str, str]]:
    """Peers and their operators that have recorded results."""
    return sorted(
        (peer, path.stem) for peer in PEERS for path in (VECTORS / peer).glob("*.jsonl") if path.stem != "docs"
    )


def differences(case: Mapping[str, Any], steps: Steps, known: Iterable[Any] = ()) -> list[str]:
    """Results of a case that differ from the recorded ones, as sentences. known: ids that are left out."""
    given = {one["id"]: one for one in case.get("documents", ())}
    results = [result for result in case["results"] if result["id"] not in set(known)]
    docs = [{**documents().get(r["id"], {}), **given.get(r["id"], {}), **r.get("page", {})} for r in results]
    samples = [_sample(doc, steps) for doc in docs]
    rows = run_samples(samples, steps.process, columns=dict(steps.columns))
    return [
        f"{result['id']}: {difference}"
        for result, sample, row in zip(results, samples, rows, strict=True)
        for difference in _differences(result, sample, row, steps)
    ]


def _sample(doc: Mapping[str, Any], steps: Steps) -> dict[str, Any]:
    fields = {name: value for name, value in doc.items() if name not in ("id", "ref")}
    return {"text": "", **fields, **(steps.fields(doc) if steps.fields else {})}


def _differences(
    result: Mapping[str, Any], sample: Mapping[str, Any], row: Mapping[str, Any], steps: Steps
) -> list[str]:
    """Differences between one recorded result and our row. Where the peer fails, ours is not judged."""
    if "error" in result:
        return []
    if row["error"] is not None:
        return [f"quarantined: {row['error']}"]
    found = []
    if result.get("keep") is not None and row["kept"] is not result["keep"]:
        found.append(f"kept {row['kept']}, recorded {result['keep']} ({row['reason']}, {row['stats']})")
    elif row["kept"] and result.get("keep", True) and isinstance(result.get("text", ""), str):
        wanted = result.get("text", sample["text"])
        if row["text"] != wanted:
            found.append(f"text {row['text'][:200]!r}, recorded {wanted[:200]!r}")
    elif "reason" in result and row["reason"] != result["reason"]:
        found.append(f"reason {row['reason']}, recorded {result['reason']}")
    return found + _other_values(result, row["stats"], steps)


def _other_values(result: Mapping[str, Any], stats: Mapping[str, Any], steps: Steps) -> list[str]:
    found = []
    recorded = [result[name] for name in ("value", "score") if steps.value and name in result]
    wanted = {steps.value: recorded[0]} if recorded else {}
    for type_, value in result.get("document", {}).items() if steps.document is not None else ():
        if name := steps.document.get(type_, type_):
            wanted[name] = value
    for name, value in wanted.items():
        if stats[name] != pytest.approx(value, rel=1e-9, abs=1e-12):
            found.append(f"{name} {stats[name]}, recorded {value}")
    if steps.value and "score_min" in result:
        low, high = result["score_min"] * (1 - 1e-9) - 1e-12, result["score_max"] * (1 + 1e-9) + 1e-12
        if not low <= stats[steps.value] <= high:
            found.append(f"{steps.value} {stats[steps.value]}, recorded {low} to {high}")
    return found
