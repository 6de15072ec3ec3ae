"""The work of operators grows with the length of a text, not with its square, whatever the text is made of.

Processor time is compared at two lengths, one 16 times the other. Work that grows with the length takes 16 times as long, work
that grows with its square 256 times. The bound is 64 times and a half second, which no load of the machine makes up for: the time
of a process does not contain that of others.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from refinery.io.readers.read import read
from refinery.io.sources import cut, find
from refinery.operators import Library, load_module
from tests.compiled import run_samples

TIMES, MOST, LEAST = 16, 64, 0.5
# Bytes of the shorter texts. The longer ones take a quarter of an hour for all operators.
SIZES = [2_000, pytest.param(8_000, marks=pytest.mark.long)]
ROOT = Path(__file__).parents[2]

# What hostile texts repeat.
PIECES = [
    "a", " ", "\n", ".", "-", "_", "'", '"', "\\", "/", "#", "&", "%", "=", "1", "A", "é", "漢", "ا", "😀", "e\u0301", "\u200d", "\t", "\r\n",
    "a ", "A. ", "! ", "a.", "1.", "1.2.3.", "a@b.", "@a", "www.a.", "http://", "http://a.b/", "1.1.1.", "n't", "a-", "1,", "x" * 60 + " ",
    "[(", ")]", "{", "<", "<a ", "<p>", "<!--", "<script>", "&#x", "&amp;", "/*", "/* copyright ", "//", "\\begin{a}", "\\section{a}\n",
    "\\newcommand{", "\\def\\a{", "\\bibliography", "- a\n", "abc def\n", "abc\n\n", "| a ", "```", "Ã©", "â€™", "ï¬", "\x00", "\x1b[", "\ufffd",
]  # fmt: skip

# Parameters that operators need. Those in SEPARATE compare samples, and are called by their functions.
PARAMS: dict[str, dict[str, Any]] = {
    "words_contamination_stats": {"words": ["a b", "c"]},
    "character_repetition_filter": {"rep_len": 10},
    "sql_filter": {"where": "length(text) > 1"},
    "sql_mapper": {"text": "upper(text)"},
    "expression_filter": {"value": "length(text)"},
    "line_remover": {"patterns": ["a", "a a"]},
    "madlad400_sentence_annotator": {"rules_to_include": [2, 3, 4]},
    "page_len_filter": {"length_type": "word"},
    "page_length_filter": {"length_type": "word"},
    "ratio_line_modifier": {"check": "uppercase"},
    "regex_filter": {"regex_exp": "a+b"},
    "regex_text_filter": {"regex_string": "a+b"},
    "repetition_filter": {"granularity": "line", "max_fraction": 0.3},
    "string_eq_filter": {"str_field": "text", "eq": "a"},
    "substring_filter": {"banlist": ["a b"]},
    "substring_line_modifier": {"banlist": ["a b"]},
}
# Operators of a library that takes quadratic time for tags that are not closed; row_timeout limits a row of them.
QUADRATIC = ("html_boilerplate_filter",)
NAMES = sorted(
    name
    for name, operator in Library().operators.items()
    if operator.kind != "deduplicator" and name not in ("embedding_mapper", "stats_merger", *QUADRATIC)
)


def texts_of(size: int) -> list[str]:
    """Hostile texts of about `size` bytes."""
    return [piece * (size // len(piece.encode())) for piece in PIECES]


def seconds(work: Callable[[list[str]], object], texts: list[str], times: int = 2) -> float:
    """Processor time of this process, the least of some times."""
    found = []
    for _ in range(times):
        started = time.process_time()
        work(texts)
        found.append(time.process_time() - started)
    return min(found)


def assert_in_proportion(work: Callable[[list[str]], object], size: int) -> None:
    work(["some text"])
    short, long = texts_of(size), texts_of(size * TIMES)
    if _fits(work, short, long):
        return
    slow = [piece for piece, a, b in zip(PIECES, short, long, strict=True) if not _fits(work, [a], [b])]
    assert not slow, f"time grows faster than the length of texts of {slow}"


def _fits(work: Callable[[list[str]], object], short: list[str], long: list[str]) -> bool:
    """True if the long texts take at most as long as allowed; most take so little that the short ones are not measured."""
    return seconds(work, long, 1) <= LEAST or seconds(work, long) <= LEAST + MOST * seconds(work, short)


def _missing(name: str) -> bool:
    """Return whether an operator needs a model, a list or a field that is not here."""
    try:
        run_samples([{"text": "some text"}], [{name: PARAMS.get(name, {})}])
    except Exception as error:
        return any(
            word in str(error)
            for word in ("was not found", "needs", "pip install", "no column", "is missing", "is empty")
        )
    return False


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_operators(name: str, size: int) -> None:
    if _missing(name):
        pytest.skip("no model here")
    steps = [{name: PARAMS.get(name, {})}]
    assert_in_proportion(lambda texts: run_samples([{"text": text} for text in texts], steps), size)


def _units(keys: Callable[..., pa.Array], without: Callable[..., pa.Array], texts: list[str]) -> None:
    """Make the keys of units, and remove every second unit."""
    column = pa.array(texts)
    found = keys(column)
    numbers = [np.arange(0, len(units), 2).tolist() for units in found.to_pylist()]
    without(column, pa.array(numbers, pa.list_(pa.int64())))


def _deduplicators() -> dict[str, Callable[[list[str]], object]]:
    modules = {path.stem: load_module(path) for path in (ROOT / "udfs" / "deduplicators").glob("*.py")}
    keys, minhash = modules["document_deduplicator"].text_key, modules["document_minhash_deduplicator"]
    simhash, lines = modules["document_simhash_deduplicator"].text_simhash, modules["document_line_deduplicator"]
    paragraphs, sentences = modules["paragraph_deduplicator"], modules["sentence_deduplicator"]
    found: dict[str, Callable[[list[str]], object]] = {
        "keys": lambda texts: keys(pa.array(texts), True, True),
        "lines": partial(
            _units, lambda c: lines.line_keys(c, True, True, 1, True, True, True, True), lines.without_lines
        ),
        "paragraphs": partial(
            _units,
            lambda c: paragraphs.paragraph_keys(c, "\n\n", True, True, 0),
            lambda c, removed: paragraphs.without_paragraphs(c, removed, "\n\n"),
        ),
    }
    bloom = modules["bloom_deduplicator"]
    found["n-grams"] = lambda texts: bloom.filter_ngrams(pa.array(texts), "both", "none", 1, 13)
    found["n-grams, datatrove"] = lambda texts: bloom.filter_ngrams(pa.array(texts), "document", "datatrove", 1, 13)
    for kind in ("fast", "lines"):
        found[f"sentences, {kind}"] = partial(
            _units,
            lambda c, kind=kind: sentences.sentence_keys(c, kind, "en", 3, *[True] * 7),
            lambda c, removed, kind=kind: sentences.without_sentences(c, removed, kind, "en", 3, 1, 1, 1),
        )
    for tokens in ("space", "punctuation", "character", "word"):
        hashes = "fast" if tokens == "word" else "data_juicer"
        shingles = ("none", tokens, True, None, None, 5)
        found[f"minhash, {tokens}"] = lambda texts, shingles=shingles, hashes=hashes: minhash.minhash_marks(
            pa.array(texts), *shingles, hashes, 16, 0.7, None, None, "compare"
        )
        found[f"shingles, {tokens}"] = lambda texts, shingles=shingles: minhash.minhash_shingles(
            pa.array(texts), *shingles
        )
        if tokens != "word":
            found[f"simhash, {tokens}"] = lambda texts, tokens=tokens: simhash(
                pa.array(texts), tokens, 6, True, None, False
            )
    return found


DEDUPLICATORS = _deduplicators()


@pytest.mark.parametrize("name", DEDUPLICATORS)
def test_keys_of_deduplicators(name: str) -> None:
    assert_in_proportion(DEDUPLICATORS[name], 8_000)


SHAPES: dict[str, Callable[[int], Any]] = {
    "keys": lambda n: {f"key{k}": k for k in range(n // 10)},
    "repeated keys": lambda n: json.loads("{}"),
    "lists": lambda n: [[]] * (n // 4),
    "escapes": lambda n: '\\"' * (n // 4),
    "numbers": lambda n: [0.1] * (n // 5),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_reading_of_json(tmp_path: Path, shape: str) -> None:
    def file(size: int) -> Path:
        path, sample = tmp_path / f"{size}.jsonl", {"text": "some text", "meta": SHAPES[shape](size)}
        line = json.dumps(sample)
        if shape == "repeated keys":
            line = '{"text": "some text"' + ', "key": 1' * (size // 10) + "}"
        path.write_text(f"{line}\n" * 8, encoding="utf-8")
        return path

    def work(texts: list[str]) -> None:
        sources, _ = find(texts)
        for shard in cut(sources, 1 << 30):
            for _ in read(shard):
                pass

    few, many = str(file(8_000)), str(file(8_000 * TIMES))
    work([few])
    assert _fits(work, [few], [many])
