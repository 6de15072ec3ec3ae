"""Public configurations of the web's corpora: all are translated, and whole pipelines remove the recorded samples."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from refinery.operators import Library
from refinery.recipe.peers.detect import translate
from refinery.recipe.peers.model import Item, Translation
from refinery.recipe.peers.write import recipe_text
from tests.compiled import run_samples
from tests.conformance.web_cases import WEB, cases, documents
from tests.recorded_results import VARIABLE

pytestmark = [
    pytest.mark.recorded,
    pytest.mark.skipif(VARIABLE not in os.environ, reason="needs the larger set of recorded results"),
]

CONFIGS = WEB / "configs"
FILES = sorted(path for path in CONFIGS.rglob("*.y*ml"))

# Steps of the public files that have no translation; each file names the reason.
_JIGSAW = {
    "hatespeech_nsfw_cc_v3__jigsaw_hatespeech_sentence_v2____label__toxic": 1,
    "hatespeech_nsfw_cc_v3__jigsaw_nsfw_sencence_v2____label__nsfw": 1,
}
MISSING = {
    "dolma/c4.yaml": {**_JIGSAW, "bff_duplicate_paragraph_spans_decontamination": 1},
    "dolma/cc-head.yaml": _JIGSAW,
    "dclm/c4.yaml": {"exact_dedup": 2, "detect_lang_whole_page_enricher": 1, "language_filter": 1},
    "dolma/tokenizer.yaml": {"tokens": 1},
    "dolma/c4-replication_mixer.yaml": {"filter.exclude": 2},
    "dolma/c4-replication_tagger.yaml": {"ft_lang_id_en_doc_v2": 1},
    "nemo-curator/fasttext_filter_pipeline.yaml": {"FastTextQualityFilter": 1},
    "nemo-curator/code_filter_pipeline.yaml": {"TokenizerFertilityFilter": 1},
    "nemo-curator/semantic_deduplication_pipeline.yaml": {"TextSemanticDeduplicationWorkflow": 1},
}


def translated(path: Path) -> Translation:
    found = translate(path.read_text(encoding="utf-8"), str(path), Library().operators)
    assert found is not None, f"{path} belongs to no tool"
    return found


def test_there_are_configurations() -> None:
    assert len(FILES) >= 60


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CONFIGS)))
def test_every_step_is_translated_or_named(path: Path) -> None:
    found = translated(path)
    name = str(path.relative_to(CONFIGS))
    wanted = {"ultrafineweb_annotator": 1} if "/classifiers/" in name else MISSING.get(name, {})
    assert Counter(item.name for item in found.missing) == Counter(wanted)
    assert found.items
    recipe = yaml.safe_load(recipe_text(found, str(path), {}))
    assert recipe["process"] == [step for item in found.items for step in item.steps]


def steps_of(found: Translation, skipped: set[str]) -> tuple[list[dict[str, Any]], list[int]]:
    """Steps of a recipe without some of the tool's, and the number of each in the tool's file."""
    steps, numbers = [], []
    for number, item in enumerate(found.items):
        for step in item.steps:
            if item.name not in skipped and not {*step} & skipped:
                steps.append(_local(step))
                numbers.append(number)
    return steps, numbers


def _local(step: Mapping[str, Any]) -> dict[str, Any]:
    """A step with the list of MADLAD that is among the configurations."""
    [(name, params)] = [(name, params) for name, params in step.items() if name != "name"]
    params = dict(params or {})
    if "cursed_regex_file" in params:
        params["cursed_regex_file"] = str(CONFIGS / "datamap-rs" / "banlists" / "madlad400_cursed.txt.gz")
    return {name: params}


@pytest.mark.parametrize(
    ("peer", "op", "folder"),
    [
        ("dclm", "pipeline_dclm_baseline_refinedweb", "dclm"),
        ("datamap", "pipeline_all_dressed", "datamap-rs/all_dressed"),
        ("datamap", "pipeline_dclm", "datamap-rs/dclm"),
        ("nemo", "pipeline_heuristic_filter_english_pipeline", "nemo-curator"),
        ("nemo", "pipeline_heuristic_filter_non_english_pipeline", "nemo-curator"),
    ],
)
def test_pipelines_remove_the_recorded_samples(peer: str, op: str, folder: str) -> None:
    """The same samples stay with the same texts, and the others go at the same step of the tool's file."""
    for case in cases(peer, op):
        config = case["params"]["config"]
        found = translated(CONFIGS / folder / config)
        steps, numbers = steps_of(found, set(case["params"].get("skipped", ())))
        docs = [documents()[result["id"]] for result in case["results"]]
        rows = run_samples([{"text": doc["text"], "url": doc.get("url")} for doc in docs], steps)
        wrong = []
        for result, doc, row in zip(case["results"], docs, rows, strict=True):
            if "error" in result or result.get("keep") is None:
                continue
            place = (
                None if row["dropped"] is None else numbers[row["dropped"] - 1] + (peer == "nemo")
            )  # after its reader
            ours = (row["kept"], place, row["text"] if row["kept"] else None)
            kept = result["keep"]
            theirs = (
                kept,
                None if kept else _place(result, found.items),
                result.get("text", doc["text"]) if kept else None,
            )
            if ours != theirs:
                wrong.append(
                    f"{result['id']}: {json.dumps(ours)[:200]} ({row['reason']}), recorded {json.dumps(theirs)[:200]}"
                )
        assert not wrong, f"{len(wrong)} of {len(docs)} differ\n" + "\n".join(wrong[:6])


def _place(result: Mapping[str, Any], items: list[Item]) -> int:
    return int(result.get("step", result.get("stage", -1)))
