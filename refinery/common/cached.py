"""A cache for threads: a function runs once for the same arguments, even if several threads call it at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from threading import RLock
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def cached(most: int) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Keep the results of the last `most` different arguments, which must be hashable.

    For functions that every worker calls when it starts: with `lru_cache` alone, each thread would compute the result.
    """

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        keeping, alone = lru_cache(most)(function), RLock()

        @wraps(function)
        def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            with alone:
                result: Result = keeping(*args, **kwargs)  # type: ignore[arg-type]
                return result

        return call

    return decorate
