"""Filter on the share of flagged words; a kernel that looks words up in a hash table of the list."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from refinery.kernels.words import subwords, wordlists

OPERATOR = {
    "doc": (
        "Keep samples in which the share of flagged words among all words lies in [min_ratio, max_ratio]. Words are "
        "lowered and lose the special characters at their ends; list entries are used unchanged, so an entry with "
        "upper case or a digit at an end never matches, nor does one with a space unless groups of words are joined by "
        "a space. These groups count as words themselves. A text without words has 0. Data-Juicer downloads its list; "
        "refinery requires a folder."
    ),
    "version": 1,
    "peer": "flagged_words_filter of Data-Juicer 1.6.1",
    "resources": {"loads": {"tokenization": True}},
    "params": {
        "lang": {
            "type": "str",
            "default": "en",
            "doc": "Language of the list; all is the lists of all languages, unless a file has one of that name.",
        },
        "tokenization": {"type": "bool", "default": False, "doc": "Use the pieces of a tokenizer as words."},
        "min_ratio": {"type": "float", "default": 0.0, "doc": "Smallest share."},
        "max_ratio": {"type": "float", "default": 0.045, "doc": "Largest share."},
        "flagged_words_dir": {
            "type": "folder",
            "default": None,
            "nullable": True,
            "doc": "Folder with *flagged_words*.json, objects of language and words; all such files are joined.",
        },
        "use_words_aug": {"type": "bool", "default": False, "doc": "Count groups of neighbouring words as words, too."},
        "words_aug_group_sizes": {"type": "list[int]", "default": [2], "min": 1, "doc": "Words of a group."},
        "words_aug_join_char": {"type": "str", "default": "", "doc": "Text between the words of a group."},
        "model": {
            "type": "file",
            "default": None,
            "nullable": True,
            "doc": "Tokenizer for tokenization: a SentencePiece model, or a tokenizer.json of the tokenizers library.",
        },
    },
    "stats": {"flagged_words_ratio": {"type": "DOUBLE", "doc": "Flagged words for each word."}},
    "bounds": {"flagged_words_ratio": ["min_ratio", "max_ratio"]},
    "checks": "check",
    "functions": {
        "flagged_words_share": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR"],
            "returns": "DOUBLE",
            "runs": "kernel",
            "call": "flagged_words_share",
        },
        "flagged_words_share_of_pieces": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR"],
            "returns": "DOUBLE",
            "runs": "python",
            "call": "flagged_words_share_of_pieces",
        },
    },
    "sql": """
        {% set groups = words_aug_group_sizes | join(',') if use_words_aug else '' %}
        SELECT
        {% if tokenization %}flagged_words_share_of_pieces({{ text }}, {{ model | lit }},
        {% else %}flagged_words_share({{ feature('words') }}.lower,
        {% endif %}
        {{ flagged_words_dir | lit }}, {{ lang | lit }}, {{ groups | lit }}, {{ words_aug_join_char | lit }})
        AS flagged_words_ratio
    """,
    "examples": [
        {
            "text": "Darn! That darned cat...",
            "params": {"flagged_words_dir": "lists"},
            "files": {"lists/flagged_words.json": '{"en": ["darn"]}'},
            "stats": {"flagged_words_ratio": 0.25},
            "keep": False,
        },
        {
            "text": "a darn2 b DARN's c",
            "params": {"flagged_words_dir": "lists", "max_ratio": 0.5},
            "files": {"lists/flagged_words.json": '{"en": ["darn", "b2", "A"]}'},
            "stats": {"flagged_words_ratio": 0.2},
            "keep": True,
        },
        {
            "text": "傻 瓜 好 人",
            "params": {"flagged_words_dir": "lists", "lang": "zh", "use_words_aug": True, "max_ratio": 0.1},
            "files": {"lists/flagged_words.json": '{"zh": ["傻瓜"]}'},
            "stats": {"flagged_words_ratio": 0.14285714285714285},
            "keep": False,
        },
        {
            "text": "bad taco",
            "params": {"flagged_words_dir": "lists", "lang": "all"},
            "files": {
                "lists/flagged_words.json": '{"en": ["bad"], "all": ["worse"]}',
                "lists/my_flagged_words.json": '{"en": ["taco"]}',
            },
            "stats": {"flagged_words_ratio": 0.0},
            "keep": True,
        },
    ],
}

KIND = "flagged_words"


def check(params: dict[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    return wordlists.check(params.get("flagged_words_dir"), KIND, params.get("lang", "en")) + subwords.check(params)


def flagged_words_share(column: pa.Array, folder: str, lang: str, groups: str, join_char: str) -> pa.Array:
    """The share of flagged words of each text, which is a list of words separated by spaces; NULL for NULL.

    groups: sizes of the groups that also count as words, separated by commas; empty without augmentation.
    """
    from refinery.kernels.words import word_ratio  # imports numba, which check() does not need

    return word_ratio.listed_ratio(column, folder, KIND, lang, _sizes(groups), join_char)


def flagged_words_share_of_pieces(
    column: pa.Array, model: str, folder: str, lang: str, groups: str, join_char: str
) -> pa.Array:
    """The share of flagged words among each text's pieces; NULL for NULL."""
    split, listed, sizes = subwords.pieces(model), wordlists.load(folder, KIND)[lang], _sizes(groups)

    def share(text: str) -> float:
        words = subwords.refined(split(text), lower=True)
        return subwords.listed_share(subwords.augmented(words, sizes, join_char), listed)

    return subwords.each_text(column, share, pa.float64())


def _sizes(groups: str) -> tuple[int, ...]:
    return tuple(int(size) for size in groups.split(",") if size)
