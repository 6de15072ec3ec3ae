"""The statistics of every recorded document, against datatrove 0.10.1's: per document, block by block."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.kernels.dedup import sentence_units
from refinery.kernels.words import spacy_words, word_rules
from refinery.operators import Library

OPERATORS = {
    "DocStats": "doc_stats",
    "LineStats": "line_stats",
    "ParagraphStats": "paragraph_stats",
    "TokenStats": "token_stats",
    "LangStats": "lang_stats",
    "WordStats": "word_stats",
    "SentenceStats": "sentence_stats",
    "WordsContaminationStats": "words_contamination_stats",
}
FROM = {"word_stats": "words", "sentence_stats": "words", "words_contamination_stats": "words_from"}
MODES = ["fast", "spacy"]


def lines(path: Path) -> list[dict[str, Any]]:
    """JSON lines; texts hold further line ends unescaped."""
    return [json.loads(line) for line in path.read_bytes().decode().split("\n") if line]


def measured(
    documents: Sequence[dict[str, Any]], folder: Path, *steps: dict[str, Any]
) -> dict[str, dict[str, int | float | None]]:
    """The statistics of each document by its id."""
    source = folder / "docs.jsonl"
    source.write_bytes("".join(json.dumps(d, ensure_ascii=False) + "\n" for d in documents).encode())
    recipe = {"dataset_path": str(source), "export_path": str(folder / "out.jsonl"), "process": list(steps), "np": 1}
    run = refinery.run(recipe)
    assert run.counts.kept == len(documents)
    names = [row[0] for row in run.sql("DESCRIBE stats").fetchall()][2:]
    rows = run.sql("SELECT * EXCLUDE (_row, kept) FROM stats ORDER BY _row").fetchall()
    return {d["id"]: dict(zip(names, row, strict=True)) for d, row in zip(documents, rows, strict=True)}


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        if isinstance(value, int):
            assert found[name] == value and isinstance(found[name], int), name
        else:
            assert found[name] == pytest.approx(value, rel=1e-9, abs=0), name


@pytest.fixture(scope="session")
def datatrove(recorded: Path) -> Path:
    return recorded / "datatrove"


def parameters(name: str, kwargs: dict[str, Any], mode: str) -> dict[str, Any]:
    """The operator's parameters for a block's: those of the run's statistics files are not its own."""
    own = Library().operators[name].params
    flat = {**kwargs, **kwargs.get("norm_config", {})}
    return {n: v for n, v in flat.items() if n in own} | ({FROM[name]: mode} if name in FROM else {})


def need(mode: str) -> None:
    for package in ("spacy", "jieba") if mode == "spacy" else ():
        pytest.importorskip(package)


@pytest.mark.parametrize("mode", MODES)
def test_values_of_every_document(mode: str, datatrove: Path, tmp_path: Path) -> None:
    need(mode)
    expected = {line["id"]: line["values"] for line in lines(datatrove / "stats" / "per_doc.jsonl")}
    documents = lines(datatrove / "docs.jsonl")
    blocks = json.loads((datatrove / "stats" / "params.json").read_bytes())["blocks"]
    steps = [(OPERATORS[block["class"]], block["kwargs"]) for block in blocks]
    found = measured(documents, tmp_path, *({name: parameters(name, kwargs, mode)} for name, kwargs in steps))
    assert len(found) == len(expected) == len(documents) > 100
    for id, values in found.items():
        assert set(values) == set(expected[id])
        same(values, expected[id])


VARIANTS = [
    ("lines_no_thresholds", "fast"),
    ("lines_skip_empty", "fast"),
    ("lang_from_metadata", "fast"),
    ("contamination_raw", "fast"),
    ("contamination_raw", "spacy"),
    ("words_spanish", "spacy"),
    ("words_chinese_cmn", "spacy"),
    ("words_chinese_zh_code", "spacy"),
    ("sentences_spanish", "spacy"),
    ("sentences_chinese_cmn", "spacy"),
]


@pytest.mark.parametrize("mode", MODES)
def test_first_variants(mode: str, datatrove: Path, tmp_path: Path) -> None:
    """The first variant of each operator, in one run."""
    kinds: dict[str, str] = {}
    for name, of in VARIANTS:
        if of == mode:
            kinds.setdefault(name.partition("_")[0], name)
    check_variants([*kinds.values()], mode, datatrove, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize(("name", "mode"), VARIANTS)
def test_variant(name: str, mode: str, datatrove: Path, tmp_path: Path) -> None:
    check_variants([name], mode, datatrove, tmp_path)


def check_variants(names: list[str], mode: str, datatrove: Path, folder: Path) -> None:
    """Hold variants of different operators against the recorded statistics."""
    need(mode)
    variants = [json.loads((datatrove / "stats" / "variants" / f"{name}.json").read_bytes()) for name in names]
    documents = [d for d in lines(datatrove / "docs.jsonl") if any(d["id"] in v["per_doc"] for v in variants)]
    steps = [(OPERATORS[variant["class"]], variant["kwargs"]) for variant in variants]
    found = measured(documents, folder, *({name: parameters(name, kwargs, mode)} for name, kwargs in steps))
    for (operator, _), variant in zip(steps, variants, strict=True):
        assert len(found.keys() & variant["per_doc"].keys()) == variant["n_docs"]
        for id, expected in variant["per_doc"].items():
            assert expected.keys() <= found[id].keys(), operator
            same(found[id], expected)
    assert set().union(*found.values()) == {
        name for v in variants for values in v["per_doc"].values() for name in values
    }


@pytest.mark.parametrize("name", ["eng", "spa", "cmn", "zh"])
def test_words_and_sentences(name: str, datatrove: Path) -> None:
    need("spacy")
    texts = {d["id"]: d["text"] for d in lines(datatrove / "docs.jsonl")}
    for case in lines(datatrove / "tokenization" / f"{name}.jsonl"):
        text, language = texts[case["id"]], case["language_code"]
        assert spacy_words.words(text, language) == case["words"]
        assert spacy_words.sentences(text, language) == case["sentences"]
        if name == "eng":
            assert word_rules.words(text) == case["words"]
            assert word_rules.sentences(text) == case["sentences"]


def test_languages_choose_their_tokenizers(datatrove: Path) -> None:
    chosen = json.loads((datatrove / "tokenization" / "languages.json").read_bytes())
    for code, choice in chosen.items():
        spacy = choice is not None and choice["tokenizer"] == "SpaCyTokenizer"
        assert spacy_words.languages().get(code) == (choice["argument"] if spacy else None), code


def test_marks_and_terminals(datatrove: Path) -> None:
    constants = json.loads((datatrove / "constants.json").read_bytes())
    assert sorted(map(ord, sentence_units.MARKS)) == sorted(set(constants["punctuation_code_points"]))
