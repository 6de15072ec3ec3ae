"""datatrove's minima: its formula in plain Python over hashes of other libraries, and what datatrove itself has recorded."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from refinery.kernels.dedup.minhash_bands import band_keys
from refinery.kernels.dedup.minhash_datatrove import datatrove_minima
from refinery.kernels.dedup.minhash_texts import split
from refinery.kernels.dedup.shingles import tokens
from refinery.kernels.words import spacy_words
from tests.kernels.dedup.test_minhash import clusters

HASHES: dict[tuple[str, int], Any] = {
    ("xxhash", 64): lambda value: xxhash.xxh64_intdigest(value),
    ("xxhash", 32): lambda value: xxhash.xxh32_intdigest(value),
    ("sha1", 64): lambda value: int.from_bytes(hashlib.sha1(value).digest()[:8], "little"),
    ("sha1", 32): lambda value: int.from_bytes(hashlib.sha1(value).digest()[:4], "little"),
}


def plain_minima(hashes: list[int], permutations: int, seed: int, precision: int) -> list[int]:
    """The minima as the formula says, in Python's integers."""
    prime, draw = 2**61 - 1, np.random.RandomState(seed).randint
    factors, terms = (draw(low, prime, dtype=np.uint64, size=permutations).tolist() for low in (1, 0))
    return [
        min((h * a + b) % 2**64 % prime % 2**precision for h in hashes) for a, b in zip(factors, terms, strict=True)
    ]


def check(texts: list[str | None], window: int, function: str, precision: int, seed: int) -> None:
    minima, present = datatrove_minima(
        tokens(pa.array(texts, pa.string()), "space", False, None), window, 7, seed, precision, function
    )
    assert minima.dtype == (np.uint32 if precision == 32 else np.uint64)
    for row, text in enumerate(texts):
        words = [word for word in (text or "").split(" ") if word]
        shingles = [" ".join(words[i : i + window]).encode() for i in range(len(words) - window + 1)]
        assert present[row] == bool(shingles)
        if shingles:
            hashes = list(map(HASHES[function, precision], shingles))
            assert minima[row].tolist() == plain_minima(hashes, 7, seed, precision)


@pytest.mark.parametrize(("function", "precision"), HASHES)
def test_minima_of_strings_of_every_length_are_those_of_the_formula(function: str, precision: int) -> None:
    letters = ["".join(chr(97 + (i * i + n) % 26) for i in range(n)) for n in range(1, 200)]
    check([None, "", *letters, "ä数据 " * 30], 1, function, precision, 1)


def test_minima_of_more_shingles_than_one_block_are_those_of_the_formula() -> None:
    check([" ".join(map(str, range(3000)))], 3, "xxhash", 64, 5)


WORDS = st.lists(st.sampled_from(["a", "of", "the", "ö", "数据" * 20, "x" * 63, "1234567"]), max_size=12)


@given(st.lists(WORDS, max_size=4), st.integers(1, 6), st.sampled_from([*HASHES]), st.integers(0, 2**32 - 1))
def test_minima_of_any_words_are_those_of_the_formula(
    texts: list[list[str]], window: int, kind: tuple[str, int], seed: int
) -> None:
    check([" ".join(words) for words in texts], window, *kind, seed)


@pytest.mark.parametrize("name", ["minhash_default", "minhash_3grams_9x5_sha1_32"])
def test_signatures_and_clusters_are_those_of_datatrove(recorded: Path, name: str) -> None:
    home = recorded / "datatrove" / "dedup"
    known = json.loads((home / f"{name}.json").read_text(encoding="utf-8"))
    lines = (home / "dedup_docs.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
    texts = {document["id"]: document["text"] for document in map(json.loads, lines)}
    ids, config = list(texts), known["config"]
    column = pa.array(list(texts.values()))
    buckets, rows, hashes = config["num_buckets"], config["hashes_per_bucket"], config["hash_config"]
    minima, present = datatrove_minima(
        split(column, "datatrove", "english", True, None, None),
        config["n_grams"], buckets * rows, config["seed"], hashes["precision"], hashes["hash_fc"],
    )  # fmt: skip
    assert {ids[row] for row in np.flatnonzero(~present)} == set(known["without_shingles"])
    for document, signature in known["signatures"].items():
        assert minima[ids.index(document)].reshape(buckets, rows).tolist() == signature
    keys = band_keys(minima, buckets, rows).tolist()
    groups = defaultdict(list)
    for row, first in enumerate(
        clusters([{"bands": key} if some else None for key, some in zip(keys, present, strict=True)])
    ):
        groups[first].append(ids[row])
    own = sorted(sorted(group) for group in groups.values() if len(group) > 1)
    assert own == sorted(sorted(cluster["ids"]) for cluster in known["clusters"])


def test_english_tokens_are_the_words_of_datatrove() -> None:
    assert spacy_words.languages()["eng"] == spacy_words.ENGLISH
    values = ["I don't know, Mr. Smith: it's 5 p.m.\nReally?", "", "  ", None]
    found = tokens(pa.array(values), "english", True, None)
    words = [
        [bytes(found.data[found.starts[i] : found.starts[i + 1] - found.gap]).decode() for i in range(first, last - 1)]
        for first, last in zip(found.firsts[:-1], found.firsts[1:], strict=True)
    ]
    first = "i do n't know , mr. smith : it 's 5 p.m. really ?".split(" ")
    assert words == [first, [], [], []]
    assert found.valid.tolist() == [True, True, True, False]
