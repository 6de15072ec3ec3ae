"""Evidence for matchers of shingles: the shingles that two texts share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refinery.dedup.matchers.model import SharedShingles

# Number of shared shingles to show.
_SHOWN = 10
# Parameters with which MinHash and SimHash make shingles of a text.
_OF_SHINGLES = {"tokenization", "window_size", "lowercase", "ignore_pattern"}


def shared_by(here: str, there: str, params: Mapping[str, Any]) -> SharedShingles | None:
    """Shingles that two texts share; None for an operator that makes its shingles in another way."""
    if not params.keys() >= _OF_SHINGLES:
        return None
    from refinery.kernels.dedup.minhash_texts import shared_shingles  # numpy, which few questions need

    how = {"normalize": "none", "tokenizer_model": None, **params}
    shared = shared_shingles(here, there, how)
    left, right = (len(shared_shingles(text, text, how)) for text in (here, there))
    union = left + right - len(shared)
    return SharedShingles(len(shared), left, right, len(shared) / union if union else 1.0, tuple(shared[:_SHOWN]))
