"""Texts as CCNet's models read them, and their perplexity, against the same in plain Python."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pyarrow as pa
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.models import ccnet
from refinery.operators import Library, load_module
from tests.examples import share_of
from tests.kernels.models import kenlm_writer as writer

PUNCTUATION = dict(
    zip("，。、„”“«»１」「《》´∶：？！（）；–～’━〈〉【】％►", ',.,""""""""""\'::?!();-~\'-<>[]%-', strict=True)
)
PUNCTUATION |= {"—": " - ", "．": ". ", "…": "..."}
TEXT = st.text(
    st.sampled_from([*PUNCTUATION, *"Aa İßéñΣ ١2３.,٫\n\t\0\x7f\x85\xa0\u2028\u0301\u0338一"])
    | st.characters(codec="utf-8")
)


def meaning(text: str) -> str:
    text = regex.sub(r"\p{Nd}+([.,،٫⎖⎗⎘]\p{Nd}+)?", "0", text.lower())
    text = "".join(char for char in unicodedata.normalize("NFD", text) if unicodedata.category(char) != "Mn").strip()
    text = "".join(PUNCTUATION.get(char, char) for char in text)
    return "".join(char for char in text if not (ord(char) < 32 or 127 <= ord(char) < 160))


@settings(max_examples=share_of(400))
@given(st.lists(TEXT | st.none(), max_size=4))
def test_normalized(texts: list[str | None]) -> None:
    assert ccnet.normalize(pa.array(texts, pa.string())).to_pylist() == [t if t is None else meaning(t) for t in texts]


def test_every_character() -> None:
    chars = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    wrong = [char for char in chars if ccnet.normalized(f"a{char}b") != meaning(f"a{char}b")]
    assert wrong == []


def test_perplexity(tmp_path: Path) -> None:
    """The whole text is one line, even an empty one, and U+2028 ends none."""
    library = pytest.importorskip("kenlm", reason="the library of KenLM has no wheels, it has to be compiled")
    pytest.importorskip("tokenizers")
    model, tokenizer = tmp_path / "en.arpa.bin", tmp_path / "en.json"
    grams = writer.grams_of([["one", "two"], ["two", "0"], ["one", "one", "?"]], 3)
    model.write_bytes(writer.model(grams, writer.TRIE))
    tokenizer.write_text(
        '{"pre_tokenizer": {"type": "WhitespaceSplit"}, "model": {"type": "WordLevel", "unk_token": "?", '
        '"vocab": {"?": 0, "one": 1, "two": 2, "0": 3}}}'
    )
    words = {"one", "two", "0"}
    texts = ["One TWO", "", "two 12.5 one\none", "new\u2028one \u2028 two", "ÓNE", " \n"]
    wanted = []
    for text in texts:
        line = " ".join(word if word in words else "?" for word in meaning(text).split())
        wanted.append(round(10.0 ** (-library.Model(str(model)).score(line) / (len(line.split()) + 1)), 1))
    operator = load_module(Library().operators["ccnet_perplexity_stats"].path)
    found = operator.ccnet_perplexity(pa.array([*texts, None]), str(tokenizer), str(model))
    assert found.to_pylist() == [*wanted, None]
