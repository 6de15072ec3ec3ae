"""Word lists of filters that count listed words.

A folder holds JSON files, each an object of language -> list of words. All files whose names contain the kind
("stopwords", "flagged_words") and end in .json are merged, language by language. The language "all" has every
language's words unless a file has a list of that name. Needs only the standard library.
"""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path

from refinery.kernels.core.file_state import state_of


class WordListError(ValueError):
    """A word list cannot be read; the message names the file and the cure."""


Signature = tuple[tuple[str, tuple[int, ...]], ...]


def check(folder: str | None, kind: str, lang: str) -> list[str]:
    """Problems of the list `lang` of this kind, as sentences that name the cure."""
    if folder is None:
        return [f"{kind}_dir is not given; {_expected(kind)}"]
    try:
        languages = load(str(folder), kind)
    except WordListError as error:
        return [str(error)]
    if lang not in languages:
        known = ", ".join(sorted(languages))
        return [f"{folder}: no {kind} for lang {lang!r}, only for {known}; use one of these, or add a list {lang!r}"]
    return []


def load(folder: str, kind: str) -> dict[str, frozenset[str]]:
    """Words by language, "all" included. Read once per state of the files. Raises WordListError."""
    return _load(folder, kind, signature(folder, kind))


def signature(folder: str, kind: str) -> Signature:
    """Name and state of every file of this kind, which change when a list changes."""
    try:
        with os.scandir(folder) as entries:
            lists = [entry for entry in entries if entry.name.endswith(".json") and kind in entry.name]
            return tuple(sorted((entry.name, state_of(entry.path)) for entry in lists))
    except OSError as error:
        raise WordListError(f"{folder}: {error.strerror or error}; {_expected(kind)}") from None


@lru_cache(maxsize=16)
def _load(folder: str, kind: str, files: Signature) -> dict[str, frozenset[str]]:
    languages: dict[str, set[str]] = {}
    for name, _ in files:
        for lang, words in _read(Path(folder) / name).items():
            languages.setdefault(lang, set()).update(words)
    if not languages:
        raise WordListError(f"{folder}: no file *{kind}*.json with a list; {_expected(kind)}")
    languages.setdefault("all", set().union(*languages.values()))
    return {lang: frozenset(words) for lang, words in languages.items()}


def _read(path: Path) -> dict[str, list[str]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WordListError(f"{path}: {error.strerror or error}; make it readable or take it away") from None
    except ValueError as error:  # JSON or UTF-8
        raise WordListError(f"{path}: not JSON in UTF-8: {error}") from None
    if not isinstance(content, dict):
        raise WordListError(f"{path}: not an object of language and words, such as {_SAMPLE}")
    for lang, words in content.items():
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise WordListError(f"{path}: {lang!r} is not a list of strings; the file should look like {_SAMPLE}")
    return content


_SAMPLE = '{"en": ["the", "of"]}'


def _expected(kind: str) -> str:
    return (
        f"set {kind}_dir to a local folder with {kind}.json (or any *{kind}*.json), an object of language and words "
        f"such as {_SAMPLE}; Data-Juicer would download its own list, refinery downloads nothing"
    )
