"""Tokenizers' files, their libraries, and words made of their pieces, for `tokenization: true`.

The kernels of `models` need no library. For other models `sentencepiece`, or `tokenizers` for a model in that library's
format, is imported on first use of a tokenizer; for pieces by the latter, always.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.common.extras import install_command
from refinery.kernels.core.file_state import state_of
from refinery.kernels.models import sentencepiece_rules, tokenizer_file
from refinery.kernels.models.protobuf import Damaged
from refinery.kernels.models.sentencepiece_file import Unsupported
from refinery.kernels.text.special_characters import code_points

Pieces = Callable[[str], list[str]]


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems of `tokenization` with this `model`, as sentences that name the cure."""
    if not params.get("tokenization"):
        return []
    model = params.get("model")
    if not model:
        name = f"{params.get('lang', 'en')}.sp.model"
        return [
            f"tokenization: true needs a model; Data-Juicer would download {name}, refinery downloads nothing: "
            "set model to a local copy of that file (or to a tokenizer.json), or set tokenization to false"
        ]
    return unusable(model)


def unusable(model: str, parameter: str = "model") -> list[str]:
    """Reasons why a tokenizer's model cannot be used, as sentences that name the cure. parameter: the one that names it."""
    try:
        if has_kernel(model, damaged=True):
            return []
    except (OSError, Damaged) as error:
        return [f"{parameter} {model} cannot be loaded ({error}): give a SentencePiece model, or a tokenizer.json"]
    package = _package(model)
    if importlib.util.find_spec(package) is None:
        return [
            f"{parameter} {model} needs the Python package {package}, which is not installed: {install_command(package)}"
        ]
    try:
        pieces(model)
    except Exception as error:  # the tokenizers library raises nothing more specific
        reason = str(error) or type(error).__name__
        return [f"{parameter} {model} cannot be loaded ({reason}): give a readable file for the package {package}"]
    return []


def has_kernel(model: str, damaged: bool = False) -> bool:
    """Return whether kernels encode by this model as its library does.

    With `damaged`, raises OSError and Damaged for a file that is none; otherwise the answer is then False.
    """
    if _package(model) != "sentencepiece":
        return False
    try:
        sentencepiece_rules.judge(model)
    except Unsupported:
        return False
    except (OSError, Damaged):
        if damaged:
            raise
        return False
    return True


def pieces(model: str) -> Pieces:
    """Function that splits a text into the pieces of this model; loaded once per state of the file."""
    return _load(model, *state_of(model))


def _package(model: str) -> str:
    return "tokenizers" if model.endswith(".json") else "sentencepiece"


@lru_cache(maxsize=8)
def _load(model: str, *state: int) -> Pieces:
    if model.endswith(".json"):
        encode = _tokenizer(model, *state).encode
        return lambda text: encode(text, add_special_tokens=False).tokens
    library = importlib.import_module(_package(model))
    processor = library.SentencePieceProcessor(model_file=model)
    return processor.encode_as_pieces


def problems(path: str, parameter: str) -> list[str]:
    """Reasons why a tokenizer.json, or the one in a folder, is unusable, as sentences that name the cure."""
    file = file_of(path)
    if not file.is_file():
        return [f"there is no tokenizer at {file}: set {parameter} to a local tokenizer.json or its folder"]
    if counts_by_kernel(path):
        return []
    if importlib.util.find_spec("tokenizers") is None:
        return [f"{parameter} needs the package tokenizers, not installed here: {install_command('tokenizers')}"]
    try:
        tokenizer(path)
    except Exception as error:  # the library raises nothing more specific
        return [f"{file} is not a tokenizer that the package tokenizers can read ({error}): give another file"]
    return []


def counts_by_kernel(path: str) -> bool:
    """Return whether a kernel counts tokens by a tokenizer.json as the library does."""
    try:
        return not tokenizer_file.problem(str(file_of(path)))
    except OSError:
        return False


def file_of(path: str) -> Path:
    """File of a tokenizer: `path`, or the tokenizer.json in that folder."""
    file = Path(os.path.expanduser(path))
    return file / "tokenizer.json" if file.is_dir() else file


def tokenizer(path: str) -> Any:
    """Tokenizer of this file, without truncation or padding; loaded once per state of the file."""
    file = file_of(path)
    return _tokenizer(str(file), *state_of(file))


def token_counts(column: pa.Array, path: str | None, special: bool) -> pa.Array:
    """Number of tokens of each text by a tokenizer.json (int64); NULL for NULL. special: with those that it adds."""
    if path is None:  # constants have no value for an empty vector
        return pa.nulls(len(column), pa.int64())
    encode = tokenizer(path).encode
    return each_text(column, lambda text: len(encode(text, add_special_tokens=special).ids), pa.int64())


@lru_cache(maxsize=4)
def _tokenizer(path: str, *state: int) -> Any:
    loaded = importlib.import_module("tokenizers").Tokenizer.from_file(path)
    loaded.no_truncation()  # a tokenizer.json can contain its own settings
    loaded.no_padding()
    return loaded


@lru_cache(maxsize=1)
def _special() -> str:
    return "".join(map(chr, code_points()))


def strip(word: str) -> str:
    """Word without the special characters at its ends."""
    return word.strip(_special())


def refined(words: Iterable[str], lower: bool) -> list[str]:
    """Words stripped of special characters, optionally after `str.lower`; empty words are left out."""
    stripped = (strip(word.lower() if lower else word) for word in words)
    return [word for word in stripped if word]


def augmented(words: Sequence[str], group_sizes: Iterable[int], join_char: str) -> list[str]:
    """Words, and for each size all runs of that many neighbours joined by join_char."""
    groups = [join_char.join(words[i : i + size]) for size in group_sizes for i in range(len(words) - size + 1)]
    return [*words, *groups]


def listed_share(words: Sequence[str], listed: frozenset[str]) -> float:
    """Share of words that are in the list; 0.0 without words."""
    return sum(word in listed for word in words) / len(words) if words else 0.0


def each_text(column: pa.Array | pa.ChunkedArray, function: Callable[[str], Any], kind: pa.DataType) -> pa.Array:
    """Apply `function` to every text; returns an array of this type, NULL for NULL."""
    return pa.array([None if text is None else function(text) for text in column.to_pylist()], kind)
