"""The line about finished shards that a failed or killed run ends with."""

from __future__ import annotations

from functools import partial
from typing import Any

from refinery.errors import ConservationError
from refinery.execution.stage_runner import StageRunner
from refinery.workers import process_guard


class ResumeHint:
    """Context of a run: adds the line to its error, and leaves it as last words for a run that is ended at once."""

    def __init__(self) -> None:
        self._stages: StageRunner | None = None
        self._last_words = partial(self._words, look=False)

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

    def _words(self, look: bool = True) -> str:
        """The line; "" if no shard is done. look: also count the done marks in the store."""
        stages = self._stages
        if stages is None or not stages.kept.lasting:
            return ""
        count = max(stages.finished, stages.kept.count() if look else 0)
        shards = "1 shard is done" if count == 1 else f"{count} shards are done"
        return f"{shards} and kept: run the same command again to continue" if count else ""
