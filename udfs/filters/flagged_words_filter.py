"""Filter on the share of flagged words; a kernel that looks words up in a hash table of the list."""

from __future__ import annotations

from functools import partial

from refinery.kernels.words import listed_words

OPERATOR = {
    "doc": (
        "Keep samples in which the share of flagged words among all words lies in [min_ratio, max_ratio]. Words are "
        "lowered and lose the special characters at their ends; list entries are used unchanged, so an entry with "
        "upper case, or with a digit at an end, never matches. Nor does one with a space, unless groups of words are "
        "joined by a space. These groups count as words, too. A text without words has 0. Data-Juicer downloads its "
        "list; refinery requires a folder."
    ),
    "version": 1,
    "peer": "flagged_words_filter of Data-Juicer 1.6.1",
    "resources": {"loads": {"tokenization": True}},
    "params": {
        "lang": {
            "type": "str",
            "default": "en",
            "doc": "Language of the list. `all` joins the lists of all languages, unless a file has a language of that "
            "name.",
        },
        "tokenization": {"type": "bool", "default": False, "doc": "Use the pieces of a tokenizer as words."},
        "min_ratio": {"type": "float", "default": 0.0, "doc": "Smallest share."},
        "max_ratio": {"type": "float", "default": 0.045, "doc": "Largest share."},
        "flagged_words_dir": {
            "type": "folder",
            "default": None,
            "nullable": True,
            "asset": "*flagged_words*.json",
            "doc": "Folder with *flagged_words*.json, objects of language and words; all such files are joined.",
        },
        "use_words_aug": {"type": "bool", "default": False, "doc": "Count groups of neighbouring words as words, too."},
        "words_aug_group_sizes": {"type": "list[int]", "default": [2], "min": 1, "doc": "Numbers of words in a group."},
        "words_aug_join_char": {"type": "str", "default": "", "doc": "Text between the words of a group."},
        "model": {
            "type": "file",
            "default": None,
            "nullable": True,
            "asset": "{lang}.sp.model",
            "needed": "tokenization",
            "doc": "Tokenizer for tokenization: a SentencePiece model, or a tokenizer.json of the tokenizers library.",
        },
    },
    "stats": {"flagged_words_ratio": {"type": "DOUBLE", "most": 1, "doc": "Flagged words per word."}},
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
            "columns": ["VARCHAR", "BIGINT[]"],
            "constants": ["VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR"],
            "returns": "DOUBLE",
            "runs": "kernel",
            "call": "flagged_words_share_of_pieces",
        },
    },
    "sql": """
        {% set groups = words_aug_group_sizes | join(',') if use_words_aug else '' %}
        SELECT
        {% if tokenization %}
        {% set words = feature('piece_words', model=model) %}
        flagged_words_share_of_pieces({{ words }}.lower, {{ words }}.ends,
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

check = partial(listed_words.check, kind="flagged_words")
flagged_words_share = partial(listed_words.share, kind="flagged_words")
flagged_words_share_of_pieces = partial(listed_words.share_of_pieces, kind="flagged_words")
