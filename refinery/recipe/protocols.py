"""Properties of operators and of their library that the check of a recipe uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class OperatorLike(Protocol):
    """Properties of an operator that the check of a recipe uses."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def params(self) -> Mapping[str, Any]: ...
    @property
    def bounds(self) -> Mapping[str, Any]: ...

    def check(self, params: dict[str, Any]) -> list[str]:
        """Problems, as sentences, that keep the operator from running with these parameters."""


class LibraryLike(Protocol):
    """All available operators."""

    @property
    def operators(self) -> Mapping[str, Any]: ...
