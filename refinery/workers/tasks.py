"""Shards as tasks: their parameters and results as plain data, and the interface of what runs them: threads, processes, a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from refinery.common.fields import NamedFields
from refinery.common.key_fields import left_out
from refinery.io.model import Shard
from refinery.io.writers.shared_file import SharedFile


@dataclass(frozen=True)
class Task:
    """Per-shard task parameters.

    folder: of the shard's files in the store, `stage_1`. store: URL of the store; without it nothing can be left.
    key: digest of what decides the results besides the shard's bytes in the input; without it no done mark is left.
    """

    folder: str = field(metadata=left_out("place in the store"))
    batch_bytes: int = field(metadata=left_out("results are the same at any size"))
    compression: str | None = None
    first_row: int = 0  # number of the shard's first row in the whole input, where the program asks for `_row`
    add_suffix: bool = False  # write the suffix of a sample's file beside the sample
    last: bool = True  # no stage comes after
    write: bool = True  # write a part; without it, the next stage reads the input again
    output: SharedFile | None = None  # the export, where shards write it directly, without parts
    store: str = field(default="", metadata=left_out("a place"))
    key: str = field(default="", metadata=left_out("made of the other fields"))
    batch_rows: int = field(default=8192, metadata=left_out("results are the same at any size"))
    fields: NamedFields = ()  # fields of the samples that are written; all by default
    removed: bool = False  # write the samples that are removed, too
    # Rows to leave out: number in the shard, step, message.
    blamed: tuple[tuple[int, int, str], ...] = field(default=(), metadata=left_out("found by running the shard"))


@dataclass
class ShardResult:
    """Result of a shard. rows: samples in the shard, good or bad. lines: physical lines. seconds: per step.

    part, facts, quarantine, match_keys, rows_left, removed, removed_rows: names in the store, empty where there is no such file.
    line_offsets: see `line_offsets.LineOffsets`. part_bytes, removed_bytes: sizes of the files of samples. key: digest of what decides the result. reused: made by an earlier run or try. rows_of: rows of
    each of the shard's files, if it has several. verbatim: all lines were read, and none was written anew. undeclared: notes on undeclared files that operators have read; a
    result with such notes is not used again. passed_over: kinds and numbers of parts of the files that are no samples. killed: times that the process of the shard was killed before it came to this result.
    """

    shard: int
    rows: int = 0
    lines: int = 0
    kept: int = 0
    quarantined: int = 0
    bytes: int = 0
    part: str = ""
    part_bytes: int = 0
    facts: str = ""
    quarantine: str = ""
    match_keys: str = ""
    rows_left: str = ""  # numpy file, int64 (2, kept): number in the shard and line of every kept sample
    seconds: dict[int, float] = field(default_factory=dict)
    key: str = ""
    reused: bool = False
    rows_of: tuple[int, ...] = ()
    undeclared: tuple[str, ...] = ()
    verbatim: bool = False
    passed_over: tuple[tuple[str, int], ...] = ()
    line_offsets: tuple[tuple[int, int | None], ...] = ()
    killed: int = 0
    removed: str = ""  # the removed samples, as `PartWriter` writes them
    removed_bytes: int = 0
    repeats: int = 0  # times that samples are exported, besides the first of each
    removed_rows: str = ""  # numpy file, int64: number in the shard of each of them

    def files(self) -> list[str]:
        """Names of the shard's files in the store."""
        names = (
            self.part,
            self.facts,
            self.quarantine,
            self.match_keys,
            self.rows_left,
            self.removed,
            self.removed_rows,
        )
        return [name for name in names if name]


Report = Callable[[ShardResult], None]


class Runner(Protocol):
    """Runs the shards of one stage. Its threads or processes may outlive it, for the next stage."""

    def run(
        self, shards: Sequence[Shard], task: Callable[[Shard], Task], report: Report | None = None
    ) -> list[ShardResult]:
        """Run every shard; results in the order of the shards. `report` gets each result as it ends, on this thread.

        The first error ends the other shards and is raised.
        """

    def close(self) -> None:
        """Release resources that only this stage needs."""
