"""Texts of samples before a step, read through the recorded places of the run's input and recomputed, as `refinery why` does."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from refinery.common.lazy import duckdb
from refinery.errors import DataError, RefineryError
from refinery.explore.run import ExploredRun
from refinery.inspect.report.replayed import Replay

# Texts that are kept, characters of a text that are shown, and rows after which recomputed stages are dropped.
_KEPT, _SHOWN, _PREPARED = 500, 2_000, 500


class Texts:
    """Texts of one run. One request at a time recomputes samples."""

    def __init__(self, run: ExploredRun) -> None:
        self._run, self._lock = run, threading.Lock()
        self._replay: Replay | None = None
        self._prepared = 0
        self._texts: OrderedDict[tuple[int, int], dict[str, Any]] = OrderedDict()

    @staticmethod
    def of(run: ExploredRun) -> Texts:
        """The texts of a run, kept between requests."""
        return run.remember("texts", lambda: Texts(run))

    def before(self, rows: Sequence[int], step: int) -> list[dict[str, Any]]:
        """The beginning of each text before `step`, with its file and line. Raises DataError if the input has changed."""
        with self._lock:
            missing = [row for row in rows if (row, step) not in self._texts]
            if missing:
                self._recompute(missing, step)
            return [self._texts[row, step] for row in rows]

    def _recompute(self, rows: Sequence[int], step: int) -> None:
        replay = self._opened()
        try:
            replay.prepare(rows)
            files = replay.histories.replay.files(rows) if replay.histories else {}
            for row in rows:
                self._keep(row, step, replay.text_at(row, step) or "", files.get(row, ""))
        except (RefineryError, duckdb.Error) as error:
            raise DataError(f"texts cannot be read: {str(error).splitlines()[0]}") from error
        self._prepared += len(rows)

    def _opened(self) -> Replay:
        if self._replay is not None and self._prepared > _PREPARED:
            self._replay.__exit__()
            self._replay = None
        if self._replay is None:
            self._replay, self._prepared = Replay(self._run.folder), 0
        if not self._replay.possible:
            why, self._replay = self._replay.why_not, None
            raise DataError(f"texts cannot be read: {why}")
        return self._replay

    def _keep(self, row: int, step: int, text: str, file: str) -> None:
        self._texts[row, step] = {"text": text[:_SHOWN], "characters": len(text), "file": file}
        while len(self._texts) > _KEPT:
            self._texts.popitem(last=False)
