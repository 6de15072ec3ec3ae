"""The driver's part of an index: hands out tasks that bring its match keys to the store, and that add those of the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from refinery.dedup.index import Index, digested, refuse, require_contents, stored_files
from refinery.dedup.model import DedupInput, DedupResult
from refinery.dedup.partitions import Partitions
from refinery.dedup.tasks import indexed
from refinery.io.input_files import FileFacts, facts_of_files
from refinery.storage.urls import is_url
from refinery.workers.executor import Executor

# First number and file of each piece of an index, in order.
Pieces = tuple[tuple[int, str], ...]


class IndexTasks:
    """Tasks of one deduplicator. folder: of its stage in the store. most: number of pieces. least: rows of a piece."""

    def __init__(self, executor: Executor, folder: str, most: int, least: int) -> None:
        self._executor, self._folder = executor, folder
        self._most, self._least = most, least

    def pieces(self, index: Index, names: Sequence[str]) -> tuple[Pieces, list[str]]:
        """Pieces of the index in the store, and files of the run's match keys, with the same types.

        names: of the run's match keys.
        """
        files = stored_files(index)
        if not files:
            return (), list(names)
        self._require_contents(index)
        known = _facts(index)
        [answer] = self._run(indexed.survey, [(list(names), files, self._most, self._least, list(known.values()))])
        survey = json.loads(answer)
        to = [f"{self._folder}/joined/index/{number:05d}.marks.parquet" for number in range(len(survey["pieces"]))]
        calls = [
            (survey["schema"], portions, name, [known[file] for _, file, *_ in portions if file in known])
            for (_, portions), name in zip(survey["pieces"], to, strict=True)
        ]
        own = list(names)
        for at, portion in enumerate(survey["others"]):
            own[at] = f"{self._folder}/joined/own/{Path(portion[1]).name}"
            calls.append((survey["schema"], [portion], own[at], []))
        self._run(indexed.remember, calls)
        return tuple((first, name) for (first, _), name in zip(survey["pieces"], to, strict=False)), own

    def _require_contents(self, index: Index) -> None:
        """Check that the match keys are as they were written; tasks read those at a URL. Raises OperatorError."""
        require_contents(index)
        if not is_url(index.place.key):
            return
        items = digested(index)
        digests = self._run(indexed.contents, [(index.place.key, item["file"]) for item in items])
        for item, digest in zip(items, digests, strict=True):
            if digest != item["digest"]:
                refuse(index, item)

    def extend(self, inputs: DedupInput, files: Sequence[str], partitions: Partitions, findings: DedupResult) -> str:
        """The file with match keys of the samples that stay; "" without any. files: of the run's match keys."""
        calls, to = [], []
        for at, own in enumerate(partitions.files(files)):
            if at < len(partitions.before) or not own:
                continue
            gone = f"{self._folder}/removed_{at:05d}.rows"
            gone = gone if gone in findings.seen else ""
            to.append(f"{self._folder}/joined/extends_{at:05d}.parquet")
            calls.append((own, list(inputs.first_rows), gone, to[-1]))
        counts = self._run(indexed.extend, calls)
        names = [name for name, count in zip(to, counts, strict=True) if int(count)]
        target = f"{self._folder}/index.parquet"
        if names:
            self._run(indexed.add_up, [(names, target)])
        return target if names else ""

    def _run(self, work: Callable[..., str], calls: Sequence[tuple[Any, ...]]) -> list[str]:
        return self._executor.map(work, calls, label=f"index: {work.__name__}")


def _facts(index: Index) -> dict[str, FileFacts]:
    """Facts of the files of an index in a folder, by name, for the machines that read them; none of an index at a URL."""
    if is_url(index.place.key):
        return {}
    names = [item["file"] for item in index.generations]
    return dict(zip(names, facts_of_files(index.files()), strict=True))
