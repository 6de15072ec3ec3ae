"""A sample of a corpus as it came, as it is kept, and the sample that is kept in its place."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from refinery.common.fields import keys_of
from refinery.corpus.folder import CorpusFolder
from refinery.corpus.manifest import Part
from refinery.corpus.parts import part_input, require_files
from refinery.errors import DataError
from refinery.io.batch import LINE
from refinery.io.readers.read import count_rows, read
from refinery.operators import Library
from refinery.planning.pipeline import prepare
from refinery.recipe import Recipe

Sample = dict[str, Any]


@dataclass(frozen=True)
class SampleTexts:
    """Versions of a sample. before: as in the input; None if it cannot be read. after: as it is kept; None if it is not. instead: the sample
    that a deduplicator has kept in its place. problem: the reason why there is no `before`, or ""."""

    before: Sample | None
    after: Sample | None
    instead: Sample | None
    problem: str


def input_sample(
    folder: CorpusFolder, part: Part, recipe: Recipe, library: Library, row: int
) -> tuple[Sample | None, str]:
    """A sample as its input file has it, or None and the reason. recipe: of the corpus. row: number in the part, from 0."""
    try:
        require_files(folder, [part])
        inputs = part_input(folder, replace(part, left_out="")).inputs
        plan = prepare(replace(recipe, inputs=inputs, suffixes=()), library, looks=False, runs=False)
    except DataError as error:
        return None, str(error)
    first = 0
    for shard in plan.shards:
        count = count_rows(shard)
        if row < first + count:
            return _in_shard(shard, row - first)
        first += count
    return None, f"the files of add {part.number} have {first:,} samples, the corpus knows {part.rows:,}"


def _in_shard(shard: Any, row: int) -> tuple[Sample | None, str]:
    for batch in read(shard):
        bad = next((one for one in batch.bad if one.row == row), None)
        if bad is not None:
            return None, f"it is no sample: {bad.error}"
        at = np.flatnonzero(batch.rows == row)
        if len(at):
            [values] = batch.table.slice(int(at[0]), 1).to_pylist()
            sample: Sample = json.loads(values[LINE]) if batch.lines else values
            return sample, ""
    return None, "its file has no such sample"


def text_of(sample: Sample, field: str) -> str | None:
    """The text of a sample; None without any. field: as in `text_keys`."""
    value: Any = sample
    for key in keys_of(field):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None
