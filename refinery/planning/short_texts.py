"""A look at the first texts of the input for deduplicators of shingles: are they long enough to have any?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refinery.dedup.short_texts import key_of_short, mark_of_short, note_before
from refinery.errors import DataError
from refinery.io.first_texts import first_texts
from refinery.io.model import Shard
from refinery.operators import Library

# Share of short texts among the first ones from which a note is worth while.
_SHARE = 0.1
# Tokens that are made without a model.
_TOKENS = ("space", "punctuation", "character", "word", "english")


def notes_on_short_texts(steps: Sequence[Any], library: Library, text_key: str, shards: Sequence[Shard]) -> list[str]:
    """Notes on steps for which a tenth of the first texts, as they are in the input, have too few tokens for a shingle."""
    notes = []
    for step in steps:
        operator = library.operators[step.name]
        if operator.kind != "deduplicator" or mark_of_short(operator, step) is None:
            continue
        try:
            texts = first_texts(shards, step.params.get("text_key") or text_key)
        except (DataError, ValueError):  # the look at fields, or the run, reports what cannot be read
            continue
        short = _short(texts, step.params)
        if texts and short >= _SHARE * len(texts):
            alike = key_of_short(operator, step) is not None
            notes.append(f"{step.where}: {step.name}: {note_before(step, short, len(texts), alike)}")
    return notes


def _short(texts: Sequence[str], params: Any) -> int:
    """Number of texts with fewer tokens than the window."""
    if params.get("tokenization") not in _TOKENS:
        return 0
    import numpy as np

    from refinery.kernels.core.arrow import of_texts
    from refinery.kernels.dedup.minhash_texts import split

    how = (params["tokenization"], params["lowercase"], params["ignore_pattern"])
    tokens = split(of_texts(texts), params.get("normalize") or "none", *how, None)
    window = params.get("n_grams") or params["window_size"]
    return int((np.diff(tokens.firsts) <= window).sum())
