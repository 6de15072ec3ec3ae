"""Sentences by NLTK's Punkt, with the parameters of a folder; NLTK itself looks for them in places of its own.

Without a folder Punkt has no parameters: it knows no abbreviations.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.common.extras import install_command
from refinery.kernels.core.file_state import state_of

FILES = ("abbrev_types.txt", "collocations.tab", "ortho_context.tab", "sent_starters.txt")


def problems(folder: str | None, language: str, needed: bool) -> list[str]:
    """Reasons why sentences of a language cannot be cut, as sentences that name the cure. needed: the folder is."""
    if find_spec("nltk") is None:
        return [f"tokenizer: nltk needs the package nltk: {install_command('nltk')}"]
    if not folder and not needed:
        return []
    if not folder:
        return [
            "tokenizer: nltk needs nltk_data, a folder with the parameters of Punkt, and nothing is downloaded: "
            "`python -m nltk.downloader -d nltk_data punkt_tab` makes one; or set tokenizer to blingfire"
        ]
    place = _place(folder, language)
    missing = [name for name in FILES if not (place / name).is_file()]
    if missing:
        return [
            f"{place} lacks {missing[0]}: set nltk_data to a folder with tokenizers/punkt_tab/{language}, "
            "or to the folder of the language itself"
        ]
    return []


def _place(folder: str, language: str) -> Path:
    """Folder of a language's parameters: the given one, or the one below it."""
    if (Path(folder) / FILES[0]).is_file():
        return Path(folder)
    return Path(folder) / "tokenizers" / "punkt_tab" / ("english" if language == "en" else language)


def sentences(text: str, folder: str, language: str) -> list[str]:
    """Sentences of a text as Punkt cuts them, which may be blank. folder: empty for Punkt without parameters."""
    if not folder:
        return list(_tokenizer("").tokenize(text))
    place = _place(folder, language)
    return list(_tokenizer(str(place), *(state_of(place / name) for name in FILES)).tokenize(text))


def sentence_counts(column: pa.Array, folder: str | None, language: str | None) -> pa.Array:
    """Number of sentences of each text that are not blank; NULL for NULL."""
    if folder is None or language is None:  # constants have no value for an empty vector
        return pa.nulls(len(column), pa.int64())
    counts = [
        None if text is None else sum(bool(one.strip()) for one in sentences(text, folder, language))
        for text in column.to_pylist()
    ]
    return pa.array(counts, pa.int64())


@lru_cache(maxsize=4)
def _tokenizer(folder: str, *states: tuple[int, ...]) -> Any:
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    parameters = PunktParameters()
    if not folder:
        return PunktSentenceTokenizer(parameters)
    parameters.abbrev_types = set(_lines(folder, FILES[0]))
    parameters.collocations = {tuple(line.split("\t")) for line in _lines(folder, FILES[1])}
    for word, _, flags in (line.partition("\t") for line in _lines(folder, FILES[2])):
        parameters.ortho_context[word] = int(flags)
    parameters.sent_starters = set(_lines(folder, FILES[3]))
    return PunktSentenceTokenizer(parameters)


def _lines(folder: str, name: str) -> list[str]:
    text = (Path(folder) / name).read_text(encoding="utf-8")
    return [line for line in text.split("\n") if line]
