"""Tracer for threads and processes of one machine: one file per operator, locked while it is written."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from refinery.common.paths import absolute
from refinery.errors import OutputError
from refinery.storage.file_marks import mark_growing
from refinery.storage.run_folder import RunDir
from refinery.tracer.own import require_own
from refinery.tracer.records import Sample, TraceSelection, line, of_filter, of_mapper

_BLOCK = 1 << 20


class Tracer:
    """Collects what operators change and remove in `<work_dir>/trace/sample_trace-<operator>.jsonl`.

    API and files are those of Data-Juicer's `Tracer`. The limit counts all samples in the folder: those of tracers in
    other threads and processes, also of pickled ones, and those from before (`clear` removes them).
    """

    def __init__(
        self,
        work_dir: str | os.PathLike[str],
        op_list_to_trace: Sequence[str] | None = None,
        show_num: int | None = 10,
        trace_keys: Sequence[str] | None = None,
    ) -> None:
        """op_list_to_trace: operators to trace; all when None or empty. show_num: most samples of each; None: all.

        trace_keys: fields of the original sample (dots for nested fields) that a mapper's records begin with.
        Raises ValueError for a negative number.
        """
        self._run = RunDir(Path(absolute(os.fspath(work_dir))))  # another process may have a different current folder
        self._wanted = TraceSelection.of(op_list_to_trace, show_num, trace_keys)
        self._seen: dict[str, tuple[int, int]] = {}  # by operator: bytes of its file read so far, lines in them

    def should_trace_op(self, op_name: str) -> bool:
        """Return whether samples of an operator are collected."""
        return self._wanted.has(op_name)

    def is_collection_complete(self, op_name: str) -> bool:
        """Return whether the folder has as many samples of an operator as the limit allows, from any tracer."""
        most = self._wanted.most
        if most is None:
            return False
        if self._seen.get(op_name, (0, 0))[1] >= most:
            return True  # files only grow
        try:
            with self._path(op_name).open("rb") as file:
                return self._lines(op_name, file) >= most
        except (FileNotFoundError, NotADirectoryError):
            return most == 0

    def collect_mapper_sample(
        self, op_name: str, original_sample: Sample, processed_sample: Sample, text_key: str = "text"
    ) -> bool:
        """Collect a sample whose text an operator has changed; True when it was collected. Raises OutputError."""
        if not self._open(op_name):
            return False
        record = of_mapper(original_sample, processed_sample, text_key, self._wanted.keys)
        return record is not None and self._add(op_name, line(record))

    def collect_filter_sample(self, op_name: str, sample: Sample, should_keep: bool) -> bool:
        """Collect a sample that an operator removes; True when it was collected. Raises OutputError."""
        if not self._open(op_name):
            return False
        record = of_filter(sample, should_keep)
        return record is not None and self._add(op_name, line(record))

    def clear(self) -> None:
        """Remove the folder's traces of the traced operators.

        Raises OutputError, and removes nothing, when one of the files was not written by a run or a tracer.
        """
        own = list(map(self._path, self._wanted.operators))
        files = [path for path in self._run.traces() if not own or path in own]
        for path in files:
            require_own(self._run, path)
        for path in files:
            path.unlink(missing_ok=True)
        self._seen.clear()

    def _open(self, op_name: str) -> bool:
        return self.should_trace_op(op_name) and not self.is_collection_complete(op_name)

    def _path(self, op_name: str) -> Path:
        if not op_name or os.path.basename(op_name) != op_name:
            raise ValueError(f"{op_name!r} is no name of an operator")
        return self._run.trace_file(op_name, 0, first=True)

    def _add(self, op_name: str, content: bytes) -> bool:
        """Append a line unless the limit is reached; the file is locked meanwhile, so that the limit is exact."""
        path = self._path(op_name)
        with _locked(path) as file:
            require_own(self._run, path)
            mark_growing(path)
            if self._wanted.most is not None and self._lines(op_name, file) >= self._wanted.most:
                return False
            end = _after_last_line(file)
            file.truncate(end)  # cut the incomplete line of a killed process
            file.seek(end)
            file.write(content)
            file.flush()
        return True

    def _lines(self, op_name: str, file: BinaryIO) -> int:
        """Number of complete lines of a file; reads only the new part, or all of a file that became shorter."""
        at, count = self._seen.get(op_name, (0, 0))
        if os.fstat(file.fileno()).st_size < at:
            at, count = 0, 0
        place = file.seek(at)
        while block := file.read(_BLOCK):
            if end := block.rfind(b"\n") + 1:
                at, count = place + end, count + block.count(b"\n")
            place += len(block)
        self._seen[op_name] = at, count
        return count


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """Open a file, or make it, and lock it against other writers. Raises OutputError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # the lock belongs to this open file, so it holds between threads too
            yield file
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error


def _after_last_line(file: BinaryIO) -> int:
    """Offset of the end of the last complete line of a file."""
    end = file.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - _BLOCK)
        file.seek(start)
        line_end = file.read(end - start).rfind(b"\n")
        if line_end >= 0:
            return start + line_end + 1
        end = start
    return 0
