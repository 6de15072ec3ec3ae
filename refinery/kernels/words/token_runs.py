"""Runs of the tokens of a text that repeat, as dolma's taggers measure them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.kernels.text.periods import periodic_runs
from refinery.kernels.text.tagged_spans import Span
from refinery.kernels.words import subwords

PERIODS = 13  # tokens of the longest period
PIECE = 100_000  # characters of a text that are cut into tokens at once

_FIELDS = pa.struct([("runs", pa.int64()), ("copies", pa.float64()), ("longest", pa.int64()), ("chars", pa.int64())])


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems of the tokenizer, as sentences that name the cure."""
    if not params["tokenizer"]:
        return [
            "tokenizer is needed; dolma would download allenai/eleuther-ai-gpt-neox-20b-pii-special, refinery downloads "
            "nothing: set tokenizer to a local tokenizer.json or its folder"
        ]
    return subwords.problems(params["tokenizer"], "tokenizer")


def token_runs(column: pa.Array, path: str | None, apart: bool) -> pa.Array:
    """A struct of measures of the runs of each text; NULL for NULL. apart: see `_spans`."""
    rows = [None if text is None or path is None else _measures(text, path, apart) for text in column.to_pylist()]
    return pa.array(rows, _FIELDS)


all_runs, runs_apart = partial(token_runs, apart=False), partial(token_runs, apart=True)


def _measures(text: str, path: str, apart: bool) -> dict[str, Any]:
    """Number of runs, and, if there are any, the most copies, the longest, and the characters of all."""
    step = PIECE if apart else max(len(text), 1)
    spans = [span for at in range(0, len(text), step) for span in _spans(text[at : at + step], path, apart)]
    if not spans:
        return {"runs": 0}
    sizes = [span.end - span.start for span in spans]
    return {"runs": len(spans), "copies": max(span.score for span in spans), "longest": max(sizes), "chars": sum(sizes)}


def _spans(text: str, path: str, apart: bool) -> list[Span]:
    """Runs of tokens; with `apart` from the left and the longest first, without those within the one before."""
    tokens = subwords.tokenizer(path).encode(text, add_special_tokens=False)
    spans = [
        Span(tokens.offsets[start][0], tokens.offsets[end - 1][1], "repetition", copies)
        for start, end, copies in periodic_runs(np.array(tokens.ids, np.int64), PERIODS)
    ]
    if not apart:
        return spans
    kept, last = list[Span](), Span(-1, -1, "")
    for span in sorted(spans, key=lambda one: (one.start, -one.end, -one.score)):
        if span.start < last.start or span.end > last.end:
            kept.append(span)
            last = span
    return kept
