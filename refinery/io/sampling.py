"""`sample` and `limit`: samples chosen by a hash of their content, and the first ones of the input.

The hash of a sample is that of its line without the line end; a row of a table is hashed as the JSON line that it is
written as. So neither order, shards nor workers decide, equal samples are chosen together, and a sample of a smaller
share is part of that of a larger one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np
import pyarrow as pa
import xxhash

from refinery.io.batch import LINE, BadSample, Batch
from refinery.io.convert import Converter
from refinery.kernels.core.arrow import texts

_SEED = 0x72656669
_HASHES = 1 << 64
_BLANK = b" \t\r\n"


def chosen_by_content(batches: Iterator[Batch], share: float) -> Iterator[Batch]:
    """The samples, good and bad, whose hash is among the lowest `share` of all hashes; numbered anew from 0."""
    count = 0
    with _Choice(share) as choice:
        for batch in batches:
            index, bad = choice.of(batch)
            numbers = np.sort(np.concatenate([batch.rows[index], np.array([one.row for one in bad], np.int64)]))
            part = batch.take(index)
            rows: np.ndarray = count + np.searchsorted(numbers, part.rows)
            bad = [replace(sample, row=count + int(np.searchsorted(numbers, sample.row))) for sample in bad]
            yield replace(part, rows=rows, bad=bad)
            count += len(numbers)


def numbers_by_content(batches: Iterator[Batch], share: float) -> np.ndarray:
    """The ascending numbers of the samples that `chosen_by_content` gives, as they were."""
    numbers: list[int] = []
    with _Choice(share) as choice:
        for batch in batches:
            index, bad = choice.of(batch)
            numbers += [*batch.rows[index].tolist(), *(sample.row for sample in bad)]
    return np.array(sorted(numbers), np.int64)


class _Choice:
    """Choice of a share of samples. Opens a converter for the first batch of a table."""

    def __init__(self, share: float) -> None:
        self._below = share * _HASHES
        self._converter: Converter | None = None

    def __enter__(self) -> _Choice:
        return self

    def __exit__(self, *_: object) -> None:
        if self._converter is not None:
            self._converter.con.close()

    def of(self, batch: Batch) -> tuple[np.ndarray, list[BadSample]]:
        """Positions of the chosen samples of a batch, and the chosen bad ones."""
        lines = texts(batch.table[LINE] if batch.lines else self._lines(batch))
        data, ends = lines.data, lines.offsets.tolist()
        index = [i for i in range(len(batch)) if self._takes(data[ends[i] : ends[i + 1]].tobytes())]
        return np.array(index, np.int64), [sample for sample in batch.bad if self._takes(sample.raw)]

    def _lines(self, batch: Batch) -> pa.Array:
        self._converter = self._converter or Converter()
        return self._converter.lines(batch.table)

    def _takes(self, raw: bytes) -> bool:
        return xxhash.xxh3_64_intdigest(raw.strip(_BLANK), _SEED) < self._below


def first_rows(batches: Iterator[Batch], most: int) -> Iterator[Batch]:
    """The samples, good and bad, numbered below `most`; what follows is not read."""
    with closing(batches):  # type: ignore[type-var]
        for batch in batches:
            index = np.flatnonzero(batch.rows < most)
            bad = [sample for sample in batch.bad if sample.row < most]
            if len(index) == len(batch) and len(bad) == len(batch.bad):
                yield batch
            else:
                yield replace(batch.take(index), bad=bad)
            if len(index) + len(bad) and max([*batch.rows[index][-1:], *(one.row for one in bad)]) >= most - 1:
                return
