"""Every recorded case of Data-Juicer's deduplicators, run as a recipe from file to file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.errors import RecipeError
from tests.conformance.recorded import cases
from tests.conftest import RECORDED

OPERATORS = (
    "document_deduplicator",
    "document_minhash_deduplicator",
    "document_simhash_deduplicator",
    "document_line_deduplicator",
)


def given(case: dict[str, Any], folder: Path) -> Path:
    """The case's input: a recorded file, or the documents that stand in the case itself."""
    name = case.get("input", "docs.jsonl")
    if isinstance(name, str):
        return RECORDED / "data_juicer" / name
    path = folder / "given.jsonl"
    path.write_text("".join(json.dumps(document) + "\n" for document in name), encoding="utf-8")
    return path


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().decode().split("\n") if line]


@pytest.mark.parametrize(("name", "case"), cases(OPERATORS))
def test_recorded_case(recorded: Path, name: str, case: dict[str, Any], tmp_path: Path) -> None:
    path = given(case, tmp_path)
    recipe = {
        "dataset_path": str(path),
        "export_path": str(tmp_path / "out.jsonl"),
        "process": [{name: case["params"]}],
        "np": 2,
    }
    if case["error"]:
        with pytest.raises(RecipeError):
            refinery.run(recipe)
        return
    run = refinery.run(recipe)
    out = lines_of(run.outputs[0])
    assert [document["id"] for document in out] == case["kept"]
    assert run.counts.quarantined == 0
    if name == "document_line_deduplicator":
        changed = {result["id"]: result["output"] for result in case["results"]}
        expected = {d["id"]: changed.get(d["id"], d.get("text")) for d in lines_of(path)}
        assert {d["id"]: d["text"] for d in out} == expected
    else:
        check_clusters(case, run, [d["id"] for d in lines_of(path)])


def check_clusters(case: dict[str, Any], run: refinery.Run, ids: list[int]) -> None:
    """The clusters are the recorded groups; every removed row names the one that stays."""
    found: dict[int, list[int]] = {}
    for cluster, row in run.sql("SELECT cluster, _row FROM clusters").fetchall():
        found.setdefault(cluster, []).append(ids[row])
    assert sorted(sorted(group) for group in found.values()) == sorted(sorted(group) for group in case["groups"])
    survivors = {min(group): set(group) for group in case["groups"]}
    for row, kept in run.sql("SELECT _row, kept_instead FROM ledger").fetchall():
        assert ids[row] in survivors[ids[kept]]
