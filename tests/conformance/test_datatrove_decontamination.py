"""datatrove's n-gram decontamination, against the recorded verdicts of 0.10.1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.compiled import run_samples
from tests.conftest import RECORDED

DATATROVE = RECORDED / "datatrove"
FOLDER = DATATROVE / "decontamination"


def lines(path: Path) -> list[dict[str, Any]]:
    """JSON lines; texts hold further line ends unescaped."""
    return [json.loads(line) for line in path.read_bytes().decode().split("\n") if line] if path.is_file() else []


@pytest.mark.parametrize("case", lines(FOLDER / "results.jsonl") or [{}], ids=lambda case: str(case.get("params")))
def test_removed_documents_with_ngrams_and_tasks(case: dict[str, Any]) -> None:
    if not case:
        pytest.skip("no recorded results")
    documents = lines(DATATROVE / "docs.jsonl")
    step = {"ngram_decontamination_filter": {"evaluation": str(FOLDER / "evaluation.jsonl"), **case["params"]}}
    rows = run_samples(documents, [step])
    assert {row["error"] for row in rows} == {None}
    removed = {
        document["id"]: (row["reason"], row["stats"]["contaminated_ngram"], row["stats"]["contaminated_task"])
        for document, row in zip(documents, rows, strict=True)
        if not row["kept"]
    }
    expected = {
        one["id"]: ("contaminated", one["ngram"], ", ".join(sorted(one["tasks"]))) for one in case["contaminated"]
    }
    assert removed == expected
