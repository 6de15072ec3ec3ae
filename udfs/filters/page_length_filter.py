"""Filter on the number of words, sentences, lines, paragraphs or characters, as DCLM counts them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from refinery.common.extras import install_command
from refinery.kernels.words import punkt

OPERATOR = {
    "doc": (
        "Keep samples whose number of words, sentences, lines, paragraphs or characters lies in [min_length, max_length]. Words "
        "of fasttext are cut at ASCII white space alone, each line feed is one more, and with ignore_punctuation only those that "
        'begin with a letter or digit count, so `"quoted` does not. Lines end at line feeds and paragraphs at two of them; blank '
        "ones do not count. Sentences are those of BlingFire or of NLTK's Punkt, for which nltk_data is needed."
    ),
    "version": 1,
    "peer": "page_length_filter of DCLM",
    "params": {
        "length_type": {
            "type": "str",
            "choices": ["word", "sentence", "line", "paragraph", "char"],
            "doc": "The unit of length.",
        },
        "min_length": {"type": "int", "default": 1, "doc": "Fewest units."},
        "max_length": {"type": "float", "default": 9223372036854775807, "doc": "Most units."},
        "model": {
            "type": "str",
            "default": "fasttext",
            "choices": ["fasttext", "uniseg", "split"],
            "doc": "How to cut words: at ASCII white space, at the boundaries of UAX 29, or at all white space.",
        },
        "ignore_punctuation": {
            "type": "bool",
            "default": False,
            "doc": "Count only words that begin with a letter or digit.",
        },
        "ignore_whitespace": {"type": "bool", "default": True, "doc": "Leave out words of white space."},
        "remove_empty": {"type": "bool", "default": True, "doc": "Leave out blank lines and paragraphs."},
        "tokenizer": {
            "type": "str",
            "default": "blingfire",
            "choices": ["blingfire", "nltk"],
            "doc": "How to cut sentences.",
        },
        "tokenizer_lang": {
            "type": "str",
            "default": None,
            "nullable": True,
            "doc": "With nltk: language, such as english. For others, and null, Punkt has parameters only if nltk_data is given.",
        },
        "nltk_data": {
            "type": "folder",
            "default": None,
            "nullable": True,
            "doc": "With nltk: the folder nltk_data, or the folder of one language in its tokenizers/punkt_tab.",
        },
    },
    "stats": {"page_length": {"type": "BIGINT", "doc": "Number of units."}},
    "bounds": {"page_length": ["min_length", "max_length"]},
    "checks": "check",
    "functions": {
        "blingfire_sentences": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "BIGINT",
            "runs": "python",
            "call": "blingfire_sentences",
        },
        "punkt_sentences": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR"],
            "returns": "BIGINT",
            "runs": "python",
            "call": "punkt_sentences",
        },
    },
    "sql": """
        SELECT
        {% if length_type == "char" %}length({{ text }})
        {% elif length_type == "word" %}
        {{ feature("dclm_word_count", model=model, ignore_punctuation=ignore_punctuation, ignore_whitespace=ignore_whitespace) }}
        {% elif length_type == "line" %}{{ feature("line_marks") }}.{{ "inked" if remove_empty else "lines" }}
        {% elif length_type == "paragraph" and remove_empty %}{{ feature("inked_pieces", end="\n\n") }}
        {% elif length_type == "paragraph" %}len(string_split({{ text }}, chr(10) || chr(10)))
        {% elif tokenizer == "nltk" %}punkt_sentences({{ text }}, {{ (nltk_data or "") | lit }}, {{ (tokenizer_lang or "english") | lit }})
        {% else %}blingfire_sentences({{ text }})
        {% endif %} AS page_length
    """,
    "examples": [
        {
            "text": 'The "end", 3 \u00a0 $5',
            "params": {"length_type": "word", "ignore_punctuation": True},
            "stats": {"page_length": 2},
            "keep": True,
        },
        {
            "text": "one\ntwo",
            "params": {"length_type": "word", "max_length": 2},
            "stats": {"page_length": 3},
            "keep": False,
        },
        {
            "text": "don't stop",
            "params": {"length_type": "word", "model": "uniseg", "ignore_whitespace": False},
            "stats": {"page_length": 3},
            "keep": True,
        },
        {
            "text": "One.  Two? \n\n Three",
            "params": {"length_type": "sentence", "min_length": 3},
            "stats": {"page_length": 3},
            "keep": True,
        },
        {"text": "a\n \n\nb", "params": {"length_type": "line"}, "stats": {"page_length": 2}, "keep": True},
        {
            "text": "a\n\n\n\nb",
            "params": {"length_type": "paragraph", "remove_empty": False},
            "stats": {"page_length": 3},
            "keep": True,
        },
        {"text": "a\n\n\n\nb", "params": {"length_type": "paragraph"}, "stats": {"page_length": 2}, "keep": True},
        {"text": "né", "params": {"length_type": "char", "max_length": 2}, "stats": {"page_length": 2}, "keep": True},
        {
            "text": "It is Mr. Smith. He is here.",
            "params": {
                "length_type": "sentence",
                "tokenizer": "nltk",
                "tokenizer_lang": "english",
                "nltk_data": "data",
            },
            "files": {
                "data/abbrev_types.txt": "mr",
                "data/collocations.tab": "",
                "data/ortho_context.tab": "",
                "data/sent_starters.txt": "",
            },
            "stats": {"page_length": 2},
            "keep": True,
        },
        {"text": "", "params": {"length_type": "sentence"}, "stats": {"page_length": 0}, "keep": False},
        {
            "text": "a",
            "params": {"length_type": "sentence", "tokenizer": "nltk", "tokenizer_lang": "english"},
            "error": True,
        },
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems of the tokenizer of sentences."""
    if params["length_type"] != "sentence":
        return []
    if params["tokenizer"] == "nltk":
        language = params["tokenizer_lang"] or ""
        return punkt.problems(params["nltk_data"], language or "english", language in ("en", "english"))
    if find_spec("blingfire") is None:
        return [f"tokenizer: blingfire needs the package blingfire: {install_command('blingfire')}"]
    return []


def blingfire_sentences(column: pa.Array) -> pa.Array:
    """Number of BlingFire's sentences of each text; NULL for NULL."""
    from blingfire import text_to_sentences_and_offsets

    def count(text: str) -> int:
        _, places = text_to_sentences_and_offsets(text) if text.strip() else ("", [])
        return sum(not text[start:end].isspace() for start, end in places if start < end)

    return pa.array([None if text is None else count(text) for text in column.to_pylist()], pa.int64())


def punkt_sentences(column: pa.Array, folder: str, language: str) -> pa.Array:
    """Number of Punkt's sentences of each text; NULL for NULL."""
    return punkt.sentence_counts(column, folder, language)
