"""Filter on the share of stop words; a kernel that looks words up in a hash table of the list."""

from __future__ import annotations

from functools import partial

from refinery.kernels.words import listed_words

OPERATOR = {
    "doc": (
        "Keep samples in which the share of stop words among all words lies in [min_ratio, max_ratio]. Words are "
        "lowered and lose the special characters at their ends; list entries are used unchanged, so an entry with "
        "upper case, or with a digit at an end, never matches. Nor does one with a space, unless groups of words are "
        "joined by a space. These groups count as words, too. A text without words has 0. Data-Juicer downloads its "
        "list; refinery requires a folder."
    ),
    "version": 1,
    "peer": "stopwords_filter of Data-Juicer 1.6.1",
    "resources": {"loads": {"tokenization": True}},
    "params": {
        "lang": {
            "type": "str",
            "default": "en",
            "doc": "Language of the list. `all` joins the lists of all languages, unless a file has a language of that "
            "name.",
        },
        "tokenization": {"type": "bool", "default": False, "doc": "Use the pieces of a tokenizer as words."},
        "min_ratio": {"type": "float", "default": 0.3, "doc": "Smallest share."},
        "max_ratio": {"type": "float", "default": 1.0, "doc": "Largest share."},
        "stopwords_dir": {
            "type": "folder",
            "default": None,
            "nullable": True,
            "asset": "*stopwords*.json",
            "doc": "Folder with *stopwords*.json, objects of language and words; all such files are joined.",
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
    "stats": {"stopwords_ratio": {"type": "DOUBLE", "most": 1, "doc": "Stop words per word."}},
    "bounds": {"stopwords_ratio": ["min_ratio", "max_ratio"]},
    "checks": "check",
    "functions": {
        "stopwords_share": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR"],
            "returns": "DOUBLE",
            "runs": "kernel",
            "call": "stopwords_share",
        },
        "stopwords_share_of_pieces": {
            "columns": ["VARCHAR", "BIGINT[]"],
            "constants": ["VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR"],
            "returns": "DOUBLE",
            "runs": "kernel",
            "call": "stopwords_share_of_pieces",
        },
    },
    "sql": """
        {% set groups = words_aug_group_sizes | join(',') if use_words_aug else '' %}
        SELECT
        {% if tokenization %}
        {% set words = feature('piece_words', model=model) %}
        stopwords_share_of_pieces({{ words }}.lower, {{ words }}.ends,
        {% else %}stopwords_share({{ feature('words') }}.lower,
        {% endif %}
        {{ stopwords_dir | lit }}, {{ lang | lit }}, {{ groups | lit }}, {{ words_aug_join_char | lit }})
        AS stopwords_ratio
    """,
    "examples": [
        {
            "text": "The cat is on the mat",
            "params": {"stopwords_dir": "lists"},
            "files": {"lists/stopwords.json": '{"en": ["the", "is", "on"]}'},
            "stats": {"stopwords_ratio": 0.6666666666666666},
            "keep": True,
        },
        {
            "text": "THE 3 mats, (of) the-cat",
            "params": {"stopwords_dir": "lists", "max_ratio": 0.4},
            "files": {"lists/stopwords.json": '{"en": ["the", "of"]}'},
            "stats": {"stopwords_ratio": 0.5},
            "keep": False,
        },
        {
            "text": "out of the box",
            "params": {
                "stopwords_dir": "lists",
                "use_words_aug": True,
                "words_aug_group_sizes": [2, 3],
                "words_aug_join_char": " ",
                "min_ratio": 0.2,
            },
            "files": {"lists/stopwords.json": '{"en": ["the", "of the", "2nd"]}'},
            "stats": {"stopwords_ratio": 0.2222222222222222},
            "keep": True,
        },
        {
            "text": "el gato und the dog",
            "params": {"stopwords_dir": "lists", "lang": "all"},
            "files": {
                "lists/stopwords.json": '{"en": ["the"], "es": ["el"]}',
                "lists/more_stopwords.v2.json": '{"de": ["und"]}',
                "lists/other.json": '{"en": ["dog"]}',
            },
            "stats": {"stopwords_ratio": 0.6},
            "keep": True,
        },
        {
            "text": "123 ...",
            "params": {"stopwords_dir": "lists"},
            "files": {"lists/stopwords.json": '{"en": ["the"]}'},
            "stats": {"stopwords_ratio": 0.0},
            "keep": False,
        },
    ],
}

check = partial(listed_words.check, kind="stopwords")
stopwords_share = partial(listed_words.share, kind="stopwords")
stopwords_share_of_pieces = partial(listed_words.share_of_pieces, kind="stopwords")
