"""Sentences and rules of MADLAD-400 against plain Python."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.core.arrow import texts
from refinery.kernels.text import madlad, rust_patterns
from refinery.kernels.unicode import word_break
from tests.examples import share_of

uniseg = pytest.importorskip("uniseg.wordbreak")

WHITE = "\t\n\v\f\r \u0085\u00a0\u1680\u2000\u2003\u2028\u2029\u202f\u205f\u3000"
LITERALS = ["ab", "é b", " A", "x" * 70, "\ufffd"]
EXPRESSIONS = ["a.b", "A[^ ]? [bé]", r"(b|c)+\.A", r"漢\.?"]
LIMITS = [3.0, 0.5, 4.0, 20.0, 0.2]

TEXT = st.text(st.sampled_from("aAbé漢 xÉ.!?\n\x1c\u3000\ufffd1({/>"), max_size=50)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("madlad") / "cursed.txt"
    file.write_text("\n".join([*LITERALS, *EXPRESSIONS]) + "\n", encoding="utf-8", newline="")
    assert not madlad.problems(str(file))
    return str(file)


def sentences_of(text: str) -> list[str]:
    return [piece for piece in re.split(f"[.!?]+[{WHITE}]+", text) if piece.strip(WHITE)]


def rules_of(sentence: str) -> int:
    table = word_break.properties()
    words = [word for word in uniseg.words(sentence) if any(table[ord(char)] & word_break.ALNUM for char in word)]
    capitals = sum(word[0].isupper() for word in words)
    size = len(sentence.encode())
    cursed = any(one in sentence for one in LITERALS)
    cursed = cursed or any(rust_patterns.matcher(one).search(sentence) for one in EXPRESSIONS)
    broken = {
        2: len(words) >= 3 and capitals > 0.5 * len(words),
        3: size < 4 or size > 20,
        4: sum(char in "0123456789{}+/()>" for char in sentence) / size > 0.2,
        5: cursed,
    }
    return sum(1 << rule for rule, breaks in broken.items() if breaks)


@settings(max_examples=share_of(500))
@given(values=st.lists(st.none() | TEXT, max_size=4))
def test_sentences_and_rules(values: Sequence[str | None], path: str) -> None:
    view = texts(pa.array(["a. b", *values, "c"], pa.large_string()).slice(1, len(values)))
    found = madlad.sentences(view, [2, 3, 4, 5], LIMITS, madlad.cursed_list(path))
    expected = [sentences_of(text or "") for text in values]
    assert found.counts.tolist() == list(map(len, expected))
    every = [sentence for one in expected for sentence in one]
    assert [bytes(view.data[a:b]).decode() for a, b in found.bounds.T.tolist()] == every
    assert found.rules.tolist() == [rules_of(sentence) for sentence in every]
    rows = np.arange(len(values)) % 2 == 0
    chosen = [one.replace("\n", " ") for row, sentence in enumerate(expected) if rows[row] for one in sentence]
    assert madlad.texts_of(view, found, rows).to_pylist() == chosen


def test_room_grows_with_sentences(path: str) -> None:
    view = texts(pa.array(["a. " * 1000, "", "Ab. " * 3], pa.string()))
    found = madlad.sentences(view, [5], LIMITS, madlad.cursed_list(path))
    assert found.counts.tolist() == [1000, 0, 3] and len(found.rules) == 1003
    assert found.rules.tolist() == [0] * 1003


@pytest.mark.parametrize("content", ["a\nb", "a\n\nb\nc\nd\ne", "a\nb\nc\n(\nd"])
def test_lists_that_are_refused(content: str, tmp_path: Path) -> None:
    file = tmp_path / "cursed.txt"
    file.write_text(content)
    assert madlad.problems(str(file)) and madlad.problems(str(file) + ".missing")
