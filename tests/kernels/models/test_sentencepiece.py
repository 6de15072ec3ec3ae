"""Pieces by the kernels are those of the library, for models of every kind."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.dedup import shingles
from refinery.kernels.models import sentencepiece as kernels
from refinery.kernels.models import sentencepiece_rules
from refinery.kernels.models.pieces import cut
from refinery.kernels.models.protobuf import Damaged
from refinery.kernels.models.sentencepiece_file import Unsupported
from refinery.kernels.words import subwords
from tests.conftest import RECORDED
from tests.examples import share_of
from tests.kernels.models.trained import BPE, UNIGRAM, corpus, trained, without

library = pytest.importorskip("sentencepiece")

KINDS = [*UNIGRAM, *BPE]
NASTY = "aAbexz019 .-▁\0\t\n\r\u3000\u00a0\u200b\u0301\u0308é�ﬁﷺ①Åｶﾞ数据🎉\U0010ffff\ue000ß"
WORDS = st.sampled_from(["the ", " of", "models ", "<sep>", "x y", "▁▁", "  ", "\n\n", "数据", "é", "ab", "e\u0301"])
TEXTS = st.lists(st.text(NASTY, max_size=8) | WORDS | st.text(max_size=3), max_size=12).map("".join)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    folder = tmp_path_factory.mktemp("models")

    @cache
    def written(kind: str) -> str:
        path = folder / f"{kind}.model"
        name, _, option = kind.partition(" without ")
        path.write_bytes(without(trained(name), option) if option else trained(name))
        return str(path)

    return written


def split(path: str, texts: Sequence[str | None]) -> list[list[str] | None]:
    column = kernels.pieces(pa.array(texts, pa.string()), path)
    found = [None if row is None else cut(row["joined"], row["ends"]) for row in column.to_pylist()]
    assert [row and row["n"] for row in column.to_pylist()] == [row if row is None else len(row) for row in found]
    return found


def by_library(path: str, texts: Sequence[str | None]) -> list[list[str] | None]:
    processor = library.SentencePieceProcessor(model_file=path)
    return [None if text is None else processor.encode_as_pieces(text) for text in texts]


def same(path: str, texts: Sequence[str | None]) -> None:
    assert split(path, texts) == by_library(path, texts)


@pytest.mark.parametrize("kind", [*KINDS, "plain without dummy_prefix", "plain without remove_extra"])
def test_equal_to_the_library(kind: str, model: Callable[[str], str]) -> None:
    path = model(kind)
    same(path, [None, "", " ", "▁", "a", *corpus(), "\n".join(corpus()), None])

    @settings(max_examples=share_of(150))
    @given(st.lists(st.none() | TEXTS, max_size=5))
    def equal(texts: list[str | None]) -> None:
        same(path, texts)

    equal()


def test_long_texts(model: Callable[[str], str]) -> None:
    """Totals pass the threshold at which the library moves them; a text needs more room than was made at first."""
    words = " ".join(corpus())
    same(model("plain"), [words * 3, "x" * 20000, "ﷺ" * 3000, "数" * 5000, ("q#" * 9 + " ") * 3000])
    same(model("bytes"), ["\U0010ffff" * 3000, words])
    same(model("across"), [words * 3])


def test_a_slice_of_a_column(model: Callable[[str], str]) -> None:
    column = pa.array(["first", None, "the second one", "", "last"], pa.large_string())
    assert (
        kernels.pieces(column.slice(1, 3), model("plain")).to_pylist()
        == (kernels.pieces(column, model("plain")).to_pylist()[1:4])
    )


def test_spaces_in_pieces_are_for_the_library(model: Callable[[str], str]) -> None:
    with pytest.raises(Unsupported, match="escapes no spaces"):
        sentencepiece_rules.judge(model("plain without escape"))


@pytest.mark.parametrize("name", ["en.sp.model", "zh.sp.model"])
def test_recorded_models(name: str) -> None:
    path = RECORDED / "data_juicer" / "assets" / "models" / name
    documents = RECORDED / "data_juicer" / "docs.jsonl"
    if not path.is_file():
        pytest.skip("no recorded models")
    import json

    same(str(path), [json.loads(line)["text"] for line in documents.read_bytes().split(b"\n") if line])


# Files that are damaged, or that only the library can judge


def changed(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("size", [0, 1, 3, -1])  # at another place a piece may end, and the documentation decides
def test_a_file_that_is_cut_off(size: int, tmp_path: Path) -> None:
    with pytest.raises((Damaged, Unsupported)):
        sentencepiece_rules.judge(changed(tmp_path / "m.model", trained("plain")[:size]))


def test_a_file_that_is_cut_off_within_a_piece(tmp_path: Path) -> None:
    refused = 0
    for size in range(
        5000, 5005
    ):  # at most one of them is the end of a piece, where a file may end: pieces have six bytes and more
        try:
            sentencepiece_rules.judge(changed(tmp_path / "m.model", trained("plain")[:size]))
        except (Damaged, Unsupported):
            refused += 1
    assert refused >= 4


@settings(max_examples=share_of(200))
@given(st.data())
def test_damaged_bytes_never_crash(data: st.DataObject) -> None:
    """A changed byte gives a problem, or a model that encodes without leaving its tables."""
    import tempfile

    whole = bytearray(trained("plain"))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    with tempfile.TemporaryDirectory() as folder:
        path = changed(Path(folder) / "m.model", bytes(whole))
        try:
            sentencepiece_rules.judge(path)
        except (Damaged, Unsupported):
            return
        split(path, ["a text with the usual words ﷺ é 数据", "\n".join(corpus()[:50])])


def piece(text: bytes, score: bytes = b"\0\0\x80\xbf", kind: int = 1) -> bytes:
    body = b"\x0a" + bytes([len(text)]) + text + b"\x15" + score + b"\x18" + bytes([kind])
    return b"\x0a" + bytes([len(body)]) + body


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (piece(b"\xff"), "is not UTF-8"),
        (piece(b"the!", b"\0\0\xc0\x7f"), "no finite score"),
        (piece(b"the!", b"\0\0\0\x60"), "no logarithm"),
        (piece(b"the!") * 2, "is there twice"),
        (piece(b""), "is unusual"),
        (piece(b"a\0b"), "is unusual"),
        (piece(b"<unk2>", kind=2), "not one piece"),
        (piece(b"<0x00>", kind=6), "pieces of bytes"),
        (piece(b"what", kind=9), "is unusual"),
        (b"\x12\x02\x18\x04", "neither a unigram"),
    ],
)
def test_what_the_library_judges(more: bytes, says: str, tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=says):
        sentencepiece_rules.judge(changed(tmp_path / "m.model", trained("plain") + more))


def test_unused_pieces(tmp_path: Path) -> None:
    """A piece that is marked as unused, after one that begins with it and before one that it begins with."""
    more = piece(b"tha!t", kind=5) + piece(b"tha!") + piece(b"tha!t!") + piece("ǝ".encode(), kind=5)
    same(changed(tmp_path / "m.model", trained("plain") + more), ["tha!t tha!t! tha! ǝǝ ǝ", *corpus()[:20]])


def test_a_changed_file_is_read_again(tmp_path: Path, model: Callable[[str], str]) -> None:
    path = tmp_path / "m.model"
    for kind in ("plain", "bare"):
        same(changed(path, Path(model(kind)).read_bytes()), ["Ein Text, THE models"])


def test_positive_scores(tmp_path: Path) -> None:
    """Totals that rise pass the threshold, too."""
    more = piece(b"up", b"\0\0\x7a\x44") + piece(b"upup", b"\0\0\xfa\x44")  # 1000 and 2000
    same(changed(tmp_path / "m.model", trained("plain") + more), ["up " * 5000, "upup up" * 3000])


def test_kinds_of_the_list() -> None:
    options: list[dict[str, Any]] = [*UNIGRAM.values(), *BPE.values()]
    assert len(options) == len({str(option) for option in options})


@pytest.mark.parametrize("kind", ["plain", "bpe-bytes"])
def test_tokens_of_minhash(kind: str, model: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens for MinHash and SimHash are the same from the kernels and from the library."""
    column = pa.array([None, "", " ", "数据清洗", *corpus()[:50], None, "the end"])

    def found() -> list[list[Any]]:
        tokens = shingles.tokens(column, "sentencepiece", True, r"\p{P}", model(kind))
        return [
            tokens.data.tobytes(),
            tokens.starts.tolist(),
            tokens.firsts.tolist(),
            tokens.valid.tolist(),
            tokens.gap,
        ]

    by_kernel = found()
    monkeypatch.setattr(subwords, "has_kernel", lambda path: False)
    assert by_kernel == found()


@pytest.mark.parametrize("lead", [0.0, 1e-6, 1e-4, 1e-3, 4e-3, 2e-2, -1e-4])
def test_near_ties(lead: float, tmp_path: Path) -> None:
    """Two ways to cut a word that differ by less than a total's last place, and by a little more."""
    scores = {"▁qz": -9.3127, "xw": -8.0741, "▁q": -8.6655, "zxw": -9.3127 - 8.0741 + 8.6655 + lead}
    more = b"".join(piece(text.encode(), struct.pack("<f", score)) for text, score in scores.items())
    path = changed(tmp_path / "m.model", trained("plain") + more)
    same(path, ["qzxw " * 9000, " ".join(f"qzxw {word}" for word in " ".join(corpus()).split()), "qzxw qzxw qzxw"])


def test_long_words_and_many(model: Callable[[str], str]) -> None:
    """Words around the longest that is remembered, with all lengths of characters, again and again."""
    words = [letter * count for letter in ("a", "th", "é", "据", "🎉x") for count in range(1, 14)]
    for kind in ("plain", "bpe", "bpe-bytes", "bare", "across"):
        same(model(kind), [" ".join(words), " ".join(reversed(words)), *words, " ".join(words * 3)])


def test_threads(model: Callable[[str], str]) -> None:
    """Each thread has a memory of its own."""
    texts = [" ".join(corpus()[start::7]) for start in range(7)] * 4
    path = model("plain")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: split(path, [text])[0], texts))
    assert found == by_library(path, texts)
