"""Texts of chosen samples as they reached a deduplicator, read by tasks from the files that the stage has left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from refinery.dedup.audit.measure import ComparedText, Measure
from refinery.dedup.audit.readings import Reading, WholeTexts, reading_of
from refinery.io.batch import Batch
from refinery.io.model import Part, Shard
from refinery.io.readers.read import read
from refinery.storage.store import Store
from refinery.workers.executor import Executor, TaskPlace
from refinery.workers.match_keys import SHARD_BITS
from refinery.workers.serialization import Spool, from_json, spooled, to_json
from refinery.workers.worker import fetched

_IN_SHARD = (1 << SHARD_BITS) - 1
_BATCH = 16 << 20


class Texts(Protocol):
    """Source of the texts of samples; rows are numbers in the whole input."""

    def each(self, step: Any, reading: Reading, wanted: Mapping[int, Any]) -> dict[int, Any]:
        """Read the samples that reached a deduplicator, by row. wanted: what is asked of each row."""


def whole_texts(texts: Texts, step: Any, measure: Measure, rows: Iterable[int]) -> dict[int, ComparedText]:
    """The texts that reached a deduplicator, by row."""
    found = texts.each(step, WholeTexts(measure), dict.fromkeys(rows))
    return {row: ComparedText(**plain) for row, plain in found.items()}


def read_texts(
    executor: Executor, store: Store, shards: Sequence[Shard], reading: Reading, wanted: Mapping[int, Any]
) -> dict[int, Any]:
    """Read samples by their codes (shard and number in it), as `workers.match_keys` has them.

    executor: runs a task for each shard. shards: as a stage has left them, by index. store: with their files. wanted: what is asked of each sample, by code.
    """
    codes = np.unique(np.fromiter(wanted, np.int64))
    of_shard, spool, plain = codes >> SHARD_BITS, _spool(store), reading.plain()
    calls = []
    for at in np.unique(of_shard).tolist():
        own = codes[of_shard == at]
        asked = [wanted[code] for code in own.tolist()]
        calls.append(to_json({"shard": shards[at], "rows": own & _IN_SHARD, "reading": plain, "wanted": asked}, spool))
    answers = executor.map(texts_of_shard, [(call,) for call in calls], (store.url,))
    return {code: value for answer in answers for code, value in from_json(answer)}


def _spool(store: Store) -> Spool | None:
    """Write a table in memory to one file for all of its shards; None if tasks do not see the files of this machine."""

    def spool(table: pa.Table) -> str:
        path = store.scratch() / f"audited_{id(table)}.arrow"
        return str(path) if path.exists() else spooled(table, path)

    return spool if store.on_this_machine else None


def texts_of_shard(place: TaskPlace, store: str, call: str) -> str:
    """Read some samples of a shard; see `read_texts`. A task. store: with the shard's files."""
    asked = from_json(call)
    shard, rows, reading = asked["shard"], asked["rows"], reading_of(asked["reading"])
    part = replace(shard.part or Part(None), removed=None, removed_in=None, only=rows, tables=())
    batches = read(fetched(replace(shard, part=part), store), _BATCH)
    wanted = dict(zip(rows.tolist(), asked["wanted"], strict=True))
    return to_json([pair for batch in batches for pair in _of_batch(batch, shard.index, reading, wanted)])


def _of_batch(batch: Batch, shard: int, reading: Reading, wanted: Mapping[int, Any]) -> Iterator[tuple[int, Any]]:
    rows, samples = batch.rows.tolist(), [batch.sample(at) for at in range(len(batch))]
    for row, value in zip(rows, reading.taken(samples, [wanted[row] for row in rows]), strict=True):
        yield (shard << SHARD_BITS) + row, value
