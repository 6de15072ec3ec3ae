"""The line about finished shards that a failed or killed run ends with."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from refinery.errors import ConservationError
from refinery.execution.stage_runner import StageRunner
from refinery.workers import process_guard

# Seconds for counting done marks in a store that may be far away, while Ctrl-C ends the process.
_SOON = 0.4


class ResumeHint:
    """Context of a run: adds the line to its error, and leaves it as last words for a run that is ended at once."""

    def __init__(self) -> None:
        self._stages: StageRunner | None = None
        self._last_words = lambda: self._words(_SOON)

    def watch(self, stages: StageRunner) -> None:
        """Count the shards of these stages from now on."""
        self._stages = stages

    def __enter__(self) -> ResumeHint:
        process_guard.last_words.append(self._last_words)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        try:
            if error is not None and not isinstance(error, ConservationError) and (words := self._words()):
                error.add_note(words)
        finally:
            process_guard.last_words.remove(self._last_words)

    def _words(self, seconds: float | None = None) -> str:
        """The line; "" if no shard is done. seconds: most time for counting the done marks in the store."""
        stages = self._stages
        if stages is None or not stages.kept.lasting:
            return ""
        count = max(stages.finished, _counted(stages.kept.count, seconds))
        shards = "1 shard is done" if count == 1 else f"{count} shards are done"
        return f"{shards} and kept: run the same command again to continue" if count else ""


def _counted(count: Callable[[], int], seconds: float | None) -> int:
    """Result of `count`; 0 if it takes longer, or if it fails while there is no time."""
    if seconds is None:
        return count()
    result = [0]

    def look() -> None:
        with suppress(Exception):
            result[0] = count()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(seconds)
    return result[0]
