"""Recorded cases of filters on fastText's labels: Data-Juicer's language_id_score_filter, two filters of datatrove."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import refinery
from refinery.kernels.models import fasttext
from tests.conformance.test_data_juicer import documents, run
from tests.conftest import RECORDED
from tests.kernels.models.fasttext_writer import Recipe
from tests.kernels.models.fasttext_writer import model as written
from tests.kernels.models.test_fasttext import published
from tests.runs import write_lines
from tests.sampling import first_of_each

__all__ = ["documents"]

LANGUAGE_ID = "language_id_score_filter"
JUICER, TROVE = RECORDED / "data_juicer", RECORDED / "datatrove"


def lines(path: Path) -> list[Any]:
    """JSON lines; none without the file."""
    return [json.loads(line) for line in path.read_bytes().decode().split("\n") if line] if path.is_file() else []


def cases(path: Path) -> list[Any]:
    """Cases of a file, one of each model in `make test`."""
    found = [pytest.param(case, id=str(at)) for at, case in enumerate(lines(path))]
    return first_of_each(found, lambda case: case.get("models") or case.get("model"))


@pytest.mark.parametrize("case", cases(JUICER / "ops_models" / "language_id_score_filter.jsonl"))
def test_language_id(case: dict[str, Any], documents: Path, tmp_path: Path) -> None:
    folder = case["models"]
    model = published() if folder == "lid.176.ftz" else JUICER / folder / "lid.176.bin"
    done = run([{LANGUAGE_ID: {**case["params"], "model": str(model)}}], documents, tmp_path)
    given = [document["id"] for document in lines(documents)]
    measured = {
        given[row]: (lang, score)
        for row, lang, score in done.sql("SELECT _row, lang, lang_score FROM stats").fetchall()
    }
    assert measured == {r["id"]: (r["stats"]["lang"], r["stats"]["lang_score"]) for r in case["results"]}
    assert kept(done, given) == {result["id"] for result in case["results"] if result["keep"]}
    assert done.counts.quarantined == 0


@pytest.mark.parametrize("case", cases(JUICER / "ops" / "language_id_score_filter.jsonl"))
def test_rule_of_language_id(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recorded on samples whose language and score are given, which take the place of a model's answers here."""
    answers = {sample["text"]: sample["__dj__stats__"] for sample in case["input"]}

    def best_labels(column: pa.Array, *_: Any) -> pa.Array:
        found = [answers[text] for text in column.to_pylist()]
        values = [{"label": a["lang"], "score": a["lang_score"], "scores": []} for a in found]
        return pa.array(
            values, pa.struct([("label", "string"), ("score", "double"), ("scores", pa.list_(pa.float64()))])
        )

    monkeypatch.setattr(fasttext, "best_labels", best_labels)
    model, source = tmp_path / "model.bin", tmp_path / "docs.jsonl"
    model.write_bytes(written(Recipe()))
    write_lines(source, [{"id": sample["id"], "text": sample["text"]} for sample in case["input"]])
    done = run([{LANGUAGE_ID: {**case["params"], "model": str(model)}}], source, tmp_path)
    given = [sample["id"] for sample in case["input"]]
    assert kept(done, given) == {result["id"] for result in case["results"] if result["keep"]}


def kept(done: refinery.Run, given: Sequence[Any]) -> set[Any]:
    removed = {given[row] for (row,) in done.sql("SELECT _row FROM ledger").fetchall()}
    return set(given) - removed


@pytest.fixture(scope="module")
def trove(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """datatrove's documents, without an empty text being left out."""
    path = tmp_path_factory.mktemp("trove") / "docs.jsonl"
    path.write_bytes((TROVE / "docs.jsonl").read_bytes())
    return path


def decided(step: dict[str, Any], source: Path, folder: Path) -> tuple[refinery.Run, list[str]]:
    recipe = {"dataset_path": str(source), "export_path": str(folder / "out.jsonl"), "process": [step], "np": 1}
    done = refinery.run(recipe)
    assert done.counts.quarantined == 0
    return done, [document["id"] for document in lines(source)]


@pytest.mark.parametrize("case", cases(TROVE / "filters" / "LanguageFilter.jsonl"))
def test_datatrove_languages(case: dict[str, Any], trove: Path, tmp_path: Path) -> None:
    model = str(JUICER / "assets" / case["model"] / "lid.176.bin")
    done, given = decided({"language_filter": {**case["params"], "model": model}}, trove, tmp_path)
    assert kept(done, given) == {result["id"] for result in case["results"] if result["keep"]}
    rows = done.sql("SELECT _row, language, language_score FROM stats").fetchall()
    assert {given[row]: (language, score) for row, language, score in rows} == {
        r["id"]: (r["metadata"]["language"], r["metadata"]["language_score"]) for r in case["results"]
    }
    if "keep_top_pairs_threshold" in case["params"]:
        top = f"top_language_{case['params']['languages']}_score"
        rows = done.sql(f"SELECT _row, {top} FROM stats").fetchall()
        assert {given[row]: score for row, score in rows} == {r["id"]: r["metadata"].get(top) for r in case["results"]}


@pytest.mark.parametrize("case", cases(TROVE / "filters" / "FastTextClassifierFilter.jsonl"))
def test_datatrove_classifier(case: dict[str, Any], trove: Path, tmp_path: Path) -> None:
    params = case["params"]
    wanted = params.get("keep_labels") or params["remove_labels"]
    thresholds = {label: score for label, score in wanted}
    step = {
        "model": str(JUICER / "assets" / case["model"] / "lid.176.bin"),
        "labels": list(thresholds),
        "thresholds": thresholds,
        "min_score": min(thresholds.values()),
        "newline_replacement": params.get("newline_replacement", ""),
        "reversed_range": "remove_labels" in params,
        "min_closed_interval": True,
    }
    done, given = decided({"fasttext_filter": step}, trove, tmp_path)
    columns = ", ".join(f"fasttext_{label}" for label in thresholds)
    for row, *scores in done.sql(f"SELECT _row, {columns} FROM stats").fetchall():
        metadata = next(result["metadata"] for result in case["results"] if result["id"] == given[row])
        assert scores == [metadata.get(f"__label__{label}") for label in thresholds]
    blank = {document["id"] for document in lines(trove) if not document["text"].strip()}  # datatrove removes these
    assert kept(done, given) - blank == {result["id"] for result in case["results"] if result["keep"]}
