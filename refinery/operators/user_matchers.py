"""Matchers of users: their code runs in worker processes, and the objects here stand for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from refinery.dedup.matchers import Matcher, QueryMatcher
from refinery.dedup.matchers.defaults import SampleDefaults
from refinery.dedup.matchers.model import KeyRelations, Pairs, ShingleComparison
from refinery.errors import OperatorError
from refinery.operators.modules import load_module
from refinery.operators.user_process import apart, is_worker, items_apart

# Members of a matcher that removes samples, as those of users do.
_MEMBERS = (
    "columns", "takes_units", "params", "only_compares", "measured", "match", "problem", "described", "queries", "pairs",
    "equal_columns", "script", "shown", "shared",
)  # fmt: skip
_DATA = ("columns", "takes_units", "params", "only_compares", "measured", "match")


def matcher_in(path: Path) -> Matcher:
    """The object `MATCHER` of a user's file, as seen from here. Raises OperatorError if there is none."""
    if is_worker():
        return _loaded(path)
    data = apart(f"{path}: MATCHER", _data_of, path)
    if isinstance(data, QueryMatcher):
        return replace(data, query=lambda params: apart(f"{path}: MATCHER.query", _called, path, "query", params))
    return cast(Matcher, _UserMatcher(path, data))


class _UserMatcher(SampleDefaults):
    """A matcher of a user's class. Its members with match keys open the files of these again, in the worker process."""

    def __init__(self, path: Path, data: Mapping[str, Any]) -> None:
        self._path = path
        for name, value in data.items():
            object.__setattr__(self, name, value)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") or name in (*_DATA, "any_type", "pairs", "pairs_among"):
            return object.__getattribute__(self, name)
        return lambda *arguments: apart(f"{self._path}: MATCHER.{name}", _called, self._path, name, *arguments)

    def pairs(
        self, keys: KeyRelations, params: Mapping[str, Any], compare: ShingleComparison, notes: list[str]
    ) -> Iterator[Pairs]:
        """Pairs of samples that match; see SampleMatcher."""
        for item in items_apart(f"{self._path}: MATCHER.pairs", _pairs, self._path, keys, params, compare):
            if isinstance(item, list):
                notes += item
            else:
                yield item

    def pairs_among(self, keys: KeyRelations, column: str, params: Mapping[str, Any]) -> Iterator[Pairs]:
        """Pairs among samples that are equal in a column; see SampleMatcher."""
        what = f"{self._path}: MATCHER.pairs_among"
        yield from items_apart(what, _called, self._path, "pairs_among", keys, column, params)


def _loaded(path: Path) -> Matcher:
    matcher = getattr(load_module(path), "MATCHER", None)
    if lacking := [member for member in _MEMBERS if not hasattr(matcher, member)]:
        raise OperatorError(f"{path}: MATCHER must be a matcher, but has no {', '.join(lacking)}")
    return cast(Matcher, matcher)


def _data_of(path: Path) -> Any:
    """A QueryMatcher without its query, or the values of another matcher's data members."""
    matcher = _loaded(path)
    if type(matcher) is QueryMatcher:
        return replace(matcher, query=str)
    return {name: getattr(matcher, name) for name in _DATA} | {"any_type": getattr(matcher, "any_type", False)}


def _called(path: Path, name: str, *arguments: Any) -> Any:
    """Call a member of the matcher of a file; those that it lacks are SampleDefaults'."""
    member = getattr(_loaded(path), name, None) or getattr(SampleDefaults(), name)
    return member(*arguments)


def _pairs(path: Path, keys: KeyRelations, params: Mapping[str, Any], compare: Any) -> Iterator[Pairs | list[str]]:
    """The pairs of a matcher, and its notes as a list at the end."""
    notes: list[str] = []
    yield from cast(Any, _loaded(path)).pairs(keys, params, compare, notes)
    yield notes
