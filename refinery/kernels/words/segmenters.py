"""Words of Chinese by jieba and of Japanese by MeCab, as NeMo Curator cuts them; other languages have spaces."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.extras import install_command
from refinery.kernels.core.arrow import Texts, structs, texts, texts_at
from refinery.kernels.words.space_words import AT_SPACES, LETTERED, Cut, word_classes
from refinery.kernels.words.spacy_words import jieba_tokenizer

# Module that a language needs, and the command that brings it.
MODULES = {"zh": ("jieba", install_command("spacy")), "ja": ("MeCab", "pip install mecab-python3 unidic-lite")}

ELLIPSES = {"...", "[...]", "(...)", "…", "[…]", "-»"}

FIELDS = ("words", "chars", "longest", "lettered", "symbol_words")

_local = threading.local()


def check(params: Mapping[str, Any]) -> list[str]:
    """Reasons why the words of the language `lang` are unavailable, as sentences that name the cure."""
    module, cure = MODULES.get(params["lang"].lower(), ("", ""))
    if not module or find_spec(module):
        return []
    return [f"lang: {params['lang']} needs the Python package {module}: {cure}"]


def segmented(text: str, lang: str) -> Iterator[str]:
    """The words of a text in Chinese or Japanese, in order."""
    if lang == "zh":
        yield from jieba_tokenizer().cut(text.strip())
        return
    for line in _mecab().parse(text.strip()).strip().split("\n"):
        if line and line != "EOS":
            yield line.split("\t")[0]


def _mecab() -> Any:
    """MeCab with its dictionary; each thread has its own."""
    if "mecab" not in _local.__dict__:
        import MeCab

        _local.mecab = MeCab.Tagger()
    return _local.mecab


def segmented_words(column: pa.Array, lang: str) -> pa.Array:
    """A struct of measures of the words of each text, as the feature `split_words` has them; NULL for NULL."""
    view = texts(column)
    counts = np.zeros((len(FIELDS), len(view)), np.int64)
    for row in np.flatnonzero(view.valid):
        words = list(segmented(texts_at(view, np.array([row]))[0], lang))
        lengths = list(map(len, words))
        lettered, symbols = sum(map(_has_letter, words)), sum(map(_is_symbol, words))
        counts[:, row] = len(words), sum(lengths), max(lengths, default=0), lettered, symbols
    return structs(view.valid, **dict(zip(FIELDS, counts, strict=True)))


def _has_letter(word: str) -> bool:
    return any(word_classes()[ord(char)] & LETTERED for char in word)


def _is_symbol(word: str) -> bool:
    """True for an ellipsis, and for a word in which runs of # are more than half of the characters."""
    return word in ELLIPSES or 2 * len(re.findall("#+", word)) > len(word)


def cut_of(view: Texts, lang: str) -> Cut:
    """The words of a column in a language, as positions; AT_SPACES for a language that has spaces."""
    if lang not in MODULES:
        return AT_SPACES
    rows, starts, ends = [0], list[int](), list[int]()
    for row in range(len(view)):
        if view.valid[row]:
            text, at = texts_at(view, np.array([row]))[0], 0
            for word in segmented(text, lang):
                start = text.index(word, at)
                starts.append(
                    len(text[at:start].encode()) + (ends[-1] if len(ends) > rows[-1] else int(view.offsets[row]))
                )
                at = start + len(word)
                ends.append(starts[-1] + len(word.encode()))
        rows.append(len(ends))
    return Cut(*(np.array(values, np.int64) for values in (rows, starts, ends)))
