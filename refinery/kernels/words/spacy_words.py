"""Words and sentences by spaCy's rule tokenizers and its sentencizer, chosen by language as datatrove 0.10.1 does."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.cached import cached
from refinery.common.extras import install_command
from refinery.errors import did_you_mean
from refinery.kernels.core.arrow import structs
from refinery.kernels.text.piece_stats import lists
from refinery.kernels.words.spacy_chunks import ChunkTokenizer, TextTokenizer, Words

SPACY_STRINGS = 2_000_000  # a tokenizer with more strings is replaced: it never frees a string
ENGLISH, CHINESE = "en", "zh"

# Languages for which datatrove has its own tokenizer, or whose spaCy tokenizer needs further packages.
_ELSEWHERE = {"ja", "vi"}

_local = threading.local()


@lru_cache(maxsize=1)
def languages() -> dict[str, str]:
    """spaCy's code for each language code."""
    found: dict[str, str] = {}
    text = Path(__file__).with_name("spacy_languages.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for entry in "\n".join(lines).replace("\n  ", " ").splitlines():
        code, _, names = entry.partition(":")
        for name in names.split():
            bare, plus, script = name.partition("+")
            found |= {bare: code, f"{bare}_{script}": code} if plus else {name: code}
    return found


def problems(words: str, language: str, parameter: str = "words") -> list[str]:
    """Reasons why words or sentences of a language are unavailable, as sentences that name the cure.

    words: `fast` or `spacy`, the value of `parameter`.
    """
    known = languages()
    code = known.get(language)
    if words != "spacy":
        wrong = code != ENGLISH
        return (
            [f"{parameter}: fast has rules for English only, not for {language}: take {parameter}: spacy"]
            if wrong
            else []
        )
    if code is None or code in _ELSEWHERE:
        return [f"language {language!r} is none for which datatrove takes spaCy{did_you_mean(language, known)}"]
    missing = [name for name in ("spacy", *(["jieba"] if code == CHINESE else [])) if find_spec(name) is None]
    if missing:
        return [
            f"{parameter}: spacy needs the package {missing[0]}: {install_command('spacy')}, or take {parameter}: fast"
        ]
    return []


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

    found = jieba.Tokenizer()
    with TemporaryDirectory(prefix="refinery-") as found.tmp_dir:
        found.initialize()
    return found


def words(text: str, language: str) -> list[str]:
    """Words and marks of a text, white space left out."""
    found = (token.text.strip() for token in _pipeline_of(language).tokenizer(text))
    return [word for word in found if word]


def _numbered(text: str, language: str) -> tuple[Words, np.ndarray]:
    """Known words of a language, and the numbers of the words of a text, as `words` gives them."""
    nlp = _pipeline_of(language)
    chunks = _local.__dict__.setdefault("chunks", {})
    known = chunks.get(nlp)
    if known is None or known.full:
        chunks.clear()
        known = chunks[nlp] = (
            ChunkTokenizer(nlp.tokenizer)
            if type(nlp.tokenizer).__name__ == "Tokenizer"
            else TextTokenizer(nlp.tokenizer)
        )
    return known.words, known.of(text)


def sentences(text: str, language: str) -> list[str]:
    """Sentences of a text without white space at their ends; empty sentences are left out."""
    found = (span.text.strip() for span in _pipeline_of(language)(text).sents)
    return [sentence for sentence in found if sentence]


def sentence_spans(text: str, language: str) -> list[tuple[int, int]]:
    """Begin and end of each sentence of a text, in characters; blank ones among them."""
    return [(span.start_char, span.end_char) for span in _pipeline_of(language)(text).sents]


def word_counts(
    texts: Sequence[str | None], stops: Sequence[str], short: Sequence[int], long: Sequence[int], language: str
) -> pa.Array:
    """Measures of `word_stats.word_stats`, by these words."""
    rows = [_counts(text, *_numbered(text, language), stops) if text is not None else None for text in texts]
    names = ("words", "chars", "uppers", "titles", "stops", "types", "lines")
    return _struct(rows, names, short, long)


def sentence_counts(texts: Sequence[str | None], short: Sequence[int], long: Sequence[int], language: str) -> pa.Array:
    """Struct for each text, NULL for NULL: sentences, their code points, numbers of short and long ones."""
    rows = [_lengths(sentences(text, language)) if text is not None else None for text in texts]
    return _struct(rows, ("sentences", "chars"), short, long)


def _counts(text: str, known: Words, found: np.ndarray, stops: Sequence[str]) -> tuple[tuple[int, ...], np.ndarray]:
    lengths, times = known.length.array[found], np.bincount(found)
    listed = (known.numbers.get(word, len(times)) for word in set(stops))
    counts = (
        len(found),
        int(lengths.sum()),
        int(known.upper.array[found].sum()),
        int(known.title.array[found].sum()),
        sum(int(times[number]) for number in listed if number < len(times)),
        int(np.count_nonzero(times)),
        len(text.splitlines()),
    )
    return counts, lengths


def _lengths(found: list[str]) -> tuple[tuple[int, ...], np.ndarray]:
    lengths = np.array([len(sentence) for sentence in found], np.int64)
    return (len(found), int(lengths.sum())), lengths


def _struct(
    rows: list[tuple[tuple[int, ...], np.ndarray] | None],
    names: Sequence[str],
    short: Sequence[int],
    long: Sequence[int],
) -> pa.Array:
    valid = np.array([row is not None for row in rows], np.bool_)
    counts = np.array([row[0] if row else (0,) * len(names) for row in rows], np.int64).reshape(len(rows), len(names))
    lengths = [row[1] if row else np.zeros(0, np.int64) for row in rows]
    shorter = np.array([[(n <= limit).sum() for limit in short] for n in lengths], np.int64).reshape(
        len(rows), len(short)
    )
    longer = np.array([[(n >= limit).sum() for limit in long] for n in lengths], np.int64).reshape(len(rows), len(long))
    fields = {name: counts[:, k] for k, name in enumerate(names)}
    return structs(valid, **fields, short=lists(shorter), long=lists(longer))
