"""A call in a thread of its own, whose result is asked for later."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

Result = TypeVar("Result")


class InThread(Generic[Result]):
    """Begins a call at once, beside what the caller does next.

    For calls in libraries that release Python's lock; `concurrent.futures` takes three milliseconds to import.
    """

    def __init__(self, call: Callable[[], Result]) -> None:
        self._call = call
        self._thread = Thread(target=self._run)  # Python waits for it: libraries may not be at work when it ends
        self._result: list[Result] = []
        self._error: BaseException | None = None
        self._thread.start()

    def _run(self) -> None:
        try:
            self._result.append(self._call())
        except BaseException as error:  # raised where the result is asked for
            self._error = error

    def result(self) -> Result:
        """Wait for the result. Raises what the call has raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._result[0]
