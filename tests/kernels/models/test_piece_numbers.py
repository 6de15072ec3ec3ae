"""Measures of pieces that travel as numbers are those of the pieces as texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.models import kenlm, kenlm_pieces, piece_classes, piece_numbers, piece_words
from refinery.kernels.models import sentencepiece as kernels
from refinery.kernels.models.pieces import PIECES, cut, of_lists
from refinery.kernels.words import subwords
from refinery.operators import Library
from tests.examples import share_of
from tests.kernels.models import kenlm_writer as writer
from tests.kernels.models.trained import BPE, UNIGRAM, corpus, trained

pytest.importorskip("sentencepiece")

# White space and ends of lines of all kinds, NUL, unknown characters alone and side by side, letters with a special lower case.
NASTY = "aAbTxz019 .-▁\0\t\n\r\x1c\x85\u2028\u3000\u00a0\u200bé�ﬁﷺ数据洗🎉\U0010ffffßΣσςİİǅ"
WORDS = st.sampled_from(["the ", " of", "The THE ", "x y", "数据清洗", " ΑΣ ", "a.b.a.b.", "🎉🎉", "\n\n", " 洗 "])
TEXTS = st.lists(st.text(NASTY, max_size=8) | WORDS | st.sampled_from(corpus()), max_size=12).map("".join)
KINDS = [*UNIGRAM, *BPE]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    folder = tmp_path_factory.mktemp("tokenizers")

    @cache
    def written(kind: str) -> str:
        path = folder / f"{kind}.model"
        path.write_bytes(trained(kind))
        return str(path)

    return written


@pytest.fixture(scope="module")
def language_model(tmp_path_factory: pytest.TempPathFactory, model: Callable[[str], str]) -> Callable[[str, int], str]:
    """Writes a KenLM model of trigrams of a tokenizer's pieces of the documentation, as hash tables or as a trie."""
    folder = tmp_path_factory.mktemp("kenlm")

    @cache
    def written(kind: str, form: int) -> str:
        path = folder / f"{kind}-{form}.arpa.bin"
        sentences = [text.split(" ") for text in joined(corpus(), model(kind)).to_pylist()]
        path.write_bytes(writer.model(writer.grams_of(sentences, 3), form, writer.Options()))
        return str(path)

    return written


def joined(texts: Sequence[str | None], path: str) -> pa.Array:
    return kernels.pieces(pa.array(texts, pa.string()), path).field("joined")


def numbered(texts: Sequence[str | None], path: str) -> pa.Array:
    return kernels.numbers(pa.array(texts, pa.string()), path)


def no_texts(rows: int) -> tuple[pa.Array, pa.Array]:
    return pa.nulls(rows, pa.string()), pa.nulls(rows, pa.list_(pa.int64()))


def assert_equal(texts: Sequence[str | None], path: str, scores: str) -> None:
    """Perplexity, number of words and repetition are the same, wherever in which array the numbers lie."""
    written, numbers = joined(texts, path), numbered(["before", *texts, "after"], path)
    words = piece_words.refined_pieces(written, no_texts(len(texts))[1])
    for column in (numbers.slice(1, len(texts)), numbers.slice(1, len(texts)).cast(pa.large_binary())):
        none = no_texts(len(column))
        found = kenlm_pieces.perplexity(column, none[0], path, scores)
        assert found.to_pylist() == kenlm.perplexity(written, scores).to_pylist()
        counts = [row and row["n"] for row in words.to_pylist()]
        assert piece_classes.count(column, *none, path).to_pylist() == counts
        for n in (1, 2, 5):
            wanted = piece_words.repetition(words.field("lower"), words.field("ends"), n)
            assert piece_classes.repetition(column, *none, path, n).to_pylist() == wanted.to_pylist()


@pytest.mark.parametrize("form", [writer.PROBING, writer.TRIE])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_to_texts(kind: str, form: int, model: Callable[[str], str], language_model: Callable[..., str]) -> None:
    path, scores = model(kind), language_model(kind, form)
    assert_equal([None, "", " ", *corpus(), " ".join(corpus()), None], path, scores)

    @settings(max_examples=share_of(100))
    @given(st.lists(st.none() | TEXTS, max_size=5))
    def equal(texts: list[str | None]) -> None:
        assert_equal(texts, path, scores)

    equal()


@pytest.mark.parametrize("kind", KINDS)
def test_words_in_python(kind: str, model: Callable[[str], str]) -> None:
    """Numbers of refined words are those of plain Python, for each character that may be unknown."""
    path = model(kind)
    texts = [chr(cp) for cp in range(0x3000) if not 0xD800 <= cp < 0xE000]
    pieces = [row.split(" ") if row else [] for row in joined(texts, path).to_pylist()]
    found = piece_classes.count(numbered(texts, path), *no_texts(len(texts)), path).to_pylist()
    assert found == [len(subwords.refined(row, lower=False)) for row in pieces]


def test_equal_words_of_different_numbers(model: Callable[[str], str]) -> None:
    """Pieces and unknown characters that are the same word after refining are the same word of an n-gram."""
    path = model("plain")
    texts = ["Ǆ ǆ Ǆ ǆ", "ΣΑ σα", "the The THE the", "Ж ж Ж ж", "。a a 。a"]
    written = joined(texts, path).to_pylist()
    for n in (1, 2):
        found = piece_classes.repetition(numbered(texts, path), *no_texts(len(texts)), path, n).to_pylist()
        words = [subwords.refined(row.split(" "), lower=True) for row in written]
        assert found == [piece_words._repeated(row, n) for row in words]


def test_joined_pieces(tmp_path: Path, model: Callable[[str], str], language_model: Callable[..., str]) -> None:
    """Pieces of a library travel as texts, with ends where spaces are no boundaries."""
    rows = [["a b", "", "c"], None, ["the", "The"], []]
    pieces = of_lists(rows)
    column = piece_numbers.of_pieces(pieces)
    given_ = column.field("numbers"), column.field("joined"), column.field("ends")
    path, scores = model("plain"), language_model("plain", writer.PROBING)
    assert kernels.written(*given_, path).to_pylist() == pieces.to_pylist()
    assert piece_classes.count(*given_, path).to_pylist() == [2, None, 2, 0]
    assert piece_classes.repetition(*given_, path, 1).to_pylist() == [0.0, None, 1.0, 0.0]
    wanted = kenlm.perplexity(pieces.field("joined"), scores)
    assert kenlm_pieces.perplexity(*given_[:2], path, scores).to_pylist() == wanted.to_pylist()


def test_written_again(model: Callable[[str], str]) -> None:
    texts = [None, "", *corpus(), "数据清洗"]
    column = piece_numbers.of_numbers(numbered(texts, model("plain")))
    found = kernels.written(column.field("numbers"), column.field("joined"), column.field("ends"), model("plain"))
    assert found.equals(kernels.pieces(pa.array(texts), model("plain")))
    assert cut(found[len(texts) - 1]["joined"].as_py(), None)[-1] == "数据清洗"


def test_no_rows(model: Callable[[str], str]) -> None:
    """Constants have no value for an empty vector."""
    none = pa.nulls(0, pa.binary()), *no_texts(0)
    assert kenlm_pieces.perplexity(*none[:2], None, None).to_pylist() == []
    assert piece_classes.count(*none, None).to_pylist() == []
    assert piece_classes.repetition(*none, None, 2).to_pylist() == []
    assert kernels.written(*none, None).to_pylist() == []


def test_threads(model: Callable[[str], str], language_model: Callable[..., str]) -> None:
    """Threads fill in the same table of words."""
    path, scores = model("bare"), language_model("bare", writer.TRIE)
    columns = [numbered(corpus()[start::5], path) for start in range(5)] * 4

    def measured(column: pa.Array) -> list[float]:
        return kenlm_pieces.perplexity(column, no_texts(len(column))[0], path, scores).to_pylist()

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(measured, columns))
    assert together == [measured(column) for column in columns]


def test_types_in_sql() -> None:
    features = Library().features
    assert {function.returns for function in features["numbered_pieces"].functions} == {piece_numbers.NUMBERED}
    assert {function.returns for function in features["pieces"].functions} == {PIECES}
