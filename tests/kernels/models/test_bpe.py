"""Tokens counted by the kernel are those of the library `tokenizers`, for tokenizers of every kind that it takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.models import bpe, character_classes, tokenizer_file
from refinery.kernels.models.sentencepiece_file import Unsupported
from refinery.kernels.words import subwords
from tests.characters import by_planes, characters
from tests.conftest import RECORDED
from tests.examples import share_of
from tests.kernels.models.trained import corpus

library = pytest.importorskip("tokenizers")

# Ideographs and later characters are tried in steps of this size.
STEP = 97
LLAMA, QWEN = tokenizer_file.PATTERNS
RAW = [{"content": text, "normalized": False, "special": True} for text in ("<|end|>", "<|end|>>", "K", "é\0")]
SPACES = [{"content": " " * size, "normalized": True, "special": False} for size in (2, 3, 8)]
WORD = [{"content": "end|>a", "normalized": True, "special": False}]
PLAIN = {"single_word": False, "lstrip": False, "rstrip": False}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [3, 4], "tokens": ["a", "b"]}},
}


def cut_by(pattern: str) -> dict[str, Any]:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [split, BYTES | {"use_regex": False}]}


# Changes of a tokenizer.json with GPT-2's words.
KINDS: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "prefix": {"pre_tokenizer": BYTES | {"add_prefix_space": True}, "added_tokens": SPACES + RAW},
    "pythia": {"normalizer": {"type": "NFC"}, "added_tokens": RAW + SPACES + WORD},
    "nfc with a prefix": {
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}]},
        "pre_tokenizer": BYTES | {"add_prefix_space": True},
        "added_tokens": SPACES,
    },
    "whole": {"pre_tokenizer": BYTES | {"use_regex": False}},
    "llama": {
        "pre_tokenizer": cut_by(LLAMA),
        "post_processor": {"type": "Sequence", "processors": [BYTES, TEMPLATE]},
        "added_tokens": RAW,
    },
    "qwen": {"normalizer": {"type": "NFC"}, "pre_tokenizer": cut_by(QWEN), "post_processor": BYTES},
}
NASTY = "aAbez019 .-'sStTrReEvVmMlLdD\0\t\n\r\x85\u3000\u00a0\u200b\u0301\u0308\u0338é>ſßKΩＡ数据各가ᅡᆨ①½٣🎉\U0010ffff\u1ac1\u11930"
WORDS = st.sampled_from(
    ["the ", " of", "<|end|>", "<|end|>>", "   ", "\n\n", " \n  x", "'ll", "'VE", "'ſ", "123456", "数据清洗"]
)
TEXTS = st.lists(st.text(NASTY, max_size=8) | WORDS | st.text(max_size=3), max_size=12).map("".join)


@cache
def plain() -> str:
    """A trained tokenizer.json."""
    tokenizer = library.Tokenizer(library.models.BPE())
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = library.pre_tokenizers.ByteLevel.alphabet()
    trainer = library.trainers.BpeTrainer(vocab_size=900, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(corpus(), trainer)
    return str(tokenizer.to_str())


def made(change: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(plain()) | change
    size = len(found["model"]["vocab"])
    tokens = [PLAIN | token | {"id": size + number} for number, token in enumerate(change.get("added_tokens", []))]
    return found | {"added_tokens": tokens}


def written(path: Path, content: Any) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    folder = tmp_path_factory.mktemp("tokenizers")
    return cache(lambda kind: written(folder / f"{kind}.json", made(KINDS[kind])))


def same(path: str, texts: Sequence[str | None]) -> None:
    exact = library.Tokenizer.from_file(path)
    for special in (False, True):
        expected = [text if text is None else len(exact.encode(text, add_special_tokens=special)) for text in texts]
        assert bpe.counts(pa.array(texts, pa.string()), path, special).to_pylist() == expected


@pytest.mark.parametrize("kind", KINDS)
def test_equal_to_the_library(kind: str, tokenizer: Callable[[str], str]) -> None:
    path = tokenizer(kind)
    assert subwords.counts_by_kernel(path)
    same(path, [None, "", " ", "a", "é", "'", "\n", *corpus(), "\n".join(corpus()), None])

    @settings(max_examples=share_of(200))
    @given(st.lists(st.none() | TEXTS, max_size=5))
    def equal(texts: list[str | None]) -> None:
        same(path, texts)

    equal()


def test_long_words(tokenizer: Callable[[str], str]) -> None:
    texts = ["x" * 5000, "the" * 900, " " * 999, "数据" * 800, "e\u0301" * 700, "=" * 33, "ab" * 16, "1" * 100]
    for kind in KINDS:
        same(tokenizer(kind), texts)


@by_planes
def test_every_character_in_words(planes: Iterable[int], tokenizer: Callable[[str], str]) -> None:
    """The character alone, after a space, a letter, a digit, a quote, and before them."""
    chars = [char for char in characters(planes) if ord(char) < 0x3100 or ord(char) % STEP == 0]
    rows = [chars[i : i + 500] for i in range(0, len(chars), 500)]
    for kind in ("gpt2", "llama", "pythia"):
        same(tokenizer(kind), ["".join(f"{c} {c}a{c}1{c}1111{c}'{c} 's\n{c}\t{c}  " for c in row) for row in rows])


def test_words_that_merges_do_not_reach(tmp_path: Path) -> None:
    """With ignore_merges a word of the vocabulary is one token, even with a NUL in it."""
    found = made({"pre_tokenizer": cut_by(LLAMA)})
    size = len(found["model"]["vocab"])
    for number, word in enumerate(("qzqz", "Ġxqzj", "ĀĀ", "éq", "not bytes")):
        found["model"]["vocab"][word] = size + number
    texts = ["qzqz", "a qzqz xqzj", "\0\0", "\0\0\0", "xqzj", "qzqzqz", " xqzj" * 20, "é éq", "not bytes"]
    for ignore in (False, True):
        found["model"]["ignore_merges"] = ignore
        path = written(tmp_path / f"{ignore}.json", found)
        same(path, texts)


def test_a_slice_of_a_column_and_threads(tokenizer: Callable[[str], str]) -> None:
    path = tokenizer("pythia")
    column = pa.array(["first", None, "the <|end|> sécond  one", "e\u0301", "", *corpus()], pa.large_string())
    every = bpe.counts(column, path, False).to_pylist()
    assert bpe.counts(column.slice(1, 4), path, False).to_pylist() == every[1:5]
    with ThreadPoolExecutor(4) as pool:
        assert all(
            found.to_pylist() == every for found in pool.map(lambda _: bpe.counts(column, path, False), range(12))
        )


@pytest.mark.parametrize("documents", ["docs.jsonl", "dedup_docs.jsonl"])
def test_recorded_documents(documents: str) -> None:
    path = RECORDED / "data_juicer" / "assets" / "tokenizer" / "tokenizer.json"
    if not RECORDED.is_dir():
        pytest.skip("no recorded results of Data-Juicer")
    lines = (RECORDED / "data_juicer" / documents).read_bytes().split(b"\n")
    same(str(path), [json.loads(line)["text"] for line in lines if line])


# Characters


@by_planes
@pytest.mark.parametrize(("name", "pattern"), [("letters", r"\p{L}"), ("numbers", r"\p{N}"), ("spaces", r"\s")])
def test_classes_of_the_library(name: str, pattern: str, planes: Iterable[int]) -> None:
    every = characters(planes)
    others = library.pre_tokenizers.Split(library.Regex(pattern + "+"), "removed").pre_tokenize_str("".join(every))
    listed = {code for first, last in character_classes.listed()[name] for code in range(first, last + 1)}
    assert {ord(char) for piece, _ in others for char in piece} == {*map(ord, every)} - listed


@by_planes
def test_composed_as_the_library_does(planes: Iterable[int]) -> None:
    compose = library.normalizers.NFC().normalize_str
    for form in ("a{c}", "{c}\u0301\u0323", "a\u0345{c}", "\u1100{c}\u11a8", "{c}{c}\u0334"):
        text = "|".join(form.format(c=char) for char in characters(planes))
        assert character_classes.composed(text).split("|") == compose(text).split("|")


@settings(max_examples=share_of(300))
@given(st.text(max_size=20))
def test_texts_that_stay(text: str) -> None:
    """A text without composing characters is in NFC."""
    table = character_classes.classes()
    if not any(table[ord(char)] & character_classes.COMPOSING for char in text):
        assert character_classes.composed(text) == text == library.normalizers.NFC().normalize_str(text)


def test_the_table_covers_pythons_composition() -> None:
    """Every character that Python composes is listed, or known as one that the library does not compose."""
    table = character_classes.classes()
    assert not np.any((table & character_classes.COMPOSING != 0) & (table & character_classes.UNKNOWN_COMPOSING != 0))
    listed = sum(last - first + 1 for first, last in character_classes.listed()["composing"])
    assert np.count_nonzero(table & character_classes.COMPOSING) == listed


# Files that the library runs


def changes() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Changes of a file that the kernel does not take: a name, words of the reason, and the changed keys."""
    token = PLAIN | {"content": "<x>", "normalized": True, "special": False, "id": 5}
    yield "lower case", "Lowercase", {"normalizer": {"type": "Lowercase"}}
    yield "NFKC", "NFKC", {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFKC"}]}}
    yield "words", "Whitespace", {"pre_tokenizer": {"type": "Whitespace"}}
    yield "no words", "no pre_tokenizer", {"pre_tokenizer": None}
    yield "another pattern", "pattern", {"pre_tokenizer": cut_by(r"\w+")}
    yield (
        "merged words",
        "leaves out",
        {
            "pre_tokenizer": cut_by(LLAMA)
            | {
                "pretokenizers": [
                    cut_by(LLAMA)["pretokenizers"][0] | {"behavior": "Removed"},
                    BYTES | {"use_regex": False},
                ]
            }
        },
    )
    yield (
        "twice",
        "twice",
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [cut_by(LLAMA)["pretokenizers"][0], BYTES]}},
    )
    for option in ("single_word", "lstrip", "rstrip"):
        yield option, option, {"added_tokens": [token | {option: True}]}
    yield "token twice", "twice", {"added_tokens": [token, token | {"id": 6}]}
    yield "token not in NFC", "NFC", {"normalizer": {"type": "NFC"}, "added_tokens": [token | {"content": "e\u0301"}]}
    yield "Bert", "BertProcessing", {"post_processor": {"type": "BertProcessing", "sep": ["a", 1], "cls": ["b", 2]}}
    yield (
        "text twice",
        "repeats",
        {"post_processor": TEMPLATE | {"single": TEMPLATE["single"] + TEMPLATE["single"][1:]}},
    )
    yield "something new", "has new", {"new": None}


@pytest.mark.parametrize(
    ("says", "change"), [(says, change) for _, says, change in changes()], ids=[name for name, *_ in changes()]
)
def test_files_for_the_library(says: str, change: dict[str, Any], tmp_path: Path) -> None:
    path = written(tmp_path / "tokenizer.json", json.loads(plain()) | change)
    assert says in tokenizer_file.problem(path)
    assert not subwords.counts_by_kernel(path)
    with pytest.raises(Unsupported):
        bpe.load(path)


@pytest.mark.parametrize(
    ("says", "change"),
    [
        ("dropout", {"dropout": 0.1}),
        ("end_of_word_suffix", {"end_of_word_suffix": "</w>"}),
        ("model is Unigram", {"type": "Unigram"}),
        ("256 bytes", {"vocab": {"a": 0}}),
        ("twice", {"merges": ["a b", "a b"]}),
        ("no pairs", {"merges": ["a b c"]}),
        ("KeyError", {"merges": ["qzq zqz"]}),
        ("there twice", {"vocab": {"a": 0, "b": 0}}),
        ("has more", {"more": 1}),
    ],
)
def test_models_for_the_library(says: str, change: dict[str, Any], tmp_path: Path) -> None:
    found = json.loads(plain())
    path = written(tmp_path / "tokenizer.json", found | {"model": found["model"] | change})
    assert says in tokenizer_file.problem(path)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    assert "no JSON" in tokenizer_file.problem(written(tmp_path / "tokenizer.json", "{"))
    assert "no mapping" in tokenizer_file.problem(written(tmp_path / "list.json", "[]"))
    assert not subwords.counts_by_kernel(str(tmp_path / "missing.json"))
