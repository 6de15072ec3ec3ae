"""Tracer for the workers of a Ray cluster: one actor holds the traces, so that the limit is exact."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refinery.common.extras import lacks
from refinery.common.paths import absolute
from refinery.errors import OperatorError
from refinery.io.writers.write import writing
from refinery.storage.file_marks import mark_growing
from refinery.storage.run_folder import RunDir, aside
from refinery.tracer.own import require_own
from refinery.tracer.records import Sample, TraceSelection, line, of_filter, of_mapper

try:
    import ray
except ImportError as error:
    raise OperatorError(lacks("RayTracer", "ray", error)) from error


class Collector:
    """The actor's class: `Tracer` in memory. `finalize_traces` writes the files, on the machine of the actor."""

    def __init__(
        self,
        work_dir: str | os.PathLike[str],
        op_list_to_trace: Sequence[str] | None = None,
        show_num: int | None = 10,
        trace_keys: Sequence[str] | None = None,
    ) -> None:
        """The arguments are those of `Tracer`; `RayTracer` makes a relative work_dir absolute."""
        self._run = RunDir(Path(work_dir))
        self._wanted = TraceSelection.of(op_list_to_trace, show_num, trace_keys)
        self._found: dict[str, list[bytes]] = {}

    def should_trace_op(self, op_name: str) -> bool:
        """Return whether samples of an operator are collected."""
        return self._wanted.has(op_name)

    def is_collection_complete(self, op_name: str) -> bool:
        """Return whether as many samples of an operator are collected as the limit allows."""
        return self._wanted.most is not None and len(self._found.get(op_name, ())) >= self._wanted.most

    def collect_mapper_sample(
        self, op_name: str, original_sample: Sample, processed_sample: Sample, text_key: str = "text"
    ) -> bool:
        """Collect a sample whose text an operator has changed; True when it was collected."""
        return self._add(op_name, of_mapper(original_sample, processed_sample, text_key, self._wanted.keys))

    def collect_filter_sample(self, op_name: str, sample: Sample, should_keep: bool) -> bool:
        """Collect a sample that an operator removes; True when it was collected."""
        return self._add(op_name, of_filter(sample, should_keep))

    def finalize_traces(self) -> list[str]:
        """Write `trace/sample_trace-<operator>.jsonl` for every operator with collected samples; returns the paths.

        Each file is written atomically, and replaces a file of its name. Raises OutputError.
        """
        written = []
        for op_name, lines in self._found.items():
            path = self._run.trace_file(op_name, 0, first=True)
            require_own(self._run, path)
            with writing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                aside(path).write_bytes(b"".join(lines))
                mark_growing(aside(path))
                os.replace(aside(path), path)
            written.append(str(path))
        return written

    def _add(self, op_name: str, record: dict[str, Any] | None) -> bool:
        if record is None or not self.should_trace_op(op_name) or self.is_collection_complete(op_name):
            return False
        if os.path.basename(op_name) != op_name or not op_name:
            raise ValueError(f"{op_name!r} is no name of an operator")
        self._found.setdefault(op_name, []).append(line(record))
        return True


class _Actors:
    """Makes actors with absolute folders: the current folder of an actor's process differs from the caller's."""

    def __init__(self, made: Any) -> None:
        self._made = made

    def remote(self, work_dir: str | os.PathLike[str], *arguments: Any, **named: Any) -> Any:
        """Make an actor; the arguments are those of `Tracer`."""
        return self._made.remote(absolute(os.fspath(work_dir)), *arguments, **named)

    def options(self, **options: Any) -> _Actors:
        """A maker of actors with options of Ray."""
        return _Actors(self._made.options(**options))


RayTracer = _Actors(ray.remote(num_cpus=0)(Collector))
