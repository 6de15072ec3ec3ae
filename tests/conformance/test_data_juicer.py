"""Every recorded case of Data-Juicer 1.6.1, run as a recipe from file to file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.errors import RecipeError
from refinery.operators import Library
from tests.conformance.recorded import cases
from tests.conftest import RECORDED

OPERATORS = sorted(
    name
    for name, operator in Library().operators.items()
    if operator.kind in ("mapper", "filter") and not name.startswith("sql_")
)


@pytest.fixture(scope="session")
def documents(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded documents; `suffix` also under the name of the column that suffix_filter reads."""
    path = tmp_path_factory.mktemp("recorded") / "docs.jsonl"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in (recorded / "data_juicer" / "docs.jsonl").read_bytes().decode().rstrip("\n").split("\n"):
            document = json.loads(line)
            file.write(json.dumps(document | {"__dj__suffix__": document["suffix"]}, ensure_ascii=False) + "\n")
    return path


def parameters(case: dict[str, Any]) -> dict[str, Any]:
    """The case's parameters, asset paths made absolute."""
    home = RECORDED / "data_juicer"
    return {
        n: str(home / v) if isinstance(v, str) and v.startswith("assets/") else v for n, v in case["params"].items()
    }


def run(case: dict[str, Any], name: str, documents: Path, folder: Path) -> refinery.Run:
    recipe = {
        "dataset_path": str(documents),
        "export_path": str(folder / "out.jsonl"),
        "process": [{name: parameters(case)}],
        "np": 1,
    }
    return refinery.run(recipe)


def exported(run: refinery.Run) -> dict[int, dict[str, Any]]:
    lines = run.outputs[0].read_bytes().decode().split("\n")
    return {document["id"]: document for document in map(json.loads, filter(None, lines))}


@pytest.mark.parametrize(("name", "case"), cases(OPERATORS))
def test_recorded_case(name: str, case: dict[str, Any], documents: Path, tmp_path: Path) -> None:
    if case["error"]:
        with pytest.raises(RecipeError):
            run(case, name, documents, tmp_path)
        return
    done = run(case, name, documents, tmp_path)
    given = {d["id"]: d for d in map(json.loads, documents.read_bytes().decode().rstrip("\n").split("\n"))}
    if name.endswith("_mapper"):
        check_mapper(case, given, exported(done))
    else:
        check_filter(case, given, done)
    assert done.counts.quarantined == 0


def check_mapper(case: dict[str, Any], given: dict[int, Any], out: dict[int, Any]) -> None:
    key = case["params"].get("text_key", "text")
    expected = {result["id"]: result["output"] for result in case["results"]}
    assert sorted(expected) + sorted(case["unchanged"]) != [] and set(out) == set(given)
    wrong = {i: (out[i][key], text) for i, text in expected.items() if out[i][key] != text}
    assert not wrong
    for i in case["unchanged"]:
        assert out[i] == given[i]
    for i in expected:
        assert {k: v for k, v in out[i].items() if k != key} == {k: v for k, v in given[i].items() if k != key}


def check_filter(case: dict[str, Any], given: dict[int, Any], done: refinery.Run) -> None:
    ids = list(given)
    kept = set(exported(done))
    assert kept == {result["id"] for result in case["results"] if result["keep"]}
    removed = {ids[row] for (row,) in done.sql("SELECT _row FROM ledger")}
    assert removed == {result["id"] for result in case["results"] if not result["keep"]}
    names = sorted(case["results"][0]["stats"])
    if not names:
        return
    columns = ", ".join(f'"{name}"' for name in names)
    measured = {ids[row]: values for row, *values in done.sql(f"SELECT _row, {columns} FROM stats")}
    for result in case["results"]:
        for name, value in zip(names, measured[result["id"]], strict=True):
            assert value == pytest.approx(result["stats"][name], rel=1e-9, abs=0), (result["id"], name)
