"""Counts of characters, lines, n-grams and tokens against what plain Python says of the same texts."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from refinery.kernels.core.arrow import texts
from refinery.kernels.core.blocks import BLOCK
from refinery.kernels.text.profile import FIELDS
from refinery.kernels.text.repetition import SHORT, ratio_rows
from refinery.kernels.text.special_characters import code_points
from refinery.operators import Library, load_module
from tests.characters import by_planes, characters
from tests.examples import share_of
from tests.sampling import first_of_each

LIBRARY = Library()
SPECIAL = code_points()
profile = LIBRARY.features["profile"].functions[0].resolve()
character_repetition = LIBRARY.operators["character_repetition_filter"].functions[0].resolve()
alphanumeric = load_module(LIBRARY.operators["alphanumeric_filter"].path)
token_count, library_token_count = (
    next(made for made in LIBRARY.features["token_count"].functions if made.name.endswith(name)).resolve()
    for name in ("token_count", "library_token_count")
)

NASTY = (
    "\0\t\n\r\v\f\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u200b\u200d\ufeff\ufffd"
    "aZ09_-.é½²Ⅷ①ß\u0301\u0e33٣क्一上日。，シЖ👍🏽🇩\U0001d7d8\U0010ffff"
)
TEXT = st.text(st.sampled_from(NASTY), max_size=60) | st.text(max_size=60)


def rows(function: Any, texts: Sequence[str | None], *constants: Any) -> list[Any]:
    """The function's values, which must not depend on where in which array the texts lie."""
    whole = function(pa.array(texts, pa.string()), *constants).to_pylist()
    shifted = pa.array(["é\n", *texts, "x"], pa.large_string()).slice(1, len(texts))
    assert function(shifted, *constants).to_pylist() == whole
    return whole


def profile_of(text: str | None) -> dict[str, int] | None:
    if text is None:
        return None
    lines = text.splitlines()
    counts = (
        len(text),
        sum(map(str.isalnum, text)),
        sum(map(str.isalpha, text)),
        sum(ord(char) in SPECIAL for char in text),
        len(lines),
        max(map(len, lines), default=0),
    )
    return dict(zip(FIELDS, counts, strict=True))


@settings(max_examples=share_of(300))
@given(st.lists(st.none() | TEXT, max_size=6))
def test_profile_is_what_python_counts(texts: list[str | None]) -> None:
    assert rows(profile, texts) == [profile_of(text) for text in texts]


@by_planes
def test_every_character_alone(planes: range) -> None:
    chars = characters(planes)
    assert profile(pa.array(chars)).to_pylist() == [profile_of(char) for char in chars]


def test_every_ascii_character_in_plain_blocks() -> None:
    texts = [f"{'ab' * k}{chr(c)}{'c-' * BLOCK}" for c in range(128) for k in (0, 20, 33)]
    assert rows(profile, texts) == [profile_of(text) for text in texts]


def test_long_texts_of_plain_and_other_blocks() -> None:
    chance = random.Random(1)
    pieces = [*NASTY, "語\r\n", "a-" * 40, "7" * 63, "\n", "x\n" * 30, " " * 128, "Zeile\n"]
    texts = ["".join(chance.choices(pieces, k=chance.randrange(40))) for _ in range(1500)]
    texts += ["7" * (5 * BLOCK - k) + "語\r\n" + "a-" * (BLOCK + k) + "\n" for k in range(5)]
    assert rows(profile, [*texts, None]) == [*(profile_of(text) for text in texts), None]


def ratio_of(text: str, n: int) -> float:
    grams = Counter(text[i : i + n] for i in range(len(text) - n + 1))
    if not grams:
        return 0.0
    counts = sorted(grams.values(), reverse=True)
    taken = min(math.isqrt(len(counts)), sum(count > 1 for count in counts))
    return sum(counts[:taken]) / sum(counts)


PIECES = st.sampled_from(["a", "b", "ab", "\n", "    ", "é", "一二", "👍", "return x\n", "\0", "the quick "])
REPETITIVE = st.lists(st.tuples(PIECES, st.integers(1, 12)), max_size=30).map(lambda p: "".join(t * n for t, n in p))


@settings(max_examples=share_of(200))
@given(st.lists(REPETITIVE | TEXT, max_size=5), st.integers(1, 40))
@example(["\0\0\0\0aaa\0\0"], 8)
def test_repetition_is_what_python_counts(texts: list[str], n: int) -> None:
    assert rows(character_repetition, [None, *texts], n) == [None, *(ratio_of(text, n) for text in texts)]


@pytest.mark.parametrize("n", [1, 2, 7, 10, 64])
def test_repetition_of_long_texts(n: int) -> None:
    code = "".join(f"def f{i * i % 97}(x):\n    return x + {i % 13}\n\n" for i in range(3000))
    texts = [code, code.replace("return", "zurück"), "a" * 40_000, "ab" * 20_000, "", "日本" * 5_000]
    assert rows(character_repetition, texts, n) == [ratio_of(text, n) for text in texts]


@pytest.mark.parametrize("others", [0, 1, 127, 128, 129, 400])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 16, 17])
def test_repetition_in_texts_of_many_different_characters(n: int, others: int) -> None:
    """Up to 128 characters beyond ASCII, a character of a text is one byte."""
    rng = random.Random(others)
    chars = [chr(0x4E00 + i if i % 3 else 0x1F600 + i) for i in range(others)] + ["a", "b", "\0", "\x7f"]
    texts = ["".join(rng.choices(chars, k=size)) * 2 + "".join(chars) for size in (5, 40, 64, 700)]
    assert rows(character_repetition, texts, n) == [ratio_of(text, n) for text in texts]


@pytest.mark.parametrize("other", ["b", "\u00e9"])
def test_repetition_in_texts_around_the_longest_short_one(other: str) -> None:
    texts = [("a" * 9 + other) * 6_553 + "c" * extra for extra in range(3, 8)]
    assert [len(text) - SHORT for text in texts] == [-1, 0, 1, 2, 3]
    assert rows(character_repetition, texts, 10) == [ratio_of(text, 10) for text in texts]


def test_repetition_in_texts_at_every_place_of_a_block() -> None:
    texts = [at * "x" + "\u00e9abc" * 3 + end * "y" + "\u00e9" for at in range(66) for end in (0, 63, 64)]
    assert rows(character_repetition, texts, 3) == [ratio_of(text, 3) for text in texts]


# A sample with each number of n-grams at once, and each length.
PARTS = first_of_each(
    [(n, at_once) for n in (1, 2, 7, 10, 64, 5000) for at_once in (1, 100, 5000)],
    lambda n, at_once: n if n > 7 else at_once,
)


@pytest.mark.parametrize(("n", "at_once"), PARTS)
def test_repetition_counted_in_parts(n: int, at_once: int) -> None:
    # A part for nearly every n-gram is gone through once for each, so those texts are short.
    size = 1 if at_once == 1 else 10
    code = "".join(f"def f{i * i % 97}(x):\n    return x + {i % 13}\n\n" for i in range(30 * size))
    column = texts(
        pa.array([code, code.replace("return", "zurück"), "a" * 7_000 * size, "", "日本" * 500 * size, "é" * n])
    )
    ratios = np.zeros(len(column))
    ratio_rows(column.data, column.offsets, column.valid, n, at_once, ratios)
    assert ratios.tolist() == [ratio_of(text, n) for text in column.array.to_pylist()]


def test_repetition_of_a_thue_morse_text() -> None:
    # Its windows have equal polynomial hashes modulo 2 ** 64, whatever the base.
    text = "".join("ab"[i.bit_count() & 1] for i in range(1 << 13))
    assert rows(character_repetition, [text], 2048) == [ratio_of(text, 2048)]


def test_n_longer_than_any_text() -> None:
    assert rows(character_repetition, ["abc", "日本語日本語"], 2**62) == [0.0, 0.0]
    assert character_repetition(pa.array([], pa.string()), None).to_pylist() == []


# One token for each piece between spaces. Its own settings would cut at three tokens, fill up to eight and add marks.
TOKENIZER: dict[str, Any] = {
    "version": "1.0",
    "truncation": {"max_length": 3, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
    "padding": {
        "strategy": {"Fixed": 8},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[U]",
    },
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[C]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {"[C]": {"id": "[C]", "ids": [1], "tokens": ["[C]"]}},
    },
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": {"[U]": 0, "[C]": 1, "a": 2}, "unk_token": "[U]"},
}
needs_tokenizers = pytest.mark.skipif(find_spec("tokenizers") is None, reason="the extra `tokenizers` is not installed")


@needs_tokenizers
def test_tokens_are_counted_whole_and_without_special_ones(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    texts = ["a b c d e f g h i j", "one", "", None, "zwei é 日本 👍 \n x", " "]
    expected = [None if text is None else len(text.split()) for text in texts]
    for path in (tmp_path, tmp_path / "tokenizer.json"):
        assert rows(library_token_count, texts, str(path), False) == expected
        assert alphanumeric.check({"tokenization": True, "tokenizer": str(path)}) == []


@needs_tokenizers
def test_a_file_that_is_no_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    (problem,) = alphanumeric.check({"tokenization": True, "tokenizer": str(tmp_path / "other.json")})
    assert "other.json" in problem and "give another file" in problem


def test_tokenization_without_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert alphanumeric.check({"tokenization": False, "tokenizer": None}) == []
    (problem,) = alphanumeric.check({"tokenization": True, "tokenizer": None})
    assert "set tokenizer to" in problem
    (problem,) = alphanumeric.check({"tokenization": True, "tokenizer": str(tmp_path)})
    assert str(tmp_path / "tokenizer.json") in problem
    (tmp_path / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    (problem,) = alphanumeric.check({"tokenization": True, "tokenizer": str(tmp_path)})
    assert "pip install 'tokenizers>=0.19'" in problem


def test_no_rows_no_tokenizer() -> None:
    for count in (token_count, library_token_count):
        assert count(pa.array([], pa.string()), None, False).to_pylist() == []
