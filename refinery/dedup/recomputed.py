"""Values of some samples that a program computes again after a stage, such as the shingles of candidates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from refinery.dedup.exchange import Share
from refinery.dedup.model import DedupInput
from refinery.dedup.tasks import candidates
from refinery.io.model import Part, Shard
from refinery.workers.executor import Executor
from refinery.workers.tasks import Task


def computed_again(
    executor: Executor, inputs: DedupInput, folder: str, samples: Sequence[Sequence[Share]], places: str = ""
) -> list[str]:
    """Compute what the `compare` of an operator selects, for some samples; returns the files, named by shards.

    samples: parts with their numbers (`_row`). folder: of the files in the store. places: the program's column with the places
    in a sample that it needs, which the parts have (`place`).
    """
    calls = [(list(own), folder) for own in samples if own]
    answers = executor.map(candidates.wanted, calls, (places,), label="compare: wanted")
    wanted = {shard for answer in answers for shard in json.loads(answer)}
    shards = [_restricted(shard, folder, places) for shard in inputs.compare.shards() if shard.index in wanted]
    task = Task(folder, inputs.batch, write=False, store=executor.place.store)
    runner = executor.runner(inputs.step, inputs.compare.program())
    try:
        results = runner.run(shards, lambda _: task)
    finally:
        runner.close()
    return [result.match_keys for result in results if result.match_keys]


def _restricted(shard: Shard, folder: str, places: str) -> Shard:
    """The shard reduced to the samples whose numbers a task has written."""
    part = shard.part or Part(None)
    tables = (*part.tables, candidates.places_of(folder, shard.index)) if places else part.tables
    rows = candidates.rows_of(folder, shard.index)
    return replace(shard, part=replace(part, removed=None, only_in=rows, tables=tables))
