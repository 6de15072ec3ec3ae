"""n-grams of words against what plain Python says of the same texts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.kernels.core.arrow import texts as view_of
from refinery.kernels.words.segmenters import cut_of
from refinery.kernels.words.space_words import Cut
from refinery.kernels.words.word_grams import word_grams
from tests.examples import share_of

MOST = 5
PIECES = [*" \n\x1c\u3000", *"   ", "a", "b", "c", "ab", "é", "日本", "long word of", "a b a b", "x" * 20]
TEXT = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def measures(text: str, n: int) -> dict[str, int]:
    words = text.split()
    grams = list(zip(*(words[i:] for i in range(n)), strict=False))
    counts = Counter(grams)
    if not grams:
        return dict.fromkeys(("top_count", "top_chars", "top_found", "repeated", "all", "again"), 0)
    [(top, count)] = counts.most_common(1)
    sizes = {gram: sum(map(len, gram)) for gram in counts}
    return {
        "top_count": count,
        "top_chars": sizes[top],
        "top_found": text.count(" ".join(top)),
        "repeated": sum(sizes[gram] * counts[gram] for gram in counts if counts[gram] > 1),
        "all": sum(sizes[gram] * counts[gram] for gram in counts),
        "again": again(words, grams, n),
    }


def again(words: list[str], grams: list[tuple[str, ...]], n: int) -> int:
    """Characters in second and later occurrences, and the blanks within and between those that overlap."""
    covered, blanks = set[int](), set[int]()
    for i, gram in enumerate(grams):
        if gram in grams[:i]:
            blanks |= {*range(i, i + n - 1)} if i not in covered else {*range(i - 1, i + n - 1)}
            covered |= {*range(i, i + n)}
    return sum(len(words[i]) for i in covered) + len(blanks & {*range(len(words))})


def expected(text: str | None) -> dict[str, list[int]] | None:
    if text is None:
        return None
    by_size = [measures(text, n) for n in range(1, MOST + 1)]
    return {name: [found[name] for found in by_size] for name in by_size[0]}


@settings(max_examples=share_of(500))
@given(st.lists(st.none() | TEXT, max_size=5))
def test_measures(texts: list[str | None]) -> None:
    wanted = [expected(text) for text in texts]
    assert word_grams(pa.array(texts, pa.string()), MOST, MOST).to_pylist() == wanted
    shifted = pa.array(["é ", *texts, "x"], pa.large_string()).slice(1, len(texts))
    assert word_grams(shifted, MOST, MOST).to_pylist() == wanted


@settings(max_examples=share_of(100))
@given(st.lists(st.none() | TEXT, max_size=5))
def test_given_words(texts: list[str | None]) -> None:
    column = pa.array(texts, pa.string())
    assert word_grams(column, MOST, MOST, positions(texts)).to_pylist() == [expected(text) for text in texts]


def positions(texts: list[str | None]) -> Cut:
    """The words between white space, as a segmenter hands them out."""
    view, rows, starts, ends = view_of(pa.array(texts, pa.string())), [0], list[int](), list[int]()
    for row, text in enumerate(texts):
        at = 0
        for word in (text or "").split():
            start = (text or "").index(word, at)
            at = start + len(word)
            starts.append(int(view.offsets[row]) + len((text or "")[:start].encode()))
            ends.append(starts[-1] + len(word.encode()))
        rows.append(len(ends))
    return Cut(*(np.array(values, np.int64) for values in (rows, starts, ends)))


def test_words_of_jieba() -> None:
    texts = [" 我们走 我们走吧", None, "我们走", "", "é我们"]
    column = pa.array(["é我", *texts]).slice(1)
    cut = cut_of(view_of(column), "zh")
    data = b"".join(text.encode() for text in ["é我", *(text or "" for text in texts)])
    words = [
        [data[cut.starts[k] : cut.ends[k]].decode() for k in range(cut.rows[row], cut.rows[row + 1])]
        for row in range(len(texts))
    ]
    assert words == [["我们", "走", " ", "我们", "走", "吧"], [], ["我们", "走"], [], ["é", "我们"]]


def test_null_in_large_strings() -> None:
    assert word_grams(pa.array([None], pa.large_string()), 3, 0).to_pylist() == [None]
