"""Remove sentences of repeated spans; Python rules for sentences, kernels for their keys."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from refinery.kernels.dedup import sentence_units

OPERATOR = {
    "doc": (
        "Remove the sentences of every span of n_sentences sentences that occurred before, in an earlier sample or "
        "earlier in the same one; the first occurrence stays. A sample that loses sentences is removed if fewer than "
        "min_doc_words words (punctuation marks count) or min_num_sentences sentences are left; one that loses none "
        "stays, however short, even empty. White space at the beginning of the remaining text is removed. Sentences "
        "are cut by rules close to spaCy's English ones (`fast`), by spaCy itself as in datatrove (`spacy`), or at "
        "line ends (`lines`). A line break ends a sentence only with `lines`; an opening quotation mark or bracket "
        "after a full stop belongs to the sentence before it, as in spaCy. With min_words_to_remove_span, all "
        "consecutive repeated sentences count and are restored; datatrove counts and restores only the first."
    ),
    "version": 1,
    "peer": "the sentence deduplication of datatrove 0.10.1, all documents in one task",
    "resources": {"loads": {"sentences": "spacy"}},
    "params": {
        "sentences": {
            "type": "str",
            "default": "fast",
            "choices": ["fast", "spacy", "lines"],
            "doc": "How to cut sentences; spacy needs the extra of that name.",
        },
        "language": {"type": "str", "default": "en", "doc": "spaCy's code of the language; only for `sentences: spacy`."},
        "n_sentences": {"type": "int", "default": 3, "min": 1, "doc": "Sentences in a span."},
        "min_doc_words": {
            "type": "int",
            "default": 50,
            "doc": "A sample that lost sentences is removed if it has fewer words left; 0 for no limit.",
        },
        "min_num_sentences": {
            "type": "int",
            "default": 3,
            "doc": "A sample that lost sentences is removed if it has fewer sentences left; 0 for no limit.",
        },
        "min_words_to_remove_span": {
            "type": "int",
            "default": 0,
            "doc": "Consecutive repeated sentences stay if they have fewer words in total.",
        },
        "drop_empty": {
            "type": "bool",
            "default": True,
            "doc": "Remove a sample if too little of it is left, as in datatrove; otherwise its text becomes empty.",
        },
        "lowercase": {"type": "bool", "default": True, "doc": "Compare in lower case."},
        "norm_numbers": {"type": "bool", "default": True, "doc": "Compare with every number as 0."},
        "norm_weekdays": {"type": "bool", "default": False, "doc": "Compare with English names of weekdays as one word."},
        "norm_monthnames": {"type": "bool", "default": False, "doc": "Compare with English names of months as one word."},
        "remove_punctuation": {"type": "bool", "default": True, "doc": "Compare with punctuation marks as spaces."},
        "norm_whitespace": {"type": "bool", "default": True, "doc": "Compare with every run of white space as one space."},
        "norm_unicode_diacritics": {"type": "bool", "default": True, "doc": "Compare without accents and other marks."},
    },
    "checks": "checks",
    "functions": {
        "sentence_keys": {
            "columns": ["VARCHAR"],
            "constants": [
                "VARCHAR", "VARCHAR", "BIGINT",
                "BOOLEAN", "BOOLEAN", "BOOLEAN", "BOOLEAN", "BOOLEAN", "BOOLEAN", "BOOLEAN",
            ],
            "returns": "UBIGINT[]",
            "runs": "python",
            "call": "sentence_keys",
        },
        "without_sentences": {
            "columns": ["VARCHAR", "BIGINT[]"],
            "constants": ["VARCHAR", "VARCHAR", "BIGINT", "BIGINT", "BIGINT", "BIGINT"],
            "returns": "VARCHAR",
            "runs": "python",
            "call": "without_sentences",
        },
    },
    "match": "units",
    "units": {"name": "sentences", "split": "texts_of_spans"},
    "rule": {"kind": "first_stays", "drop_empty": "drop_empty"},
    "sql": (
        "SELECT sentence_keys({{ text }}, {{ sentences | lit }}, {{ language | lit }}, {{ n_sentences | lit }}, "
        "{{ lowercase | lit }}, {{ norm_numbers | lit }}, {{ norm_weekdays | lit }}, {{ norm_monthnames | lit }}, "
        "{{ remove_punctuation | lit }}, {{ norm_whitespace | lit }}, {{ norm_unicode_diacritics | lit }}) AS units"
    ),
    "apply": (
        "SELECT without_sentences({{ text }}, {{ removed }}, {{ sentences | lit }}, {{ language | lit }}, "
        "{{ n_sentences | lit }}, {{ min_words_to_remove_span | lit }}, {{ min_doc_words | lit }}, "
        "{{ min_num_sentences | lit }}) AS delta"
    ),
    "examples": [
        {
            "texts": [
                "The first. A shared one. Another shared one. And a third. It ends here.",
                "Something new. A shared one! Another  SHARED one... no. Another end.",
                "Others begin. A shared one. Another shared one. And a third. They end too.",
            ],
            "params": {"min_doc_words": 0, "min_num_sentences": 0},
            "out": [
                "The first. A shared one. Another shared one. And a third. It ends here.",
                "Something new. A shared one! Another  SHARED one... no. Another end.",
                "Others begin. They end too.",
            ],
        },
        {
            "texts": ["One of them. Page 1, Café. X y.", "ONE OF THEM! Page 3.14: cafe? Z."],
            "params": {"n_sentences": 2, "min_doc_words": 0, "min_num_sentences": 0},
            "out": ["One of them. Page 1, Café. X y.", "Z."],
        },
        {
            "texts": ["See e.g. Mr. Smith. He is in.", "New. See e.g. Mr. Smith. Ok."],
            "params": {"n_sentences": 1, "min_doc_words": 0, "min_num_sentences": 1},
            "out": ["See e.g. Mr. Smith. He is in.", "New. Ok."],
        },
        {
            "texts": ["The same here. And there.", "The same here. And there."],
            "params": {"n_sentences": 2},
            "out": ["The same here. And there.", None],
        },
        {
            "texts": ["one\ntwo\nthree", "zero\r\none\r\ntwo\r\nfour"],
            "params": {"sentences": "lines", "n_sentences": 2, "min_doc_words": 0, "min_num_sentences": 0},
            "out": ["one\ntwo\nthree", "zero\nfour"],
        },
        {
            "texts": ["Yes. No. Yes.", "Yes. Something else."],
            "params": {"n_sentences": 1, "min_doc_words": 0, "min_num_sentences": 0, "min_words_to_remove_span": 3},
            "out": ["Yes. No. Yes.", "Yes. Something else."],
        },
    ],
}  # fmt: skip


def checks(params: dict[str, Any]) -> list[str]:
    """Problems that prevent a run."""
    return sentence_units.problems(params["sentences"], params["language"])


def sentence_keys(
    column: pa.Array,
    sentences: str,
    language: str,
    n_sentences: int,
    lowercase: bool,
    norm_numbers: bool,
    norm_weekdays: bool,
    norm_monthnames: bool,
    remove_punctuation: bool,
    norm_whitespace: bool,
    norm_unicode_diacritics: bool,
) -> pa.Array:
    """A key per span of sentences of each text; 0 for spans without a word."""
    how = (
        lowercase * sentence_units.LOWER
        | norm_numbers * sentence_units.NUMBERS
        | norm_weekdays * sentence_units.WEEKDAYS
        | norm_monthnames * sentence_units.MONTHS
        | remove_punctuation * sentence_units.PUNCTUATION
        | norm_whitespace * sentence_units.SPACES
        | norm_unicode_diacritics * sentence_units.DIACRITICS
    )
    return sentence_units.sentence_keys(column, sentences, language, n_sentences, how)


def without_sentences(
    column: pa.Array,
    removed: pa.Array,
    sentences: str,
    language: str,
    n_sentences: int,
    min_words_to_remove_span: int,
    min_doc_words: int,
    min_num_sentences: int,
) -> pa.Array:
    """Each text without the sentences of these spans; empty if too little is left; NULL where nothing changes."""
    left = sentence_units.remove_sentences(column, removed, sentences, language, n_sentences, min_words_to_remove_span)
    return sentence_units.enough_or_empty(left, sentences, language, min_doc_words, min_num_sentences)


def texts_of_spans(text: str, params: dict[str, Any]) -> list[str]:
    """The spans of a text, as the numbers of units count them; without blank sentences, as in `sentence_units`."""
    n = params["n_sentences"]
    if params["sentences"] == "lines":
        lines = text.splitlines()
        return ["\n".join(lines[i : i + n]) for i in range(len(lines) - n + 1)]
    found = sentence_units.spans(text, params["sentences"], params["language"])
    found = [(start, end) for start, end in found if not text[start:end].isspace()]
    return [text[found[i][0] : found[i + n - 1][1]] for i in range(len(found) - n + 1)]
