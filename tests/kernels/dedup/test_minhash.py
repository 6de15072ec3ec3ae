"""MinHash: Data-Juicer's values and kept rows, the estimator against theory, bands, and similarity of pairs."""

from __future__ import annotations

import hashlib
import json
import struct
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.dedup.matchers.bands import treatment_of_short
from refinery.kernels.dedup import jaccard, minhash, minhash_bands, minhash_exact, minhash_texts, sha1
from refinery.kernels.dedup.shingles import tokens
from refinery.operators import load_module, read_operator
from tests.examples import share_of

PATH = Path(__file__).parents[3] / "udfs" / "deduplicators" / "document_minhash_deduplicator.py"
OPERATOR = read_operator(PATH)
FUNCTIONS: Any = load_module(PATH)


def complete(**params: Any) -> dict[str, Any]:
    return {name: param.default for name, param in OPERATOR.params.items()} | params


def marks(texts: list[str | None], **params: Any) -> list[dict[str, Any] | None]:
    p = complete(**params)
    bands, rows, permutations = p["num_bands"], p["num_rows_per_band"], p["num_permutations"]
    if p["num_buckets"] or p["bands"]:
        bands, rows = p["num_buckets"] or p["bands"], p["hashes_per_bucket"] or p["rows"]
        permutations = bands * rows
    shingles = [p[n] for n in ("normalize", "tokenization", "lowercase", "ignore_pattern", "tokenizer_model")]
    window = p["n_grams"] or p["window_size"]
    column = pa.array(texts, pa.string())
    threshold = p["jaccard_threshold"]
    return FUNCTIONS.minhash_marks(
        column, *shingles, window, p["hash"], permutations, threshold, bands, rows, treatment_of_short(p)
    ).to_pylist()


def clusters(found: list[dict[str, Any] | None]) -> list[int]:
    """For each sample the first of its cluster."""
    parent = list(range(len(found)))

    def root(x: int) -> int:
        while parent[x] != x:
            x = parent[x]
        return x

    buckets: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row, mark in enumerate(found):
        for at, key in enumerate(mark["bands"] if mark else ()):
            buckets[at, key].append(row)
    for members in buckets.values():
        for row in members[1:]:
            a, b = root(members[0]), root(row)
            parent[max(a, b)] = min(a, b)
    return [root(row) for row in range(len(found))]


def recorded_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().decode().rstrip("\n").split("\n")]


def test_data_juicers_rows_are_kept(recorded):
    home = recorded / "data_juicer"
    documents = recorded_lines(home / "dedup_docs.jsonl")
    ids = [document["id"] for document in documents]
    for case in recorded_lines(home / "ops" / "document_minhash_deduplicator.jsonl"):
        found = marks([document["text"] for document in documents], **case["params"])
        first = clusters(found)
        groups = defaultdict(list)
        for row, of in enumerate(first):
            groups[of].append(ids[row])
        assert [ids[row] for row, of in enumerate(first) if of == row] == case["kept"], case["params"]
        assert [group for group in groups.values() if len(group) > 1] == case["groups"]
        p = complete(**case["params"])
        if not p["num_bands"]:
            found_layout = minhash_bands.optimum(p["jaccard_threshold"], p["num_permutations"])
            assert found_layout == (case["num_bands"], case["num_rows_per_band"])


def minimum(hashes: list[int], a: int, b: int) -> int:
    """Minimum of one of Data-Juicer's permutations, as its formula says."""
    return min([(h * a + b) % 2**64 % (2**61 - 1) % 2**32 for h in hashes], default=2**32 - 1)


def first_bytes(value: bytes) -> int:
    return int(struct.unpack("<I", hashlib.sha1(value).digest()[:4])[0])


def check_minima(texts: list[str], window: int, permutations: int) -> None:
    found, present = minhash_exact.data_juicer_minima(
        tokens(pa.array(texts), "space", True, None), window, permutations
    )
    drawn = minhash_exact.data_juicer_parameters(permutations)
    for row, text in enumerate(texts):
        words = [word for word in text.lower().split(" ") if word]
        width = min(window, len(words))
        shingles = {" ".join(words[i : i + width]).encode() for i in range(len(words) - width + 1) if words}
        hashes = [first_bytes(shingle) for shingle in shingles]
        parameters = zip(drawn.factors.tolist(), drawn.terms.tolist(), strict=True)
        assert found[row].tolist() == [minimum(hashes, a, b) for a, b in parameters]
    assert present.tolist() == [bool(text.strip(" ")) for text in texts]


def test_data_juicers_minima_are_those_of_its_formula():
    values = ["a b c d e f a b c d e f", "short", "", "ä " * 40, "one two three four five " + "x" * 200, "1 2 3 4 5"]
    check_minima(values, 5, 19)


WORDS = st.one_of(
    st.sampled_from(["a", "b", "the", "ö", "数据" * 30, "x" * 55, "y" * 56, "z" * 63, "w" * 64, "v" * 119, "u" * 500]),
    st.text("abcdef", min_size=1, max_size=40),
)


@settings(max_examples=share_of(60))
@given(st.lists(st.lists(WORDS, max_size=60).map(" ".join), min_size=1, max_size=12), st.integers(1, 6))
def test_minima_of_random_texts(texts, window):
    check_minima(texts, window, 5)


def test_minima_of_texts_that_fill_several_blocks():
    """Texts share blocks of shingles, and long ones take several; shingles of all lengths, many of them repeated."""
    rng = np.random.default_rng(3)
    sizes = [minhash_exact.BLOCK + 3, 0, 1, 5000, *rng.integers(0, 300, 30)]
    words = ["w" * int(n) for n in rng.integers(1, 70, 40)] + [str(n) for n in range(2000)]
    check_minima([" ".join(rng.choice(words, size)) for size in sizes], 2, 3)


@settings(max_examples=share_of(200))
@given(st.data())
def test_permutations_of_hashes_that_hurt(data):
    """Values at the ends of the range, where the sum wraps and the bounds of the search do not hold."""
    whole = st.integers(0, 2**64 - 1)
    edges = st.builds(lambda high, low: (high << 61) + low & 2**64 - 1, st.integers(0, 7), st.integers(-9, 9))
    tops = st.builds(lambda high, low: high << 32 | low & 2**32 - 1, st.integers(0, 2**32 - 1), st.integers(-20, 20))
    a = data.draw(st.one_of(whole, st.just(1), st.integers(0, 63).map(lambda n: 2**n), tops))
    b = data.draw(st.one_of(whole, edges, tops))
    hashes = data.draw(st.lists(st.one_of(st.integers(0, 40), st.integers(0, 2**32 - 1)), min_size=1, max_size=70))
    if data.draw(st.booleans()) and a % 2:  # hashes whose value is near a point of the draw
        point, inverse = data.draw(edges), pow(a, -1, 2**32)
        hashes += [(point + k - b) * inverse % 2**32 for k in range(-9, 9)]
    assert lowered(hashes, a, b) == minimum(hashes, a, b)


def lowered(hashes: list[int], a: int, b: int) -> int:
    """Minimum of these hashes by the kernel, for all permutations of a group alike."""
    factors, terms = (np.full(minhash_exact.GROUP, value, np.uint64) for value in (a, b))
    low = factors.astype(np.uint32), (terms + np.uint64(minhash_exact.SURPLUS + 1)).astype(np.uint32)
    chunk = minhash_exact.CHUNK
    padded = np.array(hashes + hashes[:1] * (-len(hashes) % chunk), np.uint32)
    best, least = np.empty((3, len(factors)), np.uint32), np.full(len(factors), 2**32 - 1, np.uint32)
    minhash_exact.permute(padded, len(padded), minhash_exact.Permutations(factors, terms, *low), best, least)
    assert len(set(least.tolist())) == 1
    return int(least[0])


@settings(max_examples=share_of(100))
@given(st.lists(st.binary(max_size=200), max_size=150))
def test_sha1_is_that_of_hashlib(values):
    ends = np.cumsum([len(value) for value in values], dtype=np.int64)
    begins = ends - np.array([len(value) for value in values], np.int64)
    out, order = np.zeros(len(values), np.uint32), np.empty(len(values), np.int64)
    data = np.frombuffer(bytearray(b"".join(values) + b"\xff" * sha1.ROOM), np.uint8)
    sha1.sha1_32(data, begins, ends, len(values), order, out, sha1.lanes())
    assert out.tolist() == [first_bytes(value) for value in values]


# Bands


@pytest.mark.parametrize(
    ("threshold", "permutations", "layout"),
    # By scipy's quad, as datasketch and Data-Juicer do it.
    [(0.7, 256, (25, 10)), (0.9, 128, (5, 25)), (0.4, 64, (16, 4)), (0.5, 256, (42, 6)), (0.8, 128, (9, 13))],
)
def test_bands_are_those_of_datasketch(threshold, permutations, layout):
    assert minhash_bands.optimum(threshold, permutations) == layout


def test_band_keys_are_equal_where_the_minima_are():
    rng = np.random.default_rng(5)
    minima = rng.integers(0, 3, (400, 12), dtype=np.uint32)
    keys = minhash_bands.band_keys(minima, 4, 3)
    for band in range(4):
        part = [tuple(row) for row in minima[:, 3 * band : 3 * band + 3].tolist()]
        assert (
            len(set(zip(part, keys[:, band].tolist(), strict=True)))
            == len(set(part))
            == len(set(keys[:, band].tolist()))
        )


def test_short_texts_and_texts_without_tokens():
    values = ["one two", "one two", "one", "", "  ", None, "one two three four five"]
    fast = marks(values, hash="fast")
    assert [mark is None for mark in fast] == [False, False, False, True, True, True, False]
    assert clusters(fast) == [0, 0, 2, 3, 4, 5, 6]
    same = marks(values)
    assert [mark is None for mark in same] == [False] * 5 + [True, False]
    assert clusters(same) == [0, 0, 0, 0, 0, 5, 6]


@pytest.mark.parametrize("hash", ["data_juicer", "fast"])
def test_short_texts_are_equal_or_compared_or_left_out(hash):
    values = ["a b c d e f", "a b", "c d", "A b", "", " ", None]
    found = {kind: marks(values, hash=hash, short=kind) for kind in ("data_juicer", "compare", "keep")}
    assert clusters(found["data_juicer"]) == [0, 1, 1, 1, 1, 1, 6]
    assert clusters(found["compare"]) == [0, 1, 2, 1, 4, 5, 6]
    assert clusters(found["keep"]) == [0, 1, 2, 3, 4, 5, 6]
    short = {kind: [mark and mark["short"] for mark in one] for kind, one in found.items()}
    assert short["data_juicer"] == [False, True, True, True, True, True, None]
    assert short["compare"] == [False, True, True, True, None, None, None]
    assert short["keep"] == [False, *[None] * 6]


def test_bands_and_rows_give_the_permutations():
    values = ["one two three four five six", "one two three four five six seven"]
    assert marks(values, bands=14, rows=8) == marks(values, num_permutations=112, num_bands=14, num_rows_per_band=8)
    assert OPERATOR.check(complete(bands=20, rows=13)) == []
    assert "rows beside it" in OPERATOR.check(complete(bands=20))[0]
    assert "bands beside it" in OPERATOR.check(complete(rows=20))[0]
    assert "num_buckets" in OPERATOR.check(complete(bands=20, rows=13, num_buckets=3))[0]


def test_a_signature_holds_the_low_bits_of_the_minima_and_fewer_permutations_are_a_prefix():
    found = tokens(pa.array(["a b c d e f g"] * 2 + ["x"]), "space", True, None)
    minima, _ = minhash.fast_minima(found, 3, 30)
    assert (minhash.fast_minima(found, 3, 7)[0] == minima[:, :7]).all()
    blobs = minhash_texts.signatures(found, 3, "fast", 30, 5, 6, "compare").field("signature").to_pylist()
    assert [np.frombuffer(blob, "<u2").tolist() for blob in blobs] == (minima & 0xFFFF).tolist()


def test_more_bands_than_permutations_are_refused():
    assert "500" in OPERATOR.check(complete(num_bands=50, num_rows_per_band=10))[0]
    assert OPERATOR.check(complete(num_bands=25, num_rows_per_band=10)) == []
    assert "tokenizer_model" in OPERATOR.check(complete(tokenization="sentencepiece"))[0]


# The estimator


def pair(rng: np.random.Generator, similarity: float, union: int) -> tuple[str, str, float]:
    """Two texts of one-word shingles with nearly this Jaccard similarity, and the true one."""
    words = rng.choice(10**9, union, replace=False)
    shared = round(similarity * union)
    middle = shared + (union - shared) // 2
    one, other = words[:middle], np.concatenate((words[:shared], words[middle:]))
    return " ".join(map(str, one)), " ".join(map(str, other)), shared / union


@pytest.mark.parametrize("union", [5, 20, 100, 1000, 5000])
def test_the_estimate_is_unbiased_and_as_sharp_as_theory(union):
    rng = np.random.default_rng(union)
    trials = 30 if union > 1000 else 60 if union > 100 else 300
    for similarity in (0.1, 0.2, 0.4, 0.6, 0.8, 0.95):
        left, right, true = zip(*(pair(rng, similarity, union) for _ in range(trials)), strict=True)
        params = {"window_size": 1, "num_bands": 1, "num_rows_per_band": 1}
        a, b = (pa.array([m["signature"] for m in marks(list(side), **params)]) for side in (left, right))
        errors = jaccard.estimate(a, b).to_numpy() - true[0]
        deviation = np.sqrt(true[0] * (1 - true[0]) / 256)
        assert abs(errors.mean()) < 4.5 * deviation / np.sqrt(trials) + 2**-16
        if deviation:  # the variance of a sample of n has a relative deviation of about sqrt(2 / n)
            assert abs((errors**2).mean() / deviation**2 - 1) < 5 * np.sqrt(2 / trials)


def test_pairs_become_candidates_as_often_as_theory_says():
    rng = np.random.default_rng(1)
    trials = 400
    for similarity in (0.5, 0.65, 0.7, 0.75, 0.85):
        left, right, true = zip(*(pair(rng, similarity, 200) for _ in range(trials)), strict=True)
        both = [np.array([m["bands"] for m in marks(list(side), window_size=1)]) for side in (left, right)]
        share = (both[0] == both[1]).any(axis=1).mean()
        theory = 1 - (1 - true[0] ** 10) ** 25
        assert abs(share - theory) < 4.5 * np.sqrt(theory * (1 - theory) / trials) + 1 / trials


# Pairs


@settings(max_examples=share_of(100))
@given(st.lists(st.tuples(*[st.none() | st.sets(st.integers(0, 12))] * 2), max_size=8))
def test_jaccard_of_lists(pairs):
    sides = [
        pa.array([None if p[k] is None else sorted(p[k]) for p in [(set(), set()), *pairs]], pa.list_(pa.uint64()))
        for k in (0, 1)
    ]
    found = jaccard.jaccard(sides[0].slice(1), sides[1].slice(1)).to_pylist()
    want = [None if None in (a, b) else len(a & b) / len(a | b) if a | b else 1.0 for a, b in pairs]
    assert found == want


def test_estimate_of_signatures():
    blobs = [np.array(values, "<u2").tobytes() for values in ([1, 2, 3, 4], [1, 2, 259, 4], [9, 9, 9, 9])]
    left, right = (
        pa.array([blobs[2], blobs[0], blobs[0], None, blobs[0]]),
        pa.array([None, blobs[1], blobs[0], blobs[0], blobs[2]]),
    )
    assert jaccard.estimate(left, right).to_pylist() == [None, 0.75, 1.0, None, 0.0]
    assert jaccard.estimate(left.slice(1, 2), right.slice(1, 2)).to_pylist() == [0.75, 1.0]


@settings(max_examples=share_of(200))
@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1, 0x7FFF, 0x8000, 0xFFFF]), st.sampled_from([0, 0x8000, 0xFFFF])), max_size=21
    )
)
def test_the_estimate_is_the_share_of_equal_entries(entries: list[tuple[int, int]]) -> None:
    """Entries that differ in their highest bit alone, or in all bits, beside equal ones; in every place of eight bytes."""
    left, right = (
        pa.array([np.array(side, "<u2").tobytes()]) for side in (zip(*entries, strict=True) if entries else ((), ()))
    )
    expected = sum(a == b for a, b in entries) / len(entries) if entries else 0.0
    assert jaccard.estimate(left, right).to_pylist() == [expected]


def test_shared_shingles_come_in_the_order_of_the_left_text():
    params = complete(window_size=2)
    shared = minhash_texts.shared_shingles("A b c d b c", "x b C d", params)
    assert shared == ["b c", "c d"]
    assert minhash_texts.shared_shingles("A b c d b c", "x b C d", params, 1) == ["b c"]
    assert minhash_texts.shared_shingles("a", "A", params) == ["a"]
    assert minhash_texts.shared_shingles("", "", params) == []
    assert minhash_texts.shared_shingles("abc", "bcd", complete(tokenization="character", n_grams=2)) == ["bc"]


@pytest.mark.parametrize("example", OPERATOR.examples, ids=lambda example: example["texts"][0][:12])
def test_examples(example):
    first = clusters(marks(example["texts"], **example.get("params", {})))
    assert [row for row, of in enumerate(first) if of == row] == example["kept"]
