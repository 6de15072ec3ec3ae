"""Words and sentences by spaCy's rule tokenizers and its sentencizer, chosen by language as datatrove 0.10.1 does."""

from __future__ import annotations

import threading
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from refinery.common.cached import cached
from refinery.common.extras import install_command

SPACY_STRINGS = 2_000_000  # a tokenizer with more strings is replaced: it never frees a string
ENGLISH, CHINESE, JAPANESE = "en", "zh", "ja"

# Modules that a language needs beside spaCy.
_MODULES = {CHINESE: ("jieba",), JAPANESE: ("sudachipy", "sudachidict_core"), "vi": ("pyvi",)}

_local = threading.local()


@lru_cache(maxsize=1)
def languages() -> dict[str, str]:
    """spaCy's code for each language code."""
    return codes_of(Path(__file__).with_name("spacy_languages.txt"))


def codes_of(path: Path) -> dict[str, str]:
    """The name for each language code in a file of languages."""
    codes: dict[str, str] = {}
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    for entry in "\n".join(lines).replace("\n  ", " ").splitlines():
        code, _, names = entry.partition(":")
        for name in names.split():
            bare, plus, script = name.partition("+")
            codes |= {bare: code, f"{bare}_{script}": code} if plus else {name: code}
    return codes


def problems(language: str, parameter: str) -> list[str]:
    """Reasons why words or sentences of one of these languages are unavailable, as sentences that name the cure."""
    needed = ("spacy", *_MODULES.get(languages()[language], ()))
    missing = [name for name in needed if find_spec(name) is None]
    extra = "spacy" if missing and missing[0] in ("spacy", "jieba") else "languages"
    return (
        [f"{parameter}: words of {language} need the package {missing[0]}: {install_command(extra)}"] if missing else []
    )


def pipeline(code: str) -> Any:
    """spaCy's blank pipeline of a language with the sentencizer, one per thread because it is not thread-safe."""
    known = _local.__dict__.setdefault("pipelines", {})
    nlp = known.get(code)
    if nlp is None or len(nlp.vocab.strings) > SPACY_STRINGS:
        import spacy

        nlp = spacy.blank(code)
        if code == CHINESE:
            tokenizer: Any = nlp.tokenizer
            tokenizer.segmenter, tokenizer.jieba_seg = "jieba", jieba_tokenizer()
        nlp.add_pipe("sentencizer")
        nlp.max_length = 1 << 30
        known[code] = nlp
    return nlp


def _pipeline_of(language: str) -> Any:
    return pipeline(languages()[language])


@cached(1)
def jieba_tokenizer() -> Any:
    """jieba with its own dictionary alone: neither words that a program has added, nor a cache that others have written.

    By itself jieba reads a file in the folder for temporary files, whoever has put it there. It is no faster.
    """
    import jieba

    tokenizer = jieba.Tokenizer()
    with TemporaryDirectory(prefix="refinery-") as tokenizer.tmp_dir:
        tokenizer.initialize()
    return tokenizer


def words(text: str, language: str) -> list[str]:
    """Words and marks of a text, white space left out."""
    stripped = (token.text.strip() for token in _pipeline_of(language).tokenizer(text))
    return [word for word in stripped if word]


def sentences(text: str, language: str) -> list[str]:
    """Sentences of a text without white space at their ends; empty sentences are left out."""
    stripped = (span.text.strip() for span in _pipeline_of(language)(text).sents)
    return [sentence for sentence in stripped if sentence]


def sentence_ends(parts: list[str], language: str) -> list[int]:
    """End of each sentence of a text, in characters; blank ones among them. A part begins where the last sentence ended."""
    ends: list[int] = []
    for part in parts:
        start = ends[-1] if ends else 0
        ends += [start + span.end_char for span in _pipeline_of(language)(part).sents]
    return ends
