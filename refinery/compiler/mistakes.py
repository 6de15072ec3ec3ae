"""Several things that are wrong with one step's SQL, raised as one error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any


class Mistakes(ValueError):
    """Mistakes of one step, each a sentence of its own in `each`."""

    def __init__(self, errors: Iterable[ValueError]) -> None:
        self.each = tuple(dict.fromkeys(sentence for error in errors for sentence in sentences(error)))
        super().__init__("; ".join(self.each))


def sentences(error: ValueError) -> tuple[str, ...]:
    """The mistakes that an error stands for."""
    return error.each if isinstance(error, Mistakes) else (str(error),)


def each_of(calls: Iterable[Callable[[], Any]]) -> Iterator[Any]:
    """Give the results of all calls. Raises Mistakes with what all of them find wrong, after the last one."""
    wrong: list[ValueError] = []
    for call in calls:
        try:
            result = call()
        except ValueError as error:
            wrong.append(error)
        else:
            yield result
    if wrong:
        raise Mistakes(wrong)
