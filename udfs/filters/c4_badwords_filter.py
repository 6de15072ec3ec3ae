"""Filter on lists of bad words by language, as datatrove's C4BadWordsFilter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from refinery.kernels.core.arrow import of_texts
from refinery.kernels.core.file_state import state_of
from refinery.kernels.words.url_lists import UrlListError, entries

OPERATOR = {
    "doc": (
        "Remove samples with a word of the list of their language, all but a share keep_fraction of them. The text is "
        "compared in lower case. In Japanese, Thai and Chinese a word may be a part of another one; in other languages "
        "it stands between characters that are no letters, digits or underscores. datatrove downloads the lists of "
        "LDNOOBW/List-of-Dirty-Naughty-Obscene-and-Otherwise-Bad-Words (en of commit 25e679f03d96, the others of "
        "5faf2ba42d7b) when it meets a language; refinery needs a folder with files of these names, such as en or "
        "en.txt, a word a line. Four words that are frequent parts of others are left out of every list, as datatrove "
        "does. A sample in a language that is none of the 28 goes to quarantine, or is kept with "
        "fail_on_missing_language: false. A language of the 28 without a file has no listed words. Which samples "
        "keep_fraction keeps depends on their texts and the seed, not on their order as in datatrove. Blank lines are skipped."
    ),
    "version": 1,
    "peer": "C4BadWordsFilter of datatrove 0.10.1",
    "params": {
        "badwords_dir": {"type": "folder", "doc": "Folder with a list for each language: en or en.txt, plain or gzip."},
        "keep_fraction": {
            "type": "float",
            "default": 0.0,
            "min": 0,
            "max": 1,
            "doc": "Share of the samples with a listed word that is kept.",
        },
        "fail_on_missing_language": {
            "type": "bool",
            "default": True,
            "doc": "A sample in a language that no list is known of goes to quarantine.",
        },
        "seed": {"type": "int", "default": None, "nullable": True, "doc": "Another seed keeps others; null is 0."},
        "default_language": {"type": "str", "default": "en", "doc": "Language of samples without one."},
        "language_key": {"type": "str", "default": "language", "doc": "Field with the language."},
    },
    "stats": {
        "badwords": {"type": "BIGINT", "doc": "1 with a word of the list, 0 without; NULL without a list."},
        "badwords_draw": {"type": "DOUBLE", "most": 1, "doc": "Number that keep_fraction is compared with."},
    },
    "checks": "problems",
    "functions": {
        "has_badwords": {
            "columns": ["VARCHAR", "VARCHAR"],
            "constants": ["VARCHAR", "BOOLEAN"],
            "returns": "BIGINT",
            "runs": "python",
            "call": "has_badwords",
        }
    },
    "sql": """
        SELECT has_badwords({{ text }},
            coalesce(json_extract_string(to_json({{ field(language_key) }}), '$'), {{ default_language | lit }}),
            {{ badwords_dir | lit }}, {{ fail_on_missing_language | lit }}) AS badwords,
            (md5_number_lower('{{ seed or 0 }}:' || md5({{ text }})) >> 11) / 9007199254740992.0 AS badwords_draw,
            coalesce(badwords, 0) = 0{% if keep_fraction > 0 %} OR badwords_draw < {{ keep_fraction | lit }}{% endif %}
            AS keep_document_removed_with_badwords
    """,
    "examples": [
        {
            "text": "Oh DARN, it broke",
            "params": {"badwords_dir": "lists"},
            "files": {"lists/en": "darn\n\nsm\n"},
            "stats": {"badwords": 1},
            "keep": False,
            "reason": "document_removed_with_badwords",
        },
        {
            "text": "darned darn_it sm",
            "params": {"badwords_dir": "lists"},
            "files": {"lists/en.txt": "darn\nsm\n"},
            "stats": {"badwords": 0},
            "keep": True,
        },
        {
            "text": "verdammtes c++",
            "fields": {"language": "de"},
            "params": {"badwords_dir": "lists"},
            "files": {"lists/en": "darn\n", "lists/de": "c++\n"},
            "keep": False,
        },
        {
            "text": "これはバカです",
            "fields": {"language": "ja"},
            "params": {"badwords_dir": "lists"},
            "files": {"lists/ja": "バカ\n"},
            "keep": False,
        },
        {
            "text": "edarn énorme-darn",
            "fields": {"language": "fr"},
            "params": {"badwords_dir": "lists"},
            "files": {"lists/fr": "norme\nedar\n"},
            "keep": True,
        },
        {
            "text": "darn",
            "params": {"badwords_dir": "lists", "keep_fraction": 1.0},
            "files": {"lists/en": "darn\n"},
            "stats": {"badwords": 1},
            "keep": True,
        },
        {
            "text": "darn",
            "fields": {"language": "ta"},
            "params": {"badwords_dir": "lists"},
            "files": {"lists/en": "darn\n"},
            "quarantined": "no list of bad words is known for the language 'ta'",
        },
        {
            "text": "darn",
            "fields": {"language": "ta"},
            "params": {"badwords_dir": "lists", "fail_on_missing_language": False},
            "files": {"lists/en": "darn\n"},
            "stats": {"badwords": None},
            "keep": True,
        },
        {"text": "", "params": {"badwords_dir": "lists"}, "files": {"lists/en": "darn\n"}, "keep": True},
        {"text": "", "params": {"badwords_dir": "lists"}, "files": {"lists/README": "darn\n"}, "error": True},
    ],
}

_LANGUAGES = (
    "ar cs da de en eo es fa fi fil fr fr-CA-u-sd-caqc hi hu it ja kab ko nl no pl pt ru sv th tlh tr zh".split()
)
_WITHOUT_SPACES = ("ja", "th", "zh")
_LEFT_OUT = {"sm", "グロ", "女の子", "性"}


class Words(NamedTuple):
    """A list of a language: an expression of RE2 that matches where one of the words may be, and one that decides."""

    possible: str
    exact: re.Pattern[str]


_NONE = Words("", re.compile(""))


def problems(params: dict[str, Any]) -> list[str]:
    """Problems of the lists, as sentences."""
    folder = params["badwords_dir"]
    try:
        found = [language for language in _LANGUAGES if (path := _list_of(folder, language)) and entries(path)]
    except UrlListError as error:
        return [str(error)]
    return [] if found else [f"{folder}: no list in it; there must be files named {', '.join(_LANGUAGES)}"]


def _list_of(folder: str, language: str) -> str | None:
    names = [f"{language}{suffix}" for suffix in ("", ".txt", ".gz", ".txt.gz")]
    return next((str(path) for path in map(Path(folder).joinpath, names) if path.is_file()), None)


def has_badwords(texts: pa.Array, languages: pa.Array, folder: str, fail: bool) -> pa.Array:
    """1 for each text with a word of its language's list, 0 for others; NULL without a list, and for NULL."""
    values: list[int | None] = [None] * len(texts)
    rows: dict[str, list[int]] = {}
    lowered = [None if text is None else text.lower() for text in texts.to_pylist()]
    for row, language in enumerate(languages.to_pylist()):
        rows.setdefault(language, []).append(row)
    for language, members in rows.items():
        present = [row for row in members if lowered[row] is not None]
        words = _words_of(folder, language, fail)
        for row, value in zip(present, _found([lowered[row] for row in present], words), strict=True):
            values[row] = value
    return pa.array(values, pa.int64())


def _words_of(folder: str, language: str, fail: bool) -> Words | None:
    if language not in _LANGUAGES:
        if fail:
            raise ValueError(f"no list of bad words is known for the language {language!r}")
        return None
    path = _list_of(folder, language)
    return _words(path, state_of(path), language in _WITHOUT_SPACES) if path else _NONE


@lru_cache(maxsize=64)
def _words(path: str, state: tuple[int, ...], within: bool) -> Words:
    words = sorted(set(entries(path)) - _LEFT_OUT)
    if not words:
        return _NONE
    plain = "|".join(re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", word) for word in words)
    exact = "|".join(map(re.escape, words))
    if within:
        return Words(plain, re.compile(exact))
    # Any character beyond ASCII counts as one between words: what is one of them is Python's to say.
    return Words(rf"(?:[^0-9A-Za-z_]|^)(?:{plain})(?:[^0-9A-Za-z_]|$)", re.compile(rf"(?:\W|^)(?:{exact})(?:\W|$)"))


def _found(texts: Sequence[str], words: Words | None) -> list[int | None]:
    if words is None or not words.possible:
        return [None if words is None else 0] * len(texts)
    try:
        possible = pc.match_substring_regex(of_texts(texts), words.possible).to_pylist()
    except pa.ArrowInvalid:  # RE2 limits the size of its program
        possible = [True] * len(texts)
    exact = words.exact.search
    return [int(maybe and exact(text) is not None) for text, maybe in zip(texts, possible, strict=True)]
