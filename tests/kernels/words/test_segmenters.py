"""Words of languages without spaces, and what is said where a segmenter is missing."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pyarrow as pa
import pytest

from refinery.errors import RecipeError
from refinery.execution.open import open_recipe
from refinery.kernels.core.arrow import texts
from refinery.kernels.words import segmenters


def test_a_missing_segmenter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmenters, "find_spec", lambda name: None)
    for lang, cure in (("ja", "pip install mecab-python3 unidic-lite"), ("zh", "jieba>=0.42")):
        (said,) = segmenters.check({"lang": lang})
        assert f"lang: {lang} needs" in said and cure in said
    assert segmenters.check({"lang": "en"}) == []


@pytest.mark.skipif(segmenters.find_spec("MeCab") is not None, reason="MeCab is installed")
def test_japanese_without_its_segmenter_is_refused_before_the_run() -> None:
    with pytest.raises(RecipeError, match="MeCab"):
        open_recipe({"process": [{"word_count_filter": {"lang": "ja"}}]}, need_inputs=False)


def test_words_of_japanese(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines that MeCab writes: a word, a tab, its properties; white space is between words."""
    parsed = {"東京 へ": "東京\t名詞\nへ\t助詞\nEOS\n", "": "EOS\n"}
    tagger = SimpleNamespace(parse=parsed.__getitem__)
    monkeypatch.setitem(sys.modules, "MeCab", SimpleNamespace(Tagger=lambda: tagger))
    monkeypatch.setattr(segmenters, "_local", SimpleNamespace())
    column = pa.array([" 東京 へ", None, ""])
    measures = segmenters.segmented_words(column, "ja").to_pylist()
    assert measures[0] == {"words": 2, "chars": 3, "longest": 2, "lettered": 2, "symbol_words": 0}
    assert measures[1] is None and measures[2]["words"] == 0
    cut = segmenters.cut_of(texts(column), "ja")
    assert (cut.rows.tolist(), cut.starts.tolist(), cut.ends.tolist()) == ([0, 2, 2, 2], [1, 8], [7, 11])
