"""Inputs are edited between runs in one folder: each run leaves what a run in an empty folder leaves, to the byte."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import refinery
from refinery.api import Run
from tests.examples import share_of
from tests.runs import content
from tests.sampling import named

EXPORTS = ("jsonl", "jsonl.gz", "jsonl.zst", "json", "parquet")
STEPS: dict[str, list[Any]] = {
    "one stage": [{"text_length_filter": {"min_len": 3}}],
    "a mapper": [{"sql_mapper": {"text": "upper(text)"}}],
    "two stages": [{"document_deduplicator": {}}, {"text_length_filter": {"min_len": 3}}],
    "texts between stages": [
        {"sql_mapper": {"text": "upper(text)"}},
        {"document_deduplicator": {}},
        {"text_length_filter": {"min_len": 3}},
    ],
    "an index": [{"document_deduplicator": {"index": "seen"}}, {"text_length_filter": {"min_len": 3}}],
}
KEYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "traces and statistics": {
        "open_tracer": True,
        "stat_summary": {"groups": ["summary"]},
        "keep_stats_in_res_ds": True,
    },
    "several files": {"export_shard_size": 60},
    "processes": {"workers": "processes", "np": 2},
}


def write_samples(path: Path, samples: list[dict[str, Any]]) -> None:
    """Write samples in the format of the path's suffix."""
    lines = b"".join(json.dumps(sample).encode() + b"\n" for sample in samples)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(samples, pa.schema({"id": pa.int64(), "text": pa.string()})), path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(lines, mtime=0))
    else:
        path.write_bytes(lines)


class Inputs:
    """A folder of input files whose samples are edited, and the list of those that a recipe names, in order."""

    def __init__(self, folder: Path, suffix: str) -> None:
        self.folder, self.suffix = folder, suffix
        self.files: dict[str, list[dict[str, Any]]] = {}
        self._next = 0
        folder.mkdir(parents=True)
        for name, count in (("a", 4), ("b", 3), ("c", 5)):
            self._save(name, [self._sample() for _ in range(count)])

    @property
    def paths(self) -> list[str]:
        """The files, in the order in which a run reads them."""
        return [str(self._path(name)) for name in self.files]

    def edit(self, kind: str, at: int) -> None:
        """Edit the file number `at`, counted round."""
        name = list(self.files)[at % len(self.files)]
        samples = self.files[name]
        if kind == "drop" and len(self.files) > 1:
            del self.files[name]
            self._path(name).unlink()
        elif kind == "add":
            self._save(f"n{self._next}", [self._sample() for _ in range(1 + at % 3)])
        elif kind == "append":
            self._save(name, [*samples, *(self._sample() for _ in range(1 + at % 3))])
        elif kind == "shrink":
            self._save(name, samples[: len(samples) // 2])
        elif kind == "empty" and self.suffix != ".parquet":
            self._save(name, [])
        elif kind == "correct" and samples:
            self._save(name, [{**samples[0], "id": 1_000 + samples[0]["id"]}, *samples[1:]])
        elif kind == "reorder":
            self.files = {one: self.files[one] for one in (*list(self.files)[1:], next(iter(self.files)))}
        elif kind == "rename":
            self._path(name).rename(self._path(f"r{name}"))
            self.files = {f"r{one}" if one == name else one: found for one, found in self.files.items()}
        elif kind == "copy":
            self._save(f"k{self._next}", samples)
            self._next += 1
        else:
            os.utime(self._path(name), ns=(self._next, self._next))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{self.suffix}"

    def _save(self, name: str, samples: list[dict[str, Any]]) -> None:
        self.files[name] = samples
        write_samples(self._path(name), samples)

    def _sample(self) -> dict[str, Any]:
        self._next += 1
        return {"id": self._next, "text": f"text {self._next % 7}" if self._next % 5 else "no"}


EDITS = ("drop", "add", "append", "shrink", "empty", "correct", "reorder", "rename", "copy", "touch")


def left(run: Run, folder: Path) -> tuple[Any, dict[str, bytes], Any]:
    """Tables, all visible files but the database, and the counts of a run."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    visible = [path for path in paths if ".refinery" not in path.parts and path.suffix != ".duckdb"]
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in visible if path.name != "status.json"}
    counts = run.counts.read, run.counts.kept, run.counts.removed, run.counts.quarantined
    tables = repr(content(run, "stat_summary")).replace(str(folder), "")
    return tables, files, counts


def recipe(inputs: Inputs, folder: Path, export: str, steps: str, keys: str) -> dict[str, Any]:
    options = dict(KEYS[keys])
    if "stat_summary" in options:
        options["stat_summary"] = {**options["stat_summary"], "export": str(folder / "statistics")}
    places = {"export_path": str(folder / f"out.{export}"), "work_dir": str(folder)}
    process = json.loads(json.dumps(STEPS[steps]).replace('"seen"', json.dumps(f"{folder}-seen")))
    return {"dataset_path": inputs.paths, "np": 1, **places, **options, "process": process}


def check_edits(top: Path, suffix: str, export: str, steps: str, keys: str, edits: list[tuple[str, int]]) -> None:
    """Edit the inputs one by one; after each edit compare a run in the old folder with one in a new folder."""
    inputs = Inputs(top / "in", suffix)
    refinery.run(recipe(inputs, top / "kept", export, steps, keys))
    for number, (kind, at) in enumerate(edits):
        inputs.edit(kind, at)
        kept = refinery.run(recipe(inputs, top / "kept", export, steps, keys))
        fresh = refinery.run(recipe(inputs, top / f"fresh{number}", export, steps, keys))
        assert left(kept, top / "kept") == left(fresh, top / f"fresh{number}"), (kind, at)


@pytest.mark.parametrize("export", named({name: name for name in EXPORTS}, "jsonl", "jsonl.gz", "parquet"))
def test_rows_of_a_dropped_input_leave_the_export(tmp_path: Path, export: str) -> None:
    steps = "texts between stages" if export in ("jsonl.gz", "parquet") else "one stage"
    check_edits(tmp_path, ".parquet" if export == "parquet" else ".jsonl", export, steps, "plain", [("drop", 2)])


@pytest.mark.parametrize("steps", ["two stages", "an index"])
def test_each_kind_of_edit_leaves_what_a_fresh_run_leaves(tmp_path: Path, steps: str) -> None:
    check_edits(tmp_path, ".jsonl", "jsonl", steps, "plain", [(kind, 1) for kind in EDITS])


@pytest.mark.long
@settings(max_examples=share_of(40, 6), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    suffix=st.sampled_from([".jsonl", ".jsonl.gz", ".parquet"]),
    export=st.sampled_from(EXPORTS),
    steps=st.sampled_from(list(STEPS)),
    keys=st.sampled_from(list(KEYS)),
    edits=st.lists(st.tuples(st.sampled_from(EDITS), st.integers(0, 9)), min_size=1, max_size=4),
)
def test_edited_inputs_leave_what_a_fresh_run_leaves(
    suffix: str, export: str, steps: str, keys: str, edits: list[tuple[str, int]]
) -> None:
    top = Path(tempfile.mkdtemp(prefix="edited-"))
    try:
        check_edits(top, suffix, export, steps, keys, edits)
    finally:
        shutil.rmtree(top)
