"""The protocol of an engine: the part of a corpus that computes what a change adds to the kept samples and takes away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from refinery.errors import RefineryError
from refinery.operators import Library
from refinery.recipe import Recipe
from refinery.recipe.input_config import InputConfig

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

# First columns of files of additions and retractions: number of the add (from 1), and of the sample in it (from 0).
PART, ROW = "_part", "_row"
# The sample as an exported JSON line, without its line end.
LINE = "_line"
# Values of `step` in files of outcomes, besides the number of the step that has removed a sample.
KEPT, QUARANTINED, WITHDRAWN = 0, -1, -2
# Note of a change whose state before was damaged.
ANEW = "all samples are published anew: files of the engine's state were missing or had changed"


@dataclass(frozen=True)
class PartInput:
    """The data of one add.

    number: of the add, from 1. inputs: its files, in the order of samples. rows: samples in them, readable or not; None
    for a new part. withdrawn: ascending numbers of the withdrawn samples, with those of this change. left_out: a
    Parquet file with these numbers in a column `row`; "" if none are withdrawn.

    The number of a sample is the `_row` that a run over the part alone gives it.
    """

    number: int
    inputs: tuple[InputConfig, ...]
    rows: int | None
    withdrawn: np.ndarray = field(compare=False, repr=False)
    left_out: str = ""


@dataclass(frozen=True)
class Change:
    """An add or a withdrawal, with all that an engine needs for it.

    recipe: its inputs, export and run folder do not count. parts: those that are left after the change, in the order of
    adds; a part that is withdrawn as a whole is not among them. added: numbers of the new parts. withdrawn: samples
    that this change withdraws, by part, ascending. state: the folder of the engine's state of the last snapshot; None
    if there is no snapshot, or another engine has made it: the state is then computed anew from `parts`, and the files
    in `additions`, `retractions` and `outcomes` still say what was kept. new_state: the folder of the next state, which does
    not exist yet; unchanged files may be hard-linked. work: a folder for caches, which may be lost. output: an empty
    folder for the files of the result. additions, retractions, outcomes: files of the last snapshot, as published, with
    the number of the snapshot in the column `_snapshot`. progress: called with bytes done and bytes in all.
    """

    recipe: Recipe
    library: Library
    parts: tuple[PartInput, ...]
    added: tuple[int, ...]
    withdrawn: Mapping[int, np.ndarray]
    state: Path | None
    new_state: Path
    work: Path
    output: Path
    additions: tuple[Path, ...] = ()
    retractions: tuple[Path, ...] = ()
    outcomes: tuple[Path, ...] = ()
    progress: Callable[[int, int], None] | None = None


@dataclass(frozen=True)
class Counts:
    """Samples of all parts after a change, without the withdrawn ones."""

    kept: int
    removed: int
    quarantined: int


@dataclass(frozen=True)
class Delta:
    """The difference that a change makes to the kept samples.

    additions: Parquet files with `_part`, `_row` and the exported sample: `_line` where samples are carried as JSON
    lines, else the columns of the export. retractions: Parquet files with `_part` and `_row` of samples of the last
    snapshot that are kept no longer, withdrawn ones included. A sample whose fields change is in both. outcomes: Parquet
    files with `_part`, `_row`, `step`, `kept_part` and `kept_row` of each sample whose outcome changes: `step` is the step that has
    removed it, or KEPT, QUARANTINED or WITHDRAWN; the others are the sample that a deduplicator has kept instead, or NULL.
    schema: columns of the samples; None for JSON lines. If a column of the last snapshot gets another type, all samples
    are retracted and added. rows: samples of each new part.
    """

    additions: tuple[Path, ...]
    retractions: tuple[Path, ...]
    outcomes: tuple[Path, ...]
    schema: pa.Schema | None
    rows: Mapping[int, int]
    counts: Counts
    notes: tuple[str, ...] = ()


class Engine(Protocol):
    """A way of computing changes. name: recorded in snapshots."""

    name: str

    def refusals(self, recipe: Recipe, library: Library) -> list[str]:
        """Reasons why the engine cannot compute changes of a recipe exactly; none if it can. Reads no data."""

    def apply(self, change: Change) -> Delta:
        """Compute a change. Raises EngineRefusal if it cannot be computed exactly because of the data."""

    def differences(self, state: Path) -> list[str]:
        """Reasons why the folder of a state is not as the engine has left it, by the contents of all files; none if it is."""


class EngineRefusal(RefineryError):
    """An engine cannot compute a change exactly; the corpus then computes it by a run over all data."""
