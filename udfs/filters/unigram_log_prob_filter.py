"""Filter on the frequencies of a text's words, as datatrove's UnigramLogProbFilter."""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.kernels.core.file_state import state_of
from refinery.kernels.words import language_words

OPERATOR = {
    "doc": (
        "Keep samples whose words are frequent: the mean of the natural logarithms of their frequencies exceeds "
        "logprobs_threshold. Words are those of the language's tokenizer in lower case, punctuation marks among them; "
        "the frequency of a word is its count in a table, divided by the sum of all counts, and 1e-9 for a word that "
        "the table lacks. A text without words has 0. datatrove downloads a table of English words, "
        "unigram_freq.csv (kaggle.com/datasets/rtatman/english-word-frequency); refinery needs its path."
    ),
    "version": 1,
    "peer": "UnigramLogProbFilter of datatrove 0.10.1",
    "params": {
        "logprobs_threshold": {"type": "float", "default": -10, "doc": "A kept sample has a greater mean."},
        "language": {"type": "str", "default": "eng", "doc": "Code of the language whose tokenizer cuts words."},
        "unigram_freq_file": {
            "type": "file",
            "default": None,
            "nullable": True,
            "asset": "unigram_freq.csv",
            "doc": "Table of words: CSV with the columns word and count, plain or gzip.",
        },
    },
    "stats": {"unigram_logprob": {"type": "DOUBLE", "doc": "Mean logarithm of the frequencies of words."}},
    "checks": "problems",
    "functions": {
        "mean_logprob": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "DOUBLE",
            "runs": "python",
            "call": "mean_logprob",
        }
    },
    "sql": """
        SELECT mean_logprob({{ feature('datatrove_words', language=language) }}.joined, {{ unigram_freq_file | lit }})
            AS unigram_logprob, unigram_logprob > {{ logprobs_threshold | lit }} AS keep
    """,
    "examples": [
        {
            "text": "The THE cat",
            "params": {"unigram_freq_file": "freq.csv"},
            "files": {"freq.csv": "word,count\nthe,3\ncat,1\n"},
            "stats": {"unigram_logprob": -0.6538861686744841},
            "keep": True,
        },
        {
            "text": "dog",
            "params": {"unigram_freq_file": "freq.csv"},
            "files": {"freq.csv": "count,word\n3,the\n"},
            "stats": {"unigram_logprob": -20.72326583694641},
            "keep": False,
        },
        {
            "text": " \n",
            "params": {"unigram_freq_file": "freq.csv", "logprobs_threshold": 0},
            "files": {"freq.csv": "word,count\nthe,3\n"},
            "stats": {"unigram_logprob": 0.0},
            "keep": False,
        },
        {
            "text": "the",
            "params": {"unigram_freq_file": "freq.csv"},
            "files": {"freq.csv": "word;count\nthe;3\n"},
            "error": True,
        },
        {"text": "the", "error": True},
    ],
}

_UNKNOWN = math.log(1e-9)


def problems(params: dict[str, Any]) -> list[str]:
    """Problems of the language and the table, as sentences."""
    found = list(language_words.problems(params["language"]))
    try:
        _table(params["unigram_freq_file"])
    except ValueError as error:
        found.append(str(error))
    return found


def _table(path: str) -> dict[str, float]:
    """Logarithms of the frequencies of words. Raises ValueError."""
    try:
        return _read(path, state_of(path))
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None


@lru_cache(maxsize=4)
def _read(path: str, state: tuple[int, ...]) -> dict[str, float]:
    raw = Path(path).read_bytes()
    try:
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
    except (UnicodeDecodeError, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: not a table in UTF-8: {error}") from None
    rows = csv.DictReader(io.StringIO(text, newline=""))
    if not {"word", "count"} <= {*(rows.fieldnames or ())}:
        raise ValueError(f"{path}: its first line must name the columns word and count, divided by a comma")
    counts: dict[str, int] = {}
    total = 0
    for row in rows:
        try:
            counts[row["word"]] = int(row["count"])
            total += int(row["count"])
        except (TypeError, ValueError):
            raise ValueError(f"{path}: line {rows.line_num} has no whole number as count") from None
    if total <= 0 or min(counts.values()) < 0:
        raise ValueError(f"{path}: counts must not be negative, and one of them must be positive")
    return {word: math.log(count / total) if count else -math.inf for word, count in counts.items()}


def mean_logprob(column: pa.Array, path: str) -> pa.Array:
    """Mean logarithm of the frequencies of words, which U+000A divides; 0 without words, NULL for NULL."""
    table = _table(path)
    return pa.array([None if words is None else _mean(words, table) for words in column.to_pylist()], pa.float64())


def _mean(joined: str, table: dict[str, float]) -> float:
    if not joined:
        return 0.0
    words = joined.lower().split("\n")
    return sum(table.get(word, _UNKNOWN) for word in words) / len(words)
