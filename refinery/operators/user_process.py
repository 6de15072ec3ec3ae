"""Calls that run code of users: they run in a worker process, never in the process that uses refinery.

Arguments go to the worker process as pickles. What comes back is read without importing anything but the classes of a few
packages, so an object of a user's class cannot bring its code along.
"""

from __future__ import annotations

import base64
import io
import json
import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from refinery.errors import OperatorError
from refinery.operators.processes import Process, WorkerDied, processes

Answer = TypeVar("Answer")

# Packages whose classes may come back, and modules whose functions make values of these; others are a user's.
_KNOWN = frozenset({"builtins", "collections", "datetime", "decimal", "numpy", "pathlib", "pyarrow", "refinery"})

_MAKERS = frozenset(
    {"numpy.core.multiarray", "numpy._core.multiarray", "numpy.core.numeric", "numpy._core.numeric", "pyarrow.lib"}
)

_is_worker = False


def become_worker() -> None:
    """Let code of users run in this process: it is a worker process."""
    global _is_worker
    _is_worker = True


def is_worker() -> bool:
    """Return whether code of users may run in this process."""
    return _is_worker


def apart(what: str, function: Callable[..., Answer], *arguments: Any, limit: float | None = None) -> Answer:
    """Call a function of refinery in a worker process. what: file and function of the user's code that it runs, for errors.

    limit: seconds after which the process is ended; None for none. Raises what the function raises, and OperatorError where the process
    ends, or the answer is of a class of the user.
    """
    if _is_worker:
        return function(*arguments)
    pool = processes()
    process = pool.take()
    with _ended(what, process), _limited(what, process, limit):
        packed = process.ask(_command("call", function, arguments))
    pool.give_back(process)
    answer: Answer = unpacked(what, packed)
    return answer


def items_apart(what: str, function: Callable[..., Iterator[Answer]], *arguments: Any) -> Iterator[Answer]:
    """The items that a function of refinery yields in a worker process; see `apart`."""
    if _is_worker:
        yield from function(*arguments)
        return
    pool = processes()
    process = pool.take()
    with _ended(what, process):
        for packed in process.items(_command("items", function, arguments)):
            yield unpacked(what, packed)
    pool.give_back(process)


@contextmanager
def _limited(what: str, process: Process, limit: float | None) -> Iterator[None]:
    """Context of an answer for which there are so many seconds. Raises OperatorError when they are over."""
    late = threading.Event()

    def end() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(limit, end) if limit is not None else None
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        yield
    except WorkerDied:
        if not late.is_set():
            raise
        raise OperatorError(f"{what}: not done after {limit:g} seconds, and ended") from None
    finally:
        if timer is not None:
            timer.cancel()


class _ended:
    """Context of an answer: a process that gives none is ended."""

    def __init__(self, what: str, process: Process) -> None:
        self._what, self._process = what, process

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if kind is None:
            return
        self._process.kill()
        self._process.close()
        if isinstance(error, WorkerDied):
            raise OperatorError(f"{self._what}: {error.reason}") from None


def _command(kind: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    return json.dumps({"do": kind, "packed": packed((function, arguments))})


def packed(value: Any) -> str:
    """A value as text."""
    return base64.b64encode(pickle.dumps(value)).decode("ascii")


def called(text: str) -> Any:
    """Carry out a call that `apart` has sent, in the worker process."""
    function, arguments = pickle.loads(base64.b64decode(text))
    return function(*arguments)


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """A class of a known package. Raises UnpicklingError for others."""
        if module.partition(".")[0] in _KNOWN:
            known = super().find_class(module, name)
            if isinstance(known, type) or module in _MAKERS:
                return known
        raise pickle.UnpicklingError(f"an object of the class {module}.{name}")


def unpacked(what: str, text: str) -> Any:
    """The value of a text of `packed`. what: who has made it. Raises OperatorError for objects of other classes."""
    try:
        return _Reader(io.BytesIO(base64.b64decode(text))).load()
    except pickle.UnpicklingError as error:
        raise OperatorError(f"{what} returned {error}; plain values are needed") from None
