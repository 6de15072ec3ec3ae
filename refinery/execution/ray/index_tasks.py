"""The driver's part of an index: hands out tasks that bring its match keys to the store, and that add those of the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from refinery.dedup.barrier import DedupInput, DedupResult
from refinery.dedup.index import Index, stored_files
from refinery.execution.ray import remembered
from refinery.execution.ray.cluster_tasks import Partitions
from refinery.execution.ray.connection import ClusterConnection
from refinery.execution.ray.input_files import FileFacts, facts_of_files
from refinery.execution.ray.map import every
from refinery.execution.ray.task_files import Place
from refinery.storage.urls import is_url

# First number and file of each piece of an index, in order.
Pieces = tuple[tuple[int, str], ...]


class IndexTasks:
    """Tasks of one deduplicator. folder: of its stage in the store. most: number of pieces. least: rows of a piece."""

    def __init__(self, cluster: ClusterConnection, place: Place, folder: str, most: int, least: int) -> None:
        self._cluster, self._place, self._folder = cluster, place, folder
        self._most, self._least = most, least

    def pieces(self, index: Index, names: Sequence[str]) -> Pieces | None:
        """Pieces of the index in the store; None if its types are not those of the run's match keys. names: of the latter."""
        files = stored_files(index)
        if not files:
            return ()
        known = _facts(index)
        [answer] = self._run(remembered.survey, [(list(names), files, self._most, self._least, list(known.values()))])
        if not answer:
            return None
        found = json.loads(answer)
        to = [f"{self._folder}/joined/index/{number:05d}.marks.parquet" for number in range(len(found["pieces"]))]
        calls = [
            (found["schema"], portions, name, [known[file] for _, file, *_ in portions if file in known])
            for (_, portions), name in zip(found["pieces"], to, strict=True)
        ]
        self._run(remembered.remember, calls)
        return tuple((first, name) for (first, _), name in zip(found["pieces"], to, strict=True))

    def extend(self, given: DedupInput, files: Sequence[str], partitions: Partitions, findings: DedupResult) -> None:
        """Record the file with match keys of the samples that stay, if there are any. files: of the run's match keys."""
        calls, to = [], []
        for at, own in enumerate(partitions.files(files)):
            if at < len(partitions.before) or not own:
                continue
            removed = f"{self._folder}/duplicates_{at:05d}.parquet"
            to.append(f"{self._folder}/joined/extends_{at:05d}.parquet")
            gone = removed if removed in findings.duplicates else ""
            calls.append((own, list(given.first_rows), gone, to[-1]))
        counts = self._run(remembered.extend, calls)
        names = [name for name, count in zip(to, counts, strict=True) if int(count)]
        if names:
            target = f"{self._folder}/index.parquet"
            self._run(remembered.add_up, [(names, target)])
            findings.extends = Path(target)

    def _run(self, work: Callable[..., str], calls: Sequence[tuple[Any, ...]]) -> list[str]:
        named = [(self._place, *call) for call in calls]
        return every(self._cluster, work, named, {"num_cpus": 1}, f"index: {work.__name__}")


def _facts(index: Index) -> dict[str, FileFacts]:
    """Facts of the files of an index in a folder, by name, for the machines that read them; none of an index at a URL."""
    if is_url(index.place.key):
        return {}
    names = [item["file"] for item in index.generations]
    return dict(zip(names, facts_of_files(index.files()), strict=True))
