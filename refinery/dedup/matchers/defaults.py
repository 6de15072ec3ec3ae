"""Answers that matchers of samples give unless they say otherwise."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from refinery.dedup.matchers.model import KeyRelations, Pairs, SharedShingles
from refinery.dedup.matchers.params import SURVIVOR_PARAMS


class SampleDefaults:
    """Base of matchers of samples; `SampleMatcher` has the meaning of the members."""

    takes_units: bool = False
    params: Mapping[str, dict[str, Any]] = SURVIVOR_PARAMS
    only_compares: frozenset[str] = frozenset()
    measured: tuple[str, str] | None = None
    any_type: bool = False
    direct: str = ""
    by_value: bool = False

    def problem(self, header: Mapping[str, Any]) -> str:
        """Every header fits."""
        return ""

    def equal_columns(self, names: Sequence[str], params: Mapping[str, Any]) -> list[tuple[str, int]] | None:
        """None: matches are more than equal values."""
        return None

    def candidate_columns(self, names: Sequence[str], params: Mapping[str, Any]) -> list[tuple[str, int]] | None:
        """None: one process has to see all samples."""
        return None

    def key_of_short(self, params: Mapping[str, Any]) -> tuple[str, int] | None:
        """None: texts of few tokens are compared as all others."""
        return None

    def mark_of_short(self, params: Mapping[str, Any]) -> tuple[str, Any] | None:
        """None: texts of few tokens are not counted."""
        return None

    def pairs_among(self, keys: KeyRelations, column: str, params: Mapping[str, Any]) -> Iterator[Pairs]:
        """Nothing, since there are no columns of candidates."""
        return iter(())

    def kinds(self, keys: KeyRelations) -> list[Any]:
        """Nothing: all match keys can be compared."""
        return []

    def require(self, kinds: Collection[Any]) -> None:
        """All match keys can be compared."""

    def shown(self, values: Mapping[str, Any]) -> str | None:
        """None: the table `duplicates` has the key, or it says nothing to a reader."""
        return None

    def shared(self, here: str, there: str, key: str | None, params: Mapping[str, Any]) -> SharedShingles | None:
        """None: no shingles are compared."""
        return None
