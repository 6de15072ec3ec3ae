"""Texts of fewer tokens than a shingle has: some deduplicators take all of them for duplicates of each other."""

from __future__ import annotations

from typing import Any

from refinery.dedup.matchers.bands import bands_and_rows
from refinery.operators import Operator


def key_of_short(operator: Operator, step: Any) -> tuple[str, int] | None:
    """The match key that every text without a shingle has: column and value; None where such texts are no duplicates."""
    params = step.params
    if operator.match == "hamming" and params.get("short") != "keep":
        return "simhash", 0
    if operator.match == "bands" and params.get("hash") == "data_juicer" and not params.get("verify"):
        return "band_0", _largest_band(*bands_and_rows(params))
    return None


def _largest_band(bands: int, rows: int) -> int:
    """Key of the first band of a signature without a shingle: all its minima are the largest number."""
    import numpy as np

    from refinery.kernels.dedup.minhash_bands import band_keys

    return int(band_keys(np.full((1, bands * rows), 2**32 - 1, np.uint32), bands, rows)[0, 0])


def note_on_short(step: Any, removed: int) -> list[str]:
    """The note on a number of removed texts without a shingle; none without such texts."""
    if not removed:
        return []
    window = step.params.get("n_grams") or step.params.get("window_size")
    kept = "hash: fast" if "hash" in step.params else "short: keep"
    cures = [kept, *(["tokenization: character"] if step.params.get("tokenization") != "character" else [])]
    texts = "1 removed text has" if removed == 1 else f"{removed:,} removed texts have"
    return [
        f"{step.where}: {step.name}: {texts} fewer tokens than window_size, which is {window}: all such texts are duplicates of "
        f"each other, whatever they say. Set {', '.join(cures)} or a smaller window_size to keep those that differ"
    ]
