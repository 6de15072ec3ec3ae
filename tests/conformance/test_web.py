"""Operators of the web's corpora give the recorded verdicts, texts, reasons and values of DCLM, datamap-rs, NeMo, dolma and datatrove.

Each module `web_*.py` beside this one translates operators of a peer: `STEPS` has a function by peer and operator that makes
the steps for recorded parameters; `KNOWN` has ids of documents that differ, with the reason; `LEFT` has recorded operators
without a translation, with the reason.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.web_cases import Translation, cases, differences, recorded_operators
from tests.recorded_results import VARIABLE

pytestmark = pytest.mark.recorded
LARGER = VARIABLE in os.environ

MODULES = [
    importlib.import_module(f"tests.conformance.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("web_*.py"))
    if path.stem != "web_cases"
]
STEPS: dict[tuple[str, str], Translation] = {key: value for module in MODULES for key, value in module.STEPS.items()}
KNOWN: dict[tuple[str, str], dict[Any, str]] = {
    key: value for module in MODULES for key, value in getattr(module, "KNOWN", {}).items()
}
LEFT: dict[tuple[str, str], str] = {
    key: value for module in MODULES for key, value in getattr(module, "LEFT", {}).items()
}
# Operators whose results need a published file (a list or a configuration), which is in the larger set alone.
IN_LARGER_SET = {
    ("datamap", "madlad400_rule_filter"),
    ("datamap", "madlad400_sentence_annotator"),
    ("dclm", "url_removal_modifier"),
    *((peer, op) for peer, op in (*STEPS, *LEFT) if op.startswith("pipeline_")),
}


@pytest.mark.parametrize(("peer", "op"), sorted(STEPS))
def test_results_are_the_recorded_ones(peer: str, op: str) -> None:
    recorded = cases(peer, op)
    if not recorded and (peer, op) in IN_LARGER_SET and not LARGER:
        pytest.skip("needs the larger set of recorded results")
    assert recorded, f"no recorded results of {peer} {op}"
    for case in recorded:
        found = differences(case, STEPS[peer, op](case["params"]), KNOWN.get((peer, op), {}))
        assert not found, f"{case['params']}: {len(found)} of {len(case['results'])} differ\n" + "\n".join(found[:8])


def test_every_recorded_operator_is_translated_or_named() -> None:
    named = {*STEPS} | {*LEFT}
    assert {*recorded_operators()} == (named if LARGER else named - IN_LARGER_SET)
    assert not {*STEPS} & {*LEFT}
