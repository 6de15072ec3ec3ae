"""The protocol of an export format: what `refinery/io/writers/registry.py` registers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from refinery.common.field_profile import InputProfile
from refinery.io.model import Written


@dataclass(frozen=True)
class ExportJob:
    """Parts to join to the files of an export.

    parts: files of the shards, in order. targets: the files to write, for a number of files; 0: one file of the export's
    own name. shard_size: maximum bytes of uncompressed data in a file; 0: one file. lines: the parts are JSON lines, else
    Parquet. workers: threads. folder: of the export, for temporary files. profile: of the fields of the input, for the
    columns if no sample is left; with `whole`, of all samples of an export that has other parts, too. note: called with notes for the user.
    """

    parts: Sequence[str]
    targets: Callable[[int], list[str]]
    shard_size: int
    lines: bool
    workers: int
    folder: str
    profile: Callable[[], InputProfile] | None = None
    whole: bool = False
    note: Callable[[str], None] | None = None


class Writer(ABC):
    """An export format.

    name: in recipes, and the suffix of its files without the first dot. writes: False for no export at all.
    compression: of its bytes, `gz` or `zst`; shards of lines are then compressed alike, and joined as they are.
    plain_lines: a sample is one line of the file, which can be copied as it stands. in_parallel: joining parts uses
    all cores, whatever the recipe says. part_name: the format of a part on a cluster, where the export is a folder of
    parts. part_suffix: the suffix of such a part. layout, copy_options, copy_compression: of the statement in a
    script, see `sql/io/write_lines.sql` and `sql/io/write_typed.sql`.
    """

    name = ""
    writes = True
    compression: str | None = None
    plain_lines = False
    in_parallel = False
    part_suffix = ""
    layout = "lines"
    copy_options = ""
    copy_compression = ""

    @property
    def part_name(self) -> str:
        """The name of the format of a part on a cluster."""
        return self.name

    @property
    def lead(self) -> bytes:
        """Bytes at the start of a file that shards write together."""
        return b""

    @abstractmethod
    def is_shared(self, lines: bool) -> bool:
        """Return whether threads write their shards into one file. lines: samples are carried as JSON lines."""

    def tail(self, footers: Sequence[tuple[int, bytes]]) -> bytes | None:
        """Bytes at the end of a shared file; None if the shards do not fit together as they are.

        footers: of each shard with one, with the place of its bytes.
        """
        return b""

    @abstractmethod
    def join(self, job: ExportJob) -> list[Written]:
        """Write the files of an export from the parts of all shards. Raises OutputError."""
