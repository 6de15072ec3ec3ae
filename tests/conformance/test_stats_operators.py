"""The statistics of every recorded document, against datatrove 0.10.1's: per document, block by block."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.library import Library

OPERATORS = {
    "DocStats": "doc_stats",
    "LineStats": "line_stats",
    "ParagraphStats": "paragraph_stats",
    "TokenStats": "token_stats",
}


def lines(path: Path) -> list[dict[str, Any]]:
    """JSON lines; texts hold further line ends unescaped."""
    return [json.loads(line) for line in path.read_bytes().decode().split("\n") if line]


def measured(
    documents: Sequence[dict[str, Any]], folder: Path, *steps: dict[str, Any]
) -> dict[str, dict[str, int | float | None]]:
    """The statistics of each document by its id."""
    source = folder / "docs.jsonl"
    source.write_bytes("".join(json.dumps(d, ensure_ascii=False) + "\n" for d in documents).encode())
    recipe = {"dataset_path": str(source), "export_path": str(folder / "out.jsonl"), "process": list(steps), "np": 1}
    run = refinery.run(recipe)
    assert run.counts.kept == len(documents)
    names = [row[0] for row in run.sql("DESCRIBE stats")][2:]
    rows = run.sql("SELECT * EXCLUDE (_row, kept) FROM stats ORDER BY _row")
    return {d["id"]: dict(zip(names, row, strict=True)) for d, row in zip(documents, rows, strict=True)}


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        if isinstance(value, int):
            assert found[name] == value and isinstance(found[name], int), name
        else:
            assert found[name] == pytest.approx(value, rel=1e-9, abs=0), name


@pytest.fixture(scope="session")
def datatrove(recorded: Path) -> Path:
    return recorded / "datatrove"


def test_values_of_every_document(datatrove: Path, tmp_path: Path) -> None:
    expected = {line["id"]: line["values"] for line in lines(datatrove / "stats" / "per_doc.jsonl")}
    documents = lines(datatrove / "docs.jsonl")
    found = measured(documents, tmp_path, *({name: {}} for name in OPERATORS.values()))
    assert len(found) == len(expected) == 415
    for id, values in found.items():
        same(values, {name: value for name, value in expected[id].items() if name in values})
    names = {name for values in expected.values() for name in values}
    assert {name for values in found.values() for name in values} <= names


VARIANTS = [
    ("lines_no_thresholds", {}),
    ("lines_skip_empty", {}),
    ("lang_from_metadata", {}),
]


@pytest.mark.parametrize(("name", "more"), VARIANTS, ids=[name for name, _ in VARIANTS])
def test_variant(name: str, more: dict[str, Any], datatrove: Path, tmp_path: Path) -> None:
    variant = json.loads((datatrove / "stats" / "variants" / f"{name}.json").read_bytes())
    operator = Library().operators[{**OPERATORS, "LangStats": "lang_stats"}[variant["class"]]]
    params = {n: v for n, v in variant["kwargs"].items() if n in operator.params} | more
    documents = [d for d in lines(datatrove / "docs.jsonl") if d["id"] in variant["per_doc"]]
    found = measured(documents, tmp_path, {operator.name: params})
    assert len(found) == variant["n_docs"]
    for id, expected in variant["per_doc"].items():
        assert set(found[id]) == set(expected)
        same(found[id], expected)
