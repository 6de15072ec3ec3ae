"""Every recorded case of Data-Juicer's perplexity_filter, with its models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.test_data_juicer import check_filter, documents, parameters, run
from tests.conftest import RECORDED

__all__ = ["documents"]

CASES = RECORDED / "data_juicer" / "ops_models" / "perplexity_filter.jsonl"


def cases() -> list[Any]:
    lines = CASES.read_bytes().decode().rstrip("\n").split("\n") if CASES.is_file() else []
    return [pytest.param(json.loads(line), id=str(at)) for at, line in enumerate(lines)]


@pytest.mark.parametrize("case", cases())
def test_recorded_case(case: dict[str, Any], documents: Path, tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    models = f"{case['models']}/{case['params'].get('lang', 'en')}"
    files = {"model": f"{models}.arpa.bin", "tokenizer_model": f"{models}.sp.model"}
    params = parameters({"params": {**case["params"], **files}})
    done = run([{"perplexity_filter": params}], documents, tmp_path)
    given = [json.loads(line)["id"] for line in documents.read_bytes().decode().rstrip("\n").split("\n")]
    check_filter(case, dict.fromkeys(given), done)
    measured = {given[row]: value for row, value in done.sql("SELECT _row, perplexity FROM stats").fetchall()}
    assert measured == {result["id"]: result["stats"]["perplexity"] for result in case["results"]}
    assert done.counts.quarantined == 0
