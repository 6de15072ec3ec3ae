"""Texts of chosen samples as they reached a deduplicator, read by tasks from the files that the stage has left."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from refinery.dedup.audit.measure import ComparedText, Measure
from refinery.io.batch import Batch
from refinery.io.model import Part, Shard
from refinery.io.readers.read import read
from refinery.storage.store import Store
from refinery.workers.match_keys import SHARD_BITS
from refinery.workers.serialization import Spool, from_json, spooled, to_json
from refinery.workers.worker import fetched

# Calls a function of this package with what all calls share and with each text; by tasks of the backend.
Every = Callable[[Callable[[str, str], str], dict[str, Any], Sequence[str]], list[str]]

_IN_SHARD = (1 << SHARD_BITS) - 1
_BATCH = 16 << 20


class Texts(Protocol):
    """Source of the texts of samples; rows are numbers in the whole input."""

    def of(self, step: Any, measure: Measure, rows: Sequence[int]) -> dict[int, ComparedText]:
        """The texts that reached a deduplicator, by row."""


def read_texts(
    every: Every, store: Store, shards: Sequence[Shard], measure: Measure, codes: Iterable[int]
) -> dict[int, ComparedText]:
    """Texts of samples by their codes (shard and number in it), as `workers.match_keys` has them.

    shards: as a stage has left them, by index. store: with their files.
    """
    rows = np.unique(np.fromiter(codes, np.int64))
    of_shard = rows >> SHARD_BITS
    calls = [
        to_json({"shard": shards[at], "rows": rows[of_shard == at] & _IN_SHARD}, _spool(store))
        for at in np.unique(of_shard).tolist()
    ]
    answers = every(texts_of_shard, {"measure": measure.plain(), "store": store.url}, calls) if calls else []
    return {code: text for answer in answers for code, text in _answered(answer)}


def _spool(store: Store) -> Spool | None:
    """Write a table in memory to one file for all of its shards; None if tasks do not see the files of this machine."""

    def spool(table: pa.Table) -> str:
        path = store.scratch() / f"audited_{id(table)}.arrow"
        return str(path) if path.exists() else spooled(table, path)

    return spool if store.on_this_machine else None


def _answered(answer: str) -> Iterator[tuple[int, ComparedText]]:
    for plain in from_json(answer):
        yield plain.pop("code"), ComparedText(**plain)


def texts_of_shard(shared: str, call: str) -> str:
    """Texts of some samples of a shard; see `read_texts`. A task."""
    given, wanted = json.loads(shared), from_json(call)
    shard, rows, measure = wanted["shard"], wanted["rows"], Measure.from_plain(given["measure"])
    part = replace(shard.part or Part(None), removed=None, removed_in=None, only=rows, tables=())
    batches = read(fetched(replace(shard, part=part), given["store"]), _BATCH)
    return to_json([plain for batch in batches for plain in _of_batch(batch, shard.index, measure)])


def _of_batch(batch: Batch, shard: int, measure: Measure) -> Iterator[dict[str, Any]]:
    samples = [batch.sample(at) for at in range(len(batch))]
    for row, text in zip(batch.rows.tolist(), measure.compared(samples), strict=True):
        yield {"code": (shard << SHARD_BITS) + row, **vars(text)}
