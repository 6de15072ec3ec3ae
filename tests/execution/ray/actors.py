"""Actors that a run on a cluster starts for itself: three processes, most of the time of a small run, and few tests need them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import pytest

from refinery.execution.ray import backend, connection
from refinery.execution.ray.board import BoardClient

_OWN = connection.cleaned_after, backend.BoardClient


class SharedBoard(BoardClient):
    """The board of all runs of this process; each run leaves it empty."""

    _last: Any = None

    def __init__(self, ray: Any) -> None:
        self._ray, self.actor = ray, SharedBoard._last
        if not self._answers():
            super().__init__(ray)
            SharedBoard._last = self.actor

    def _answers(self) -> bool:
        """Return whether the board is there: it ends with its machine, and with the driver that started it."""
        with suppress(Exception):
            self._ray.get(self.actor.take.remote())
            return True
        return False

    def close(self) -> None:
        self.take()


@contextmanager
def shared() -> Iterator[None]:
    """Runs of this process share one board, and nobody waits for the death of their driver."""
    with made_by(lambda ray, folder: nullcontext(), SharedBoard):
        yield


@contextmanager
def own() -> Iterator[None]:
    """Runs of this process have actors of their own again."""
    with made_by(*_OWN):
        yield


@contextmanager
def made_by(cleaner: Any, board: Any) -> Iterator[None]:
    """Have functions make the cleaner and the board of runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "cleaned_after", cleaner)
        patch.setattr(backend, "BoardClient", board)
        yield
