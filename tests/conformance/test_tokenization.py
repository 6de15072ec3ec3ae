"""Every recorded case of Data-Juicer's filters with `tokenization: true`, with its models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.test_data_juicer import check_filter, documents, lines_of, parameters, run
from tests.conftest import RECORDED

__all__ = ["documents"]

HOME = RECORDED / "data_juicer" / "ops_models"
NAMES = ("words_num", "word_repetition", "flagged_words", "stopwords", "alphanumeric")


def cases() -> list[Any]:
    found = []
    for name in NAMES:
        path = HOME / f"{name}_filter.jsonl"
        lines = path.read_bytes().decode().rstrip("\n").split("\n") if path.is_file() else []
        found += [pytest.param(f"{name}_filter", json.loads(line), id=f"{name}-{at}") for at, line in enumerate(lines)]
    return found


@pytest.mark.parametrize(("name", "case"), cases())
def test_recorded_case(name: str, case: dict[str, Any], documents: Path, tmp_path: Path) -> None:
    models = case["models"]
    if name == "alphanumeric_filter":
        pytest.importorskip("tokenizers")
        file = {"tokenizer": models}
    else:
        file = {"model": f"{models}/{case['params'].get('lang', 'en')}.sp.model"}
    done = run([{name: parameters({"params": case["params"] | file})}], documents, tmp_path)
    given = list(lines_of(documents))
    check_filter(case, dict.fromkeys(given), done)
    (stat,) = case["results"][0]["stats"]
    measured = {given[row]: value for row, value in done.sql(f"SELECT _row, {stat} FROM stats").fetchall()}
    assert measured == {result["id"]: result["stats"][stat] for result in case["results"]}
    assert done.counts.quarantined == 0
