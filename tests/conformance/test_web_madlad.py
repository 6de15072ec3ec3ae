"""Sentences that break rules of MADLAD-400 are those that datamap-rs recorded."""

from __future__ import annotations

import json
import os

import pytest

from tests.compiled import run_samples
from tests.conformance.web_cases import cases, documents
from tests.conformance.web_datamap import madlad_annotator
from tests.recorded_results import VARIABLE

pytestmark = [
    pytest.mark.recorded,
    pytest.mark.skipif(VARIABLE not in os.environ, reason="needs the larger set of recorded results"),
]


def test_annotations() -> None:
    recorded = cases("datamap", "madlad400_sentence_annotator")
    assert len(recorded) == 2
    for case in recorded:
        samples = [{"text": documents()[result["id"]]["text"]} for result in case["results"]]
        rows = run_samples(samples, [madlad_annotator(case["params"]["rules_to_include"])])
        for result, row in zip(case["results"], rows, strict=True):
            found = row["stats"]["madlad"] and json.loads(row["stats"]["madlad"])
            assert (result["id"], row["stats"]["madlad_status"], found) == (
                result["id"],
                result["status"],
                result["madlad"],
            )
