"""What a worker is told of a shard, and what it answers: plain data."""

from __future__ import annotations

from dataclasses import dataclass, field

from refinery.io.writers.shared_file import SharedFile


@dataclass(frozen=True)
class Task:
    """What a worker is told besides the program and the shard.

    folder: where the shard's files go in the store, `stage_1`. store: its URL; without one, nothing can be left. key: what
    decides the results besides the shard's bytes in the input; without one, no done mark is left.
    """

    folder: str
    batch_bytes: int
    compression: str | None = None
    first_row: int = 0  # number of the shard's first row in the whole input, where the program asks for `_row`
    add_suffix: bool = False  # whether the suffix of a sample's file is written beside it
    last: bool = True  # whether no stage comes after
    write: bool = True  # whether a part is written; without it, the next stage reads the input again
    output: SharedFile | None = None  # the export, where the shards of one process write it themselves, without parts
    store: str = ""
    key: str = ""
    batch_rows: int = 8192
    blamed: tuple[tuple[int, int, str], ...] = ()  # rows not to be run: number in the shard, step, what is wrong


@dataclass
class ShardResult:
    """What became of a shard. rows: samples in it, good or bad. lines: physical lines. seconds: per step.

    part, facts, quarantine, marks, rows_left: names in the store, empty where there is no such file. part_bytes: of the
    part's file. key: what it was made of. reused: whether an earlier run, or an earlier try, has made it.
    rows_of: rows of each of the shard's files, where it is of several. undeclared: notes on what operators have read, though
    nothing says so: the result is not used again.
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
    marks: str = ""
    rows_left: str = ""  # numpy file, int64 (2, kept): number in the shard and line of every sample that is left
    seconds: dict[int, float] = field(default_factory=dict)
    key: str = ""
    reused: bool = False
    rows_of: tuple[int, ...] = ()
    undeclared: tuple[str, ...] = ()

    def files(self) -> list[str]:
        """The names of its files in the store."""
        return [name for name in (self.part, self.facts, self.quarantine, self.marks, self.rows_left) if name]
