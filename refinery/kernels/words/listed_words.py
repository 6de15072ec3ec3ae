"""Functions of the filters on the share of listed words, which differ in the kind of their list (see `wordlists`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from refinery.kernels.words import subwords, wordlists


def check(params: Mapping[str, Any], kind: str) -> list[str]:
    """Problems that prevent a run with these parameters."""
    return wordlists.check(params.get(f"{kind}_dir"), kind, params.get("lang", "en")) + subwords.check(params)


def share(column: pa.Array, folder: str, lang: str, groups: str, join_char: str, kind: str) -> pa.Array:
    """The share of listed words of each text, which is a list of words separated by spaces; NULL for NULL.

    groups: sizes of the groups that also count as words, separated by commas; empty without augmentation.
    """
    from refinery.kernels.words import word_ratio  # imports numpy and Arrow, which check() does not need

    return word_ratio.listed_ratio(column, folder, kind, lang, _sizes(groups), join_char)


def share_of_pieces(
    lower: pa.Array, ends: pa.Array, folder: str, lang: str, groups: str, join_char: str, kind: str
) -> pa.Array:
    """The share of listed words among each text's refined pieces (see the feature piece_words); NULL for NULL."""
    from refinery.kernels.models import piece_words

    return piece_words.listed_share(lower, ends, folder, kind, lang, _sizes(groups), join_char)


def _sizes(groups: str) -> tuple[int, ...]:
    return tuple(int(size) for size in groups.split(",") if size)
