"""Matchers of users: their code runs in worker processes, and the objects here stand for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from refinery.dedup.matchers import Matcher
from refinery.dedup.matchers.defaults import SampleDefaults
from refinery.errors import OperatorError
from refinery.operators.modules import load_module
from refinery.operators.user_process import apart, is_worker

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
    return cast(Matcher, _UserMatcher(path, apart(f"{path}: MATCHER", _data_of, path)))


class _UserMatcher:
    """A matcher in worker processes. Members that search for pairs are called there alone, by tasks."""

    def __init__(self, path: Path, data: Mapping[str, Any]) -> None:
        self._path = path
        vars(self).update(data)

    def __getattr__(self, name: str) -> Any:
        """A method of the matcher; its arguments and its result are plain data."""
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *arguments: apart(f"{self._path}: MATCHER.{name}", _called, self._path, name, *arguments)


def _loaded(path: Path) -> Matcher:
    matcher = getattr(load_module(path), "MATCHER", None)
    if lacking := [member for member in _MEMBERS if not hasattr(matcher, member)]:
        raise OperatorError(f"{path}: MATCHER must be a matcher, but has no {', '.join(lacking)}")
    return cast(Matcher, matcher)


def _data_of(path: Path) -> dict[str, Any]:
    """The data members of a matcher."""
    matcher = _loaded(path)
    optional = {
        "any_type": getattr(matcher, "any_type", False),
        "direct": "",
        "by_value": False,
    }  # clusters compare shipped match keys alone
    return {name: getattr(matcher, name) for name in _DATA} | optional


def _called(path: Path, name: str, *arguments: Any) -> Any:
    """Call a member of the matcher of a file; those that it lacks are SampleDefaults'."""
    member = getattr(_loaded(path), name, None) or getattr(SampleDefaults(), name)
    return member(*arguments)
