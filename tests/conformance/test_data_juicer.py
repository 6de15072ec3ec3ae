"""Every recorded case of Data-Juicer 1.6.1, run as a recipe from file to file."""

from __future__ import annotations

import json
from collections.abc import Set
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.errors import RecipeError
from refinery.operators import Library
from tests.conformance.recorded import cases
from tests.conftest import RECORDED
from tests.runs import write_lines

OPERATORS = sorted(
    name
    for name, operator in Library().operators.items()
    if operator.kind in ("mapper", "filter")
    and not name.startswith("sql_")
    and name != "language_id_score_filter"  # its cases have input of their own: test_languages
)
MAPPERS = [
    name
    for name in OPERATORS
    if name.endswith("_mapper") and (RECORDED / "data_juicer" / "ops" / f"{name}.jsonl").is_file()
]


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


def run(steps: list[Any], documents: Path, folder: Path) -> refinery.Run:
    recipe = {"dataset_path": str(documents), "export_path": str(folder / "out.jsonl"), "process": steps, "np": 1}
    return refinery.run(recipe)


def lines_of(path: Path) -> dict[int, dict[str, Any]]:
    """Documents by their id."""
    lines = path.read_bytes().decode().split("\n")
    return {document["id"]: document for document in map(json.loads, filter(None, lines))}


@pytest.mark.parametrize(("name", "case"), cases(OPERATORS, together=MAPPERS))
def test_recorded_case(name: str, case: dict[str, Any], documents: Path, tmp_path: Path) -> None:
    if case["error"]:
        with pytest.raises(RecipeError):
            run([{name: parameters(case)}], documents, tmp_path)
        return
    done = run([{name: parameters(case)}], documents, tmp_path)
    given = lines_of(documents)
    if name.endswith("_mapper"):
        check_mapper(case, given, lines_of(done.outputs[0]), case["params"].get("text_key", "text"))
    else:
        check_filter(case, given, done)
    assert done.counts.quarantined == 0


def test_the_first_case_of_every_mapper(documents: Path, tmp_path: Path) -> None:
    """In one run, each on a field of its own."""
    first = {}
    for name, case in (param.values for param in reversed(cases(MAPPERS))):
        if not case["error"]:
            first[name] = case
    assert first.keys() == {*MAPPERS}
    beside = [document | dict.fromkeys(first, document["text"]) for document in lines_of(documents).values()]
    path = write_lines(tmp_path / "docs.jsonl", beside)
    done = run([{name: parameters(case) | {"text_key": name}} for name, case in first.items()], path, tmp_path)
    given, out = lines_of(path), lines_of(done.outputs[0])
    for name, case in first.items():
        others = first.keys() - {name}
        check_mapper(case, *({i: left(d, others) for i, d in found.items()} for found in (given, out)), name)
    assert done.counts.quarantined == 0


def left(document: dict[str, Any], without: Set[str]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in without}


def check_mapper(case: dict[str, Any], given: dict[int, Any], out: dict[int, Any], key: str) -> None:
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
    kept = set(lines_of(done.outputs[0]))
    assert kept == {result["id"] for result in case["results"] if result["keep"]}
    removed = {ids[row] for (row,) in done.sql("SELECT _row FROM ledger").fetchall()}
    assert removed == {result["id"] for result in case["results"] if not result["keep"]}
    names = sorted(case["results"][0]["stats"])
    if not names:
        return
    columns = ", ".join(f'"{name}"' for name in names)
    measured = {ids[row]: values for row, *values in done.sql(f"SELECT _row, {columns} FROM stats").fetchall()}
    for result in case["results"]:
        for name, value in zip(names, measured[result["id"]], strict=True):
            assert value == pytest.approx(result["stats"][name], rel=1e-9, abs=0), (result["id"], name)
