"""Repeated spans of sentences: the recorded results, sentences, and removal."""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.dedup import sentence_units
from refinery.kernels.dedup.sentence_units import USUAL, normalised, spans, word_count
from refinery.operators import load_module
from tests.examples import share_of
from tests.sampling import first_of_each

operator = load_module(Path(__file__).parents[3] / "udfs" / "deduplicators" / "sentence_deduplicator.py")
DEFAULTS = {name: spec["default"] for name, spec in operator.OPERATOR["params"].items()}
NUMBERS = pa.list_(pa.int64())
NORMS = [
    "lowercase", "norm_numbers", "norm_weekdays", "norm_monthnames", "remove_punctuation", "norm_whitespace",
    "norm_unicode_diacritics",
]  # fmt: skip
SOURCES = ["fast"] + ["spacy"] * (importlib.util.find_spec("spacy") is not None)

NASTY = [
    *"..!? \n\t  aB1,-'\"é\xa0。！漢\x00", "\u0301", "...", "e.g.", "Mr.", "3.14", "1,000", "don't", " The end. ", "a.b", "A.B.",
    *("www.example.org", "end.Next", "US$", "😀", "!)", "“Yes.”", "p.m.", "\r\n", "\u2028"),
]  # fmt: skip
text = st.lists(st.sampled_from(NASTY), max_size=40).map("".join) | st.text(max_size=30)
sentence = st.sampled_from(
    ["One thing.", "Two of them!", "Is it 3?", "Mr. X met me.", "e.g. this one?", "Or (in brackets.)"]
)
nasty = settings(max_examples=share_of(300))


def keys(texts: list[str | None], **params: Any) -> list[list[int] | None]:
    chosen = DEFAULTS | params
    options = [chosen[name] for name in ("sentences", "language", "n_sentences", *NORMS)]
    return operator.sentence_keys(pa.array(texts, pa.string()), *options).to_pylist()


def removed(texts: list[str | None], numbers: list[list[int]], **params: Any) -> list[str | None]:
    chosen = DEFAULTS | params
    limits = ("min_words_to_remove_span", "min_doc_words", "min_num_sentences")
    options = [chosen[name] for name in ("sentences", "language", "n_sentences", *limits)]
    return operator.without_sentences(pa.array(texts, pa.string()), pa.array(numbers, NUMBERS), *options).to_pylist()


def deduplicated(texts: list[str], params: dict[str, Any], order: list[int] | None = None) -> list[str | None]:
    """The barrier in Python: the first span of a key stays; None for a sample that is removed."""
    chosen, seen = DEFAULTS | params, set()
    found = keys(texts, **params)
    numbers: list[list[int]] = [[] for _ in texts]
    for row in order or range(len(texts)):
        for i, key in enumerate(found[row] or ()):
            if key and key in seen:
                numbers[row].append(i)
            seen.add(key)
    changed = removed(texts, numbers, **params)
    emptied = None if chosen["drop_empty"] else ""
    return [old if new is None else new or emptied for old, new in zip(texts, changed, strict=True)]


RECORDED = [
    (source, name)
    for name in ("sentence_default_3_shards", "sentence_default", "sentence_2_no_minimums", "sentence_lines")
    for source in SOURCES
]
SAMPLE = first_of_each(RECORDED, lambda source, name: "lines" if name == "sentence_lines" else source)


@pytest.mark.parametrize(("source", "name"), SAMPLE)
def test_recorded_results(recorded, source, name):
    folder = recorded / "datatrove" / "dedup"
    documents = [json.loads(line) for line in (folder / "dedup_docs.jsonl").read_text("utf-8").split("\n") if line]
    case = json.loads((folder / f"{name}.json").read_text("utf-8"))
    norms = {key: value for key, value in case["config"]["norm_config"].items()}
    params = norms | {key: value for key, value in case["config"].items() if key in DEFAULTS}
    params["sentences"] = source if case["config"]["split_sentences"] else "lines"
    # datatrove takes documents by their place in their shard, then by shard.
    places = [(place, shard["rank"]) for shard in case["shards"] for place in range(shard["docs"])]
    order = sorted(range(len(places)), key=places.__getitem__)
    results = deduplicated([document["text"] for document in documents], params, order)
    want = {kept["id"]: kept.get("text") for kept in case["kept"]}
    for document, got in zip(documents, results, strict=True):
        if document["text"] == "":  # datatrove removes what came in empty, refinery what became empty
            continue
        assert (got is not None) == (document["id"] in want), document["id"]
        if got is not None:
            assert got == (want[document["id"]] or document["text"])


@pytest.mark.parametrize("source", SOURCES)
def test_recorded_sentences(recorded, source):
    folder = recorded / "datatrove"
    read = (json.loads(line) for line in (folder / "docs.jsonl").read_text("utf-8").split("\n") if line)
    texts = {document["id"]: document["text"] for document in read}
    words = strays = 0
    for line in (folder / "tokenization" / "eng.jsonl").read_text("utf-8").split("\n"):
        if line:
            case = json.loads(line)
            assert [list(span) for span in spans(texts[case["id"]], source)] == case["spans"]
            words += len(case["words"])
            strays += abs(word_count(texts[case["id"]], source) - len(case["words"]))
    assert strays <= (0.002 * words if source == "fast" else 0)


def test_recorded_normalisation(recorded):
    flags = {name: getattr(sentence_units, flag) for name, flag in zip(
        NORMS, ["LOWER", "NUMBERS", "WEEKDAYS", "MONTHS", "PUNCTUATION", "SPACES", "DIACRITICS"], strict=True
    )}  # fmt: skip
    path = recorded / "datatrove" / "dedup" / "simplify_text.jsonl"
    for case in (json.loads(line) for line in path.read_text("utf-8").split("\n") if line):
        chosen = DEFAULTS | case["norm_config"]
        how = sum(flag for name, flag in flags.items() if chosen[name])
        assert normalised(case["text"], how) == case["simplified"]


@pytest.mark.parametrize("example", operator.OPERATOR["examples"])
def test_examples(example):
    assert deduplicated(example["texts"], example["params"]) == example["out"]


@nasty
@given(text)
def test_sentences_cover_the_text(text):
    found = spans(text, "fast")
    assert (found == []) == (text == "")
    ends = [0, *(end for _, end in found)]
    for (start, end), before in zip(found, ends, strict=False):
        assert before <= start < end and text[before:start] in ("", " ")
    assert text[ends[-1] :] in ("", " ")


@nasty
@given(st.lists(text, max_size=4), st.integers(1, 3), st.sampled_from(["fast", "lines"]))
def test_keys_separate_spans(texts, n, source):
    spelled = []
    for one in texts:
        if source == "lines":
            pieces = one.splitlines()
        else:
            pieces = [one[start:end] for start, end in spans(one, source) if one[start:end].strip()]
        simple = [normalised(piece, USUAL) for piece in pieces]
        spelled += [" ".join(simple[i : i + n]) for i in range(len(simple) - n + 1)]
    got = [key for row in keys(texts, n_sentences=n, sentences=source) for key in row or ()]
    assert [key == 0 for key in got] == [not span.strip() for span in spelled]
    pairs = {(key, span) for key, span in zip(got, spelled, strict=True) if key}
    assert len(pairs) == len({key for key, _ in pairs}) == len({span for _, span in pairs})


@nasty
@given(st.lists(sentence, min_size=1, max_size=8), st.integers(1, 3), st.data())
def test_removal_leaves_the_other_sentences(sentences, n, data):
    text, units = " ".join(sentences), max(0, len(sentences) - n + 1)
    assert [text[start:end] for start, end in spans(text, "fast")] == sentences
    numbers = data.draw(st.lists(st.integers(0, units), max_size=3))  # one beyond the last says nothing
    gone = {i + k for i in numbers if i < units for k in range(n)}
    rest = [sentence for i, sentence in enumerate(sentences) if i not in gone]
    result = removed([text], [numbers], n_sentences=n, min_doc_words=0, min_num_sentences=0)[0]
    assert result == (" ".join(rest) if gone else None)
    if result:
        assert [result[start:end] for start, end in spans(result, "fast")] == rest


@given(st.lists(st.none() | text, max_size=5), st.sampled_from(["fast", "lines"]))
def test_nothing_removed_changes_nothing(texts, source):
    assert removed(texts, [[] for _ in texts], sentences=source) == [None] * len(texts)


def test_null_and_short_texts():
    assert keys([None, "", "One. Two."]) == [None, [], []]
    assert len(keys(["One. Two. Three. Four."])[0] or ()) == 2


def test_spacy_is_asked_for_before_the_run(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)  # as if it were not installed
    monkeypatch.setattr(sentence_units, "_local", threading.local())
    assert "pip install 'jieba>=0.42' 'spacy>=3.8'" in operator.checks(DEFAULTS | {"sentences": "spacy"})[0]
    assert operator.checks(DEFAULTS) == []
