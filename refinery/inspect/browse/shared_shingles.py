"""Parts of two texts that stand in shingles of both, as a deduplicator of shingles compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.inspect.browse.word_diff import word_diff

# Parameters of an operator that makes shingles of a text.
_OF_SHINGLES = {"tokenization", "window_size", "lowercase", "ignore_pattern"}


@dataclass(frozen=True)
class MarkedText:
    """A text in pieces (whether they are shared, text), which make up the whole text.

    as_compared: the text is shown as its tokens, because these do not stand in it as they are.
    """

    pieces: tuple[tuple[bool, str], ...]
    as_compared: bool = False


def marked_texts(one: str, other: str, params: Mapping[str, Any]) -> tuple[MarkedText, MarkedText, str]:
    """Two texts with their shared parts, and the name of these: "shingles of 5 tokens", or "words" for other operators."""
    if not params.keys() >= _OF_SHINGLES:
        pieces = word_diff(one, other)
        left = tuple((piece.kind == "=", piece.text) for piece in pieces if piece.kind != "+")
        right = tuple((piece.kind == "=", piece.text) for piece in pieces if piece.kind != "-")
        return MarkedText(left), MarkedText(right), "words"
    window = int(params.get("n_grams") or params["window_size"])
    tokens = [_tokens(text, params) for text in (one, other)]
    shared = _shingles(tokens[0], window) & _shingles(tokens[1], window)
    marked = [_marked(text, split, shared, window) for text, split in zip((one, other), tokens, strict=True)]
    return marked[0], marked[1], f"shingles of {window} tokens"


def _tokens(text: str, params: Mapping[str, Any]) -> list[str]:
    """Tokens of a text, as the operator splits it."""
    from refinery.kernels.dedup.minhash_texts import split

    names = ("tokenization", "lowercase", "ignore_pattern", "tokenizer_model")
    found = split(pa.array([text], pa.large_string()), params.get("normalize", "none"), *(params.get(n) for n in names))  # type: ignore[arg-type]
    starts = found.starts[int(found.firsts[0]) : int(found.firsts[1])]
    return [bytes(found.data[start : end - found.gap]).decode() for start, end in zip(starts, starts[1:], strict=False)]


def _shingles(tokens: Sequence[str], window: int) -> set[tuple[str, ...]]:
    window = min(window, len(tokens))
    return {tuple(tokens[at : at + window]) for at in range(len(tokens) - window + 1)} if window else set()


def _marked(text: str, tokens: Sequence[str], shared: set[tuple[str, ...]], window: int) -> MarkedText:
    window = min(window, len(tokens))
    covered = np.zeros(len(tokens), bool)
    for at in range(len(tokens) - window + 1 if window else 0):
        if tuple(tokens[at : at + window]) in shared:
            covered[at : at + window] = True
    places = _places(text, tokens)
    if places is None:
        return MarkedText(
            _joined([(bool(mark), f"{token} ") for mark, token in zip(covered, tokens, strict=True)]), True
        )
    pieces: list[tuple[bool, str]] = []
    end = 0
    for at, (start, stop) in enumerate(places):
        pieces.append((bool(covered[at] and at and covered[at - 1]), text[end:start]))
        pieces.append((bool(covered[at]), text[start:stop]))
        end = stop
    return MarkedText(_joined([*pieces, (False, text[end:])]))


def _places(text: str, tokens: Sequence[str]) -> list[tuple[int, int]] | None:
    """Start and end of each token in its text, apart from letter case; None where one of them is not in it."""
    lower = text.lower()
    if len(lower) != len(text):
        return None
    places, at = [], 0
    for token in tokens:
        start = lower.find(token.lower(), at)
        if start < 0:
            return None
        at = start + len(token)
        places.append((start, at))
    return places


def _joined(pieces: Sequence[tuple[bool, str]]) -> tuple[tuple[bool, str], ...]:
    runs = groupby((piece for piece in pieces if piece[1]), key=lambda piece: piece[0])
    return tuple((mark, "".join(text for _, text in run)) for mark, run in runs)
