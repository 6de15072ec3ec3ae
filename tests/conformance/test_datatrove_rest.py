"""datatrove's formatters and the filters of addresses, patterns and lists, against the recorded results of 0.10.1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.compiled import run_samples
from tests.conftest import RECORDED

DATATROVE = RECORDED / "datatrove"
MAPPERS = {
    "SymbolLinesFormatter": "symbol_lines_mapper",
    "PIIFormatter": "pii_mapper",
    "FTFYFormatter": "ftfy_mapper",
}


def lines(path: Path) -> list[dict[str, Any]]:
    """JSON lines; texts hold further line ends unescaped."""
    return [json.loads(line) for line in path.read_bytes().decode().split("\n") if line] if path.is_file() else []


DOCUMENTS = {document["id"]: document for document in lines(DATATROVE / "docs.jsonl")}


def recorded(folder: str, *names: str) -> list[Any]:
    """Recorded runs of blocks, as parameters of tests; one without a name where there are none."""
    found = [
        pytest.param(name, case, id=f"{name}-{at}")
        for name in names
        for at, case in enumerate(lines(DATATROVE / folder / f"{name}.jsonl"))
    ]
    return found or [pytest.param("", {}, id="no-recorded-results")]


def without(text: str, replacements: list[str]) -> str:
    """The text with any of the replacements written in one way: which one it is depends on the order of documents."""
    for replacement in replacements:
        text = text.replace(replacement, "\0")
    return text


@pytest.mark.parametrize(("name", "case"), recorded("formatters", *MAPPERS))
def test_formatter(name: str, case: dict[str, Any]) -> None:
    if not name:
        pytest.skip("no recorded results")
    wanted = [(DOCUMENTS[result["id"]], result) for result in case["results"]]
    rows = run_samples([document for document, _ in wanted], [{MAPPERS[name]: case["params"]}])
    addresses = (
        "email@example.com firstname.lastname@example.org 22.214.171.124 126.96.36.199 188.8.131.52 "
        "184.108.40.206 220.127.116.11 18.104.22.168 a@x.org b@x.org c@x.org"
    ).split()
    for row, (document, result) in zip(rows, wanted, strict=True):
        assert row["error"] is None
        expected = result.get("text", document["text"])
        assert (row["text"] != document["text"]) is result["changed"], document["id"]
        assert without(row["text"], addresses) == without(expected, addresses), document["id"]


@pytest.mark.parametrize(("name", "case"), recorded("filters", "RegexFilter"))
def test_regex_filter(name: str, case: dict[str, Any]) -> None:
    if not name:
        pytest.skip("no recorded results")
    rows = run_samples([DOCUMENTS[result["id"]] for result in case["results"]], [{"regex_filter": case["params"]}])
    assert [row["kept"] for row in rows] == [result["keep"] for result in case["results"]]


def test_sampler_keeps_about_as_many() -> None:
    """Which ones are others than datatrove's; a lower rate keeps a part of them, and another seed chooses anew."""
    samples = [{"text": f"sample {number}"} for number in range(4000)]

    def kept(**params: Any) -> set[int]:
        rows = run_samples(samples, [{"sampler_filter": params}])
        return {number for number, row in enumerate(rows) if row["kept"]}

    half, tenth, other = kept(), kept(rate=0.1), kept(seed=7)
    assert 1850 < len(half) < 2150 and 330 < len(tenth) < 470
    assert tenth < half and 850 < len(half & other) < 1150
    assert kept(rate=1.0) == set(range(4000)) and not kept(rate=0.0)
    assert kept(by="text[8:]", rate=0.3) == kept(by="CAST(text[8:] AS INTEGER)", rate=0.3)


@pytest.mark.parametrize(("name", "case"), recorded("filters", "URLFilter"))
def test_url_filter(name: str, case: dict[str, Any]) -> None:
    if not name:
        pytest.skip("no recorded results")
    rows = run_samples([DOCUMENTS[result["id"]] for result in case["results"]], [{"url_filter": case["params"]}])
    for row, result in zip(rows, case["results"], strict=True):
        if result["keep"] is None:
            assert "has no address" in row["error"]
        else:
            assert (row["kept"], row["reason"]) == (result["keep"], result["reason"]), result["id"]


@pytest.mark.parametrize(("name", "case"), recorded("filters", "C4BadWordsFilter"))
def test_c4_badwords_filter(name: str, case: dict[str, Any]) -> None:
    """With keep_fraction other samples stay than with datatrove's generator, about as many."""
    if not name:
        pytest.skip("no recorded results")
    params = {"badwords_dir": str(DATATROVE / "filters" / "assets" / "badwords"), **case["params"]}
    rows = run_samples([DOCUMENTS[result["id"]] for result in case["results"]], [{"c4_badwords_filter": params}])
    listed = [row["stats"]["badwords"] == 1 for row in rows]
    for row, result, is_listed in zip(rows, case["results"], listed, strict=True):
        if result["keep"] is None:
            assert "no list of bad words" in row["error"]
        elif "keep_fraction" not in params:
            assert (row["kept"], row["reason"]) == (result["keep"], result["reason"]), result["id"]
        assert is_listed or result["keep"] is not False
    if "keep_fraction" in params:
        assert sum(listed) == 25 and 5 <= sum(not row["kept"] for row in rows) <= 20


@pytest.mark.parametrize(("name", "case"), recorded("filters", "UnigramLogProbFilter"))
def test_unigram_log_prob_filter(name: str, case: dict[str, Any]) -> None:
    if not name:
        pytest.skip("no recorded results")
    params = {"unigram_freq_file": str(DATATROVE / "filters" / "assets" / "unigram_freq.csv"), **case["params"]}
    rows = run_samples([DOCUMENTS[result["id"]] for result in case["results"]], [{"unigram_log_prob_filter": params}])
    for row, result in zip(rows, case["results"], strict=True):
        assert row["kept"] is result["keep"]
        assert row["stats"]["unigram_logprob"] == pytest.approx(result["logprob"], rel=1e-9)
