"""Scores by KenLM's models against the library's, and against the meaning of an n-gram model in plain Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.models import kenlm
from refinery.kernels.models.kenlm_file import read
from tests.examples import share_of
from tests.kernels.models import kenlm_writer as writer

WORDS = [*(f"w{i}" for i in range(40)), "▁the", "日本", "ж" * 5, "x" * 70, "0123456", "01234567", "012345678"]
UNKNOWN = ["new", "<unk>", "<UNK>", "<s>", "</s>", "é", "日"]
# White space of Python, of KenLM or of both, ends of lines, neighbours of white space that share its first bytes.
BLANKS = [*" \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000", "\r\n", "  ", "\n\n"]
OTHERS = [*"\0\x01\x1b\x7f\x84\x86\xa1\u1681\u180e\u200b\u2027\u202a\u2030\u205e\u2060\u3001\ufeff", "a" * 60]
PIECE = st.sampled_from([*WORDS, *UNKNOWN, *OTHERS])
TEXT = st.lists(st.tuples(PIECE, st.sampled_from([*BLANKS, " ", " ", " ", ""])), max_size=40).map(
    lambda pairs: "".join(piece + blank for piece, blank in pairs)
)
KINDS = [pytest.param(kind, options, id=f"{kind}-{i}") for i, (kind, options) in enumerate(writer.every_kind())]


@lru_cache(maxsize=8)
def grams(order: int) -> writer.Grams:
    chance = random.Random(order)
    sentences = [[chance.choice(WORDS[:few]) for _ in range(chance.randint(0, 12))] for few in (3, 9, 60) * 60]
    return writer.grams_of(sentences, order, share=0.7)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Function that writes a model of an order and kind, once, and returns its path."""
    folder = tmp_path_factory.mktemp("kenlm")

    @lru_cache(maxsize=256)
    def write(order: int, kind: int, options: writer.Options = writer.Options()) -> str:  # noqa: B008
        path = folder / f"{len(list(folder.iterdir()))}.arpa.bin"
        path.write_bytes(writer.model(grams(order), kind, options))
        return str(path)

    return write


@lru_cache(maxsize=256)
def library(path: str) -> Any:
    module = pytest.importorskip("kenlm", reason="the library of KenLM has no wheels, it has to be compiled")
    return module.Model(path)


def lines_of(text: str, only_line_feeds: bool) -> list[str]:
    return text.split("\n") if only_line_feeds else text.splitlines()


def expected(score: Any, text: str | None, only_line_feeds: bool = False) -> tuple[float, int]:
    lines = lines_of(text, only_line_feeds) if text is not None else []
    return float(sum((score(line) for line in lines), 0)), sum(len(line.split()) + 1 for line in lines)


def assert_equal(score: Any, texts: Sequence[str | None], path: str, only_line_feeds: bool = False) -> None:
    """Scores and lengths are the same, wherever in which array the texts lie."""
    wanted = [expected(score, text, only_line_feeds) for text in texts]
    for column in (
        pa.array(texts, pa.string()),
        pa.array(["x y", *texts, "z"], pa.large_string()).slice(1, len(texts)),
    ):
        scores, lengths = kenlm.score(column, path, only_line_feeds)
        assert list(zip(scores.tolist(), lengths.tolist(), strict=True)) == wanted


@pytest.mark.parametrize(("kind", "options"), KINDS)
@settings(max_examples=share_of(150))
@given(texts=st.lists(TEXT | st.none(), max_size=4), order=st.sampled_from([2, 3, 4, 5, 6]), line_feeds=st.booleans())
def test_as_the_library(
    models: Any, kind: int, options: writer.Options, texts: list[str | None], order: int, line_feeds: bool
) -> None:
    path = models(order, kind, options)
    assert_equal(library(path).score, texts, path, line_feeds)


def meaning(grams: writer.Grams, line: str) -> float:
    """The score of a line by the definition of a backoff model, in float32."""
    known = grams.orders[0]
    words = [word if (word,) in known else "<unk>" for word in ("<s>", *_kenlm_words(line), "</s>")]
    table = {gram: values for order in grams.orders for gram, values in order.items()} | {("<unk>",): grams.unknown}
    total = np.float32(0)
    for at in range(1, len(words)):
        first = max(0, at - len(grams.orders) + 1)
        begin = next(i for i in range(first, at + 1) if tuple(words[i : at + 1]) in table)
        prob = np.float32(table[tuple(words[begin : at + 1])][0])
        for i in range(begin - 1, first - 1, -1):
            prob += np.float32(table.get(tuple(words[i:at]), (0, 0))[1])
        total += prob
    return float(total)


def _kenlm_words(line: str) -> list[str]:
    for blank in "\t\n\v\f\r":
        line = line.replace(blank, " ")
    return [word for word in line.split("\0")[0].split(" ") if word]


@pytest.mark.parametrize("kind", [writer.PROBING, writer.REST_PROBING, writer.TRIE, writer.ARRAY])
@settings(max_examples=share_of(60))
@given(texts=st.lists(TEXT, max_size=4), order=st.sampled_from([2, 3, 5]))
def test_as_the_definition(models: Any, kind: int, texts: list[str], order: int) -> None:
    assert_equal(lambda line: meaning(grams(order), line), texts, models(order, kind))


def test_long_lines_and_many_rows(models: Any) -> None:
    chance = random.Random(2)
    texts = [
        " ".join(chance.choices([*WORDS[:12], "new"], k=size)) for size in [*range(60, 70), *range(126, 131), 5000]
    ]
    for kind in (writer.PROBING, writer.TRIE):
        assert_equal(lambda line: meaning(grams(5), line), texts, models(5, kind))
    for kind in range(6):
        scores = [kenlm.score(pa.array([text]), models(5, kind))[0][0] for text in texts]
        together, _ = kenlm.score(pa.array(texts * 20), models(5, kind))
        assert together.tolist() == scores * 20


@pytest.mark.parametrize("blank", ["\u2028", "\x85", "\u3000", "\n", "\r\n", "\0", "\t", "\u1680", "\u205f", "\x1c"])
def test_every_place_in_blocks(models: Any, blank: str) -> None:
    texts = ["a" * i + blank + "w1 " * 25 for i in range(130)] + ["w1 w2" + "b" * i + blank for i in range(130)]
    assert_equal(lambda line: meaning(grams(3), line), texts, models(3, writer.PROBING))


def test_every_character_between_words(models: Any) -> None:
    """Lines and lengths with each character of the planes that hold white space, and one of each length beyond."""
    codes = [*range(0x3100), *range(0xFE00, 0x10000, 17), 0x10000, 0x10FFFF]
    texts = [f"w1{chr(code)}w2 w3" for code in codes] + [f"{chr(code)} w1 {chr(code)}" + " w2" * 30 for code in codes]
    _, lengths = kenlm.score(pa.array(texts), models(2, writer.TRIE))
    assert lengths.tolist() == [sum(len(line.split()) + 1 for line in text.splitlines()) for text in texts]


def test_threads_do_not_share_memory(models: Any) -> None:
    chance = random.Random(7)
    columns = [pa.array([" ".join(chance.choices(WORDS, k=300)) for _ in range(40)]) for _ in range(12)]
    path = models(4, writer.QUANTIZED_ARRAY)
    alone = [kenlm.score(column, path)[0].tolist() for column in columns]
    with ThreadPoolExecutor(6) as pool:
        assert [s[0].tolist() for s in pool.map(lambda column: kenlm.score(column, path), columns)] == alone


def test_words_that_the_model_lacks(tmp_path: Path) -> None:
    """Without <s>, </s> and any other word, everything is unknown."""
    empty = writer.Grams([{}, {}])
    for kind in range(6):
        path = tmp_path / f"{kind}.arpa.bin"
        path.write_bytes(writer.model(empty, kind))
        assert_equal(lambda line: meaning(empty, line), ["", "a", "a b\nc", None], str(path))


def test_a_replaced_file_is_another_model(tmp_path: Path) -> None:
    path, texts = tmp_path / "en.arpa.bin", pa.array(["w1 w2 w3"])
    path.write_bytes(writer.model(grams(3), writer.PROBING))
    first = kenlm.score(texts, str(path))[0]
    other = tmp_path / "other"
    other.write_bytes(writer.model(grams(4), writer.TRIE))
    other.replace(path)
    second = kenlm.score(texts, str(path))[0]
    assert first != second and second == kenlm.score(texts, str(path))[0]
    assert kenlm.load(str(path)).order == 4


def test_perplexity_of_columns(models: Any) -> None:
    path = models(3, writer.TRIE)
    texts = ["w1 w2", "", None, "w1\nw2", "\n", "new " * 9]
    wanted = []
    for text in texts:
        score, length = expected(lambda line: meaning(grams(3), line), text)
        wanted.append(None if text is None else round(10.0 ** (-score / length), 1) if length else 0.0)
    assert kenlm.perplexity(pa.array(texts), path).to_pylist() == wanted
    assert kenlm.perplexity(pa.array([], pa.string()), None).to_pylist() == []


@pytest.mark.parametrize("kind", range(6))
def test_damaged_tables_end(kind: int) -> None:
    """Numbers inside of tables may be anything: the kernel ends, and reads nothing outside of the file."""
    whole = np.frombuffer(writer.model(grams(4), kind), np.uint8)
    chance = np.random.default_rng(kind)
    view = kenlm.texts(pa.array([" ".join(random.Random(1).choices(WORDS, k=400))]))
    for share in (0.0005, 0.02, 1.0):
        for _ in range(share_of(60, 12)):
            data = whole.copy()
            places = np.flatnonzero(chance.random(len(data) - 600) < share) + 300
            data[places] = chance.integers(0, 256, len(places)) if chance.random() < 0.7 else 255
            try:
                tables = read(data).tables
            except ValueError:
                continue
            scores, lengths = np.zeros(1), np.zeros(1, np.int64)
            kenlm.score_rows(tables, kenlm.scratch(), *view[:3], False, scores, lengths)
            assert lengths[0] == 401
