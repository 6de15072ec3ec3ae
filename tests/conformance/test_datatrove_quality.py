"""datatrove's filters of quality and repetition, and FineWeb's and FineWeb-2's use of them, against recorded results of 0.10.1."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from refinery.kernels.words import language_words
from tests.compiled import run_samples
from tests.conformance.web_cases import VECTORS, WEB, documents, read_lines
from tests.conftest import RECORDED

pytestmark = pytest.mark.recorded

FOLDER = RECORDED / "datatrove" / "filters"
FILTERS = {
    "GopherQualityFilter": "gopher_quality_filter",
    "FineWebQualityFilter": "fineweb_quality_filter",
    "GopherRepetitionFilter": "gopher_repetition_filter",
    "C4QualityFilter": "c4_quality_filter",
    "C4ParagraphFilter": "c4_paragraph_filter",
}


def recorded(name: str) -> list[dict[str, Any]]:
    """Recorded cases of a filter; a test without any is skipped."""
    path = FOLDER / f"{name}.jsonl"
    return read_lines(path) if path.is_file() else []


CASES = [pytest.param(name, case, id=f"{name}-{at}") for name in FILTERS for at, case in enumerate(recorded(name))]
NONE = [pytest.param("", {}, id="no-recorded-results")]


def differences(case: Mapping[str, Any], docs: Mapping[str, Any], process: list[Any]) -> list[str]:
    """Ids of results that differ from a filter's, with both; where datatrove fails, ours is not judged."""
    results = [result for result in case["results"] if result["keep"] is not None]
    rows = run_samples([{"text": docs[result["id"]]["text"]} for result in results], process)
    addresses = ADDRESS if len(process) > 1 else re.compile(r"(?!)")  # a filter alone leaves them as they are
    found = []
    for result, row in zip(results, rows, strict=True):
        text = docs[result["id"]]["text"]
        ours = (row["kept"], row["reason"], addresses.sub("", row["text"]) if row["kept"] else None, row["error"])
        wanted = addresses.sub("", result.get("text", text)) if result["keep"] else None
        if ours != (result["keep"], result.get("reason"), wanted, None):
            found.append(f"{result['id']}: {ours}, recorded {result} ({row['stats']})")
    return found


@pytest.mark.parametrize(("name", "case"), CASES or NONE)
def test_verdicts_and_texts(name: str, case: dict[str, Any]) -> None:
    if not name:
        pytest.skip("no recorded results")
    docs = {document["id"]: document for document in read_lines(RECORDED / "datatrove" / "docs.jsonl")}
    assert not differences(case, docs, [{FILTERS[name]: case["params"]}])


def fineweb(op: str) -> list[Any]:
    path = VECTORS / "fineweb2" / "fineweb.jsonl"
    found = read_lines(path) if path.is_file() else []
    return [case for case in found if case["op"] == op]


@pytest.mark.parametrize("op", sorted(FILTERS.values()))
def test_fineweb(op: str) -> None:
    cases = fineweb(op)
    if not cases:
        pytest.skip("no recorded results")
    for case in cases:
        assert not differences(case, documents(), [{op: case["params"]}])


# FineWeb-2's filters and formatters, in its order.
ORDER = ("gopher_repetition_filter", "fineweb_quality_filter", "gopher_quality_filter")
CLEANING = [
    {"ftfy_mapper": {}},
    {"pii_mapper": {}},
    {"symbol_lines_mapper": {"symbols_to_remove": ["|"], "replace_char": "\n"}},
]
# datatrove replaces addresses in rotation over all documents, so they are compared as equal.
ADDRESS = re.compile(r"[\w.+-]+@[\w.-]+|\d+(?:\.\d+){3}")
LANGUAGES = sorted(path.stem for path in (VECTORS / "fineweb2").glob("fineweb2_*.jsonl"))


def parameters(op: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a filter from a file of FineWeb-2, as its pipeline sets them."""
    if op == "gopher_repetition_filter":
        none = dict.fromkeys(("dup_para_frac", "dup_line_char_frac", "dup_para_char_frac"), 0)
        return none | {name: config[name] for name in ("dup_line_frac", "top_n_grams", "dup_n_grams")}
    if op == "fineweb_quality_filter":
        own = {name: config[name] for name in ("line_punct_thr", "new_line_ratio")}
        return own | {"char_duplicates_ratio": 0.1, "short_line_thr": 999}
    names = ("min_avg_word_length", "max_avg_word_length", "max_non_alpha_words_ratio")
    return {name: config[name] for name in names} | {"stop_words": config["stopwords"], "min_stop_words": 2}


@pytest.mark.parametrize("name", LANGUAGES or [""])
def test_fineweb2(name: str) -> None:
    """Every filter on every text of a language, with the thresholds and words of that language."""
    if not name:
        pytest.skip("no recorded results")
    for case in read_lines(VECTORS / "fineweb2" / f"{name}.jsonl"):
        op, language = case["op"], case["language"]
        if problems := language_words.problems(language):
            pytest.skip(problems[0])
        config = yaml.safe_load((WEB / "configs" / "fineweb-2" / case["config"]).read_text(encoding="utf-8"))
        own = {name: {name: parameters(name, config) | case.get("and", {}) | {"language": language}} for name in ORDER}
        steps = [*own.values(), *CLEANING] if op == "pipeline" else [own[op]]
        assert not differences(case, documents(), steps), op


def test_fineweb2_in_one_recipe() -> None:
    """The same texts of several languages at once, with the numbers of the folder of FineWeb-2's files."""
    chosen = [name for name in LANGUAGES if name.removeprefix("fineweb2_") in ("deu_Latn", "fra_Latn", "spa_Latn")]
    if not chosen:
        pytest.skip("no recorded results")
    folder = {"by": "language_script", "folder": str(WEB / "configs" / "fineweb-2")}
    given: dict[str, Any] = dict.fromkeys(("dup_para_frac", "dup_line_char_frac", "dup_para_char_frac"), 0)
    given |= {"dup_line_frac": {**folder, "default": 0.3}}
    given |= {name: {**folder, "default": []} for name in ("top_n_grams", "dup_n_grams")}
    given["language"] = {"language_script": {"deu_Latn": "deu", "fra_Latn": "fra", "spa_Latn": "spa", "default": "eng"}}
    found, expected = [], []
    samples = []
    for name in chosen:
        case = next(one for one in read_lines(VECTORS / "fineweb2" / f"{name}.jsonl") if "repetition" in one["op"])
        for result in case["results"]:
            samples.append({"text": documents()[result["id"]]["text"], "language_script": case["language"]})
            expected.append((result["id"], result["keep"], result.get("reason")))
    rows = run_samples(samples, [{"gopher_repetition_filter": given}], columns={"language_script": "VARCHAR"})
    found = [(id, row["kept"], row["reason"]) for (id, _, _), row in zip(expected, rows, strict=True)]
    assert found == expected
