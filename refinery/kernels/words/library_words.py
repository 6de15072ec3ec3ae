"""Words and sentences of languages for which datatrove 0.10.1 takes another library than spaCy, by that library.

Libraries are imported when a text of their language comes. What they load is kept by thread: not all of it may be shared.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import regex

from refinery.common.extras import install_command
from refinery.common.packages import installed_version
from refinery.kernels.words import spacy_words
from refinery.kernels.words.mark_characters import END_MARKS

_LONG_NUMBER = re.compile("[0-9,]{20,}")  # left out for Korean, since they take Kiwi very long
_MOST_BYTES, _STEP = 40_000, 10  # of a part of a Japanese text, which is cut at a multiple of so many characters

_local = threading.local()


# The first release of Kiwi without the model that datatrove's release uses.
_OTHER_KIWI = (0, 21)


class Splitter(NamedTuple):
    """Functions of a library that cuts texts. module, package: what it needs. words, sentences: functions of a text and a code."""

    module: str
    package: str
    words: Callable[[str, str], Sequence[str]]
    sentences: Callable[[str, str], Sequence[str]]


@lru_cache(maxsize=1)
def languages() -> dict[str, str]:
    """The library for each code of a language, and behind a hyphen its own code, if it has several."""
    return spacy_words.codes_of(Path(__file__).with_name("library_languages.txt"))


def problems(language: str, parameter: str) -> list[str]:
    """Reasons why words of one of these languages are unavailable, as sentences that name the cure."""
    library = languages()[language].partition("-")[0]
    if library not in SPLITTERS:
        return [
            f"{parameter}: datatrove cuts {language} by {_NAMES[library]}, whose models are downloads: not supported. "
            f"{parameter}: und cuts at white space and marks, as for languages without a tokenizer"
        ]
    module, package, _, _ = SPLITTERS[library]
    if not find_spec(module):
        return [f"{parameter}: words of {language} need the package {package}: {install_command('languages')}"]
    if library == "kiwi" and _release(package) >= _OTHER_KIWI:
        what = f"{package} {installed_version(package)} has no skip-bigram model, and cuts other words than datatrove"
        return [f"{parameter}: {what}. Install an earlier one: {install_command('languages')}"]
    return []


def _release(package: str) -> tuple[int, ...]:
    return tuple(int(part) for part in installed_version(package).split(".")[:2] if part.isdigit())


def words(text: str, language: str) -> list[str]:
    """Words and marks of a text, white space left out."""
    library, _, code = languages()[language].partition("-")
    stripped = (word.strip() for word in SPLITTERS[library].words(text, code))
    return [word for word in stripped if word]


def sentence_ends(text: str, language: str) -> list[int]:
    """End of each sentence of a text, in characters; blank ones are none."""
    library, _, code = languages()[language].partition("-")
    if library == "kiwi":
        return [sentence.end for sentence in _kiwi().split_into_sents(_LONG_NUMBER.sub("", text))]
    found, ends, end = sentences(text, language), [], 0
    if len(found) == 1:  # is all of the text, even where the library has changed it
        return [len(text)]
    for sentence in found:
        end = text.index(sentence, end) + len(sentence)
        ends.append(end)
    return ends


def sentences(text: str, language: str) -> list[str]:
    """Sentences of a text without white space at their ends; blank ones are left out."""
    library, _, code = languages()[language].partition("-")
    return [one for sentence in SPLITTERS[library].sentences(text, code) if (one := sentence.strip())]


def japanese(text: str) -> list[str]:
    """Words of a Japanese text by Sudachi, as spaCy takes them; white space among them."""
    return [word.surface() for part in japanese_parts(text) for word in _sudachi().tokenize(part)]


def _kept(name: str, load: Callable[[], Any]) -> Any:
    loaded = _local.__dict__.get(name)
    if loaded is None:
        loaded = _local.__dict__[name] = load()
    return loaded


def _sudachi() -> Any:
    def load() -> Any:
        from sudachipy import Dictionary, SplitMode

        return Dictionary().tokenizer(SplitMode.A)

    return _kept("sudachi", load)


def japanese_parts(text: str) -> list[str]:
    """Parts of a text that Sudachi takes, which datatrove cuts without regard to words."""
    size = len(text.encode())
    most = max(int(_MOST_BYTES * (len(text) / size if size else 1) - _STEP), 1)
    parts = []
    while text:
        while len(text[:most].encode()) > _MOST_BYTES:
            most = max(most - _STEP, 1)
        end = most
        while len(text[:end].encode()) < _MOST_BYTES and end < len(text):
            end = min(len(text), end + _STEP)
        if len(text[:end].encode()) > _MOST_BYTES:
            end -= _STEP
        parts.append(text[:end])
        text = text[end:]
    return parts


def _kiwi() -> Any:
    def load() -> Any:
        from kiwipiepy import Kiwi

        return Kiwi(model_type="sbg")

    return _kept("kiwi", load)


def _korean(text: str, code: str) -> list[str]:
    return [text[word.start : word.end] for word in _kiwi().tokenize(_LONG_NUMBER.sub("", text))]


def _korean_sentences(text: str, code: str) -> list[str]:
    return [sentence.text for sentence in _kiwi().split_into_sents(_LONG_NUMBER.sub("", text))]


def _thai(text: str, code: str) -> list[str]:
    from pythainlp.tokenize import word_tokenize

    return word_tokenize(text, keep_whitespace=False, engine="newmm-safe")


def _thai_sentences(text: str, code: str) -> list[str]:
    from pythainlp.tokenize import sent_tokenize

    return [str(sentence) for sentence in sent_tokenize(text)]


def _indic(text: str, code: str) -> list[str]:
    from indicnlp.tokenize.indic_tokenize import trivial_tokenize

    return trivial_tokenize(text, code)


def _indic_sentences(text: str, code: str) -> list[str]:
    from indicnlp.tokenize.sentence_tokenize import sentence_split

    return sentence_split(text, lang=code)


def _khmer(text: str, code: str) -> list[str]:
    from khmernltk import word_tokenize

    return word_tokenize(text, return_tokens=True)


def _khmer_sentences(text: str, code: str) -> list[str]:
    from khmernltk import sentence_tokenize

    return sentence_tokenize(text)


def _lao(text: str, code: str) -> list[str]:
    from laonlp.tokenize import word_tokenize

    return word_tokenize(text)


def _lao_sentences(text: str, code: str) -> list[str]:
    from laonlp.tokenize import sent_tokenize

    return sent_tokenize(text)


def _any(text: str, code: str) -> list[str]:
    return spacy_words.words(text, "und_Cyrl")


def _any_sentences(text: str, code: str) -> list[str]:
    return _ends().findall(text)


@lru_cache(maxsize=1)
def _ends() -> Any:
    """A sentence: up to an end mark or a line feed, but not the full stop behind a single capital."""
    return regex.compile(rf"(?:(?:\p{{Lu}}\.)|.)+?[{re.escape(END_MARKS)}\n]+[\"'”]?")


SPLITTERS = {
    "indic": Splitter("indicnlp", "indic-nlp-library", _indic, _indic_sentences),
    "khmer": Splitter("khmernltk", "khmer-nltk", _khmer, _khmer_sentences),
    "kiwi": Splitter("kiwipiepy", "kiwipiepy", _korean, _korean_sentences),
    "lao": Splitter("laonlp", "laonlp", _lao, _lao_sentences),
    "thai": Splitter("pythainlp", "pythainlp", _thai, _thai_sentences),
    "whitespace": Splitter("spacy", "spacy", _any, _any_sentences),
}
_NAMES = {"stanza": "Stanza", "tibetan": "botok", "burmese": "pyidaungsu"}
