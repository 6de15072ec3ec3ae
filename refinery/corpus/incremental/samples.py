"""Samples that a stage has left, from the state of a corpus."""

from __future__ import annotations

import numpy as np

from refinery.corpus.incremental.shards import Samples
from refinery.corpus.incremental.state import StageState
from refinery.kernels.core.arrow import numbers


def samples_of(state: StageState, rows: np.ndarray, lines: bool) -> Samples:
    """Samples of rows (ascending). Raises ValueError if the state lacks one."""
    carried = state.samples.take(rows)
    if not np.array_equal(numbers(carried["_row"]), rows):
        raise ValueError(f"{state.samples.folder}: lacks samples of the corpus")
    return Samples(rows, state.samples.take(rows, of="values"), carried, lines)
