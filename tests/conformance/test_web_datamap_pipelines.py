"""Whole configurations of datamap-rs, without their steps for addresses and models, give the recorded steps and texts."""

from __future__ import annotations

import os
from typing import Any

import pytest
import yaml

from tests.compiled import run_samples
from tests.conformance.web_cases import WEB, cases, documents
from tests.conformance.web_datamap import IGNORED, madlad_annotator
from tests.recorded_results import VARIABLE

pytestmark = [
    pytest.mark.recorded,
    pytest.mark.skipif(VARIABLE not in os.environ, reason="needs the larger set of recorded results"),
]

FOLDERS = {"pipeline_all_dressed": "all_dressed", "pipeline_dclm": "dclm"}
OF_SEVERAL_PEERS = {
    "alphabetic_word_ratio_filter", "stop_word_filter", "substring_line_modifier", "symbol_ratio_filter",
    "word_removal_ratio_filter",
}  # fmt: skip


def step_of(name: str, params: dict[str, Any]) -> dict[str, Any]:
    """The recipe's step for one of the configuration, whose program does not read every parameter."""
    if name == "madlad400_sentence_annotator":
        return madlad_annotator(params["rules_to_include"])
    unread = {key for op, key in IGNORED if op == name} | (
        {"max_length"} if name == "substring_line_modifier" else set()
    )
    given = {key: value for key, value in params.items() if key not in unread}
    return {name: {**({"as": "datamap"} if name in OF_SEVERAL_PEERS else {}), **given}}


@pytest.mark.parametrize("op", sorted(FOLDERS))
def test_pipelines(op: str) -> None:
    (case,) = cases("datamap", op)
    path = WEB / "configs" / "datamap-rs" / FOLDERS[op] / case["params"]["config"]
    steps = list(enumerate(yaml.safe_load(path.read_text(encoding="utf-8"))["pipeline"]))
    taken = [(at, step) for at, step in steps if step["name"] not in case["params"]["skipped"]]
    process = [step_of(step["name"], step.get("kwargs") or {}) for _, step in taken]
    texts = [documents()[result["id"]]["text"] for result in case["results"]]
    rows = run_samples([{"text": text} for text in texts], process)
    for result, text, row in zip(case["results"], texts, rows, strict=True):
        step = None if row["dropped"] is None else taken[row["dropped"] - 1][0]
        found = (result["id"], row["error"], row["kept"], step, row["text"] if row["kept"] else None)
        wanted = result.get("text", text) if result["keep"] else None
        assert found == (result["id"], None, result["keep"], result.get("step"), wanted)
