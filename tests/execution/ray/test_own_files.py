"""A machine that has files of its own, under the names, sizes and times of the driver's, does not take part."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from refinery.errors import DataError, OperatorError
from refinery.execution.ray import environment, tasks
from refinery.io import input_files
from refinery.io.model import Part, Shard, Source
from refinery.io.side_files import digests
from refinery.operators import Library

MIB = 1 << 20


def replaced(path: Path, content: bytes) -> None:
    """Put other bytes in the place of a file, of its size and time."""
    before = path.stat()
    assert len(content) == before.st_size
    other = path.with_name("other")
    other.write_bytes(content)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


def shard_of(*paths: Path, form: str = "jsonl", start: int = 0, end: int = -1) -> Shard:
    sources = tuple(Source(str(path), form, None, path.suffix, path.stat().st_size) for path in paths)
    return Shard(0, sources, start, end)


def filled(path: Path, size: int) -> bytes:
    content = bytes(n % 251 for n in range(4096)) * (size // 4096)
    path.write_bytes(content)
    return content


@pytest.mark.parametrize("at", [0, MIB * 3 // 2, MIB * 3 - 1], ids=["head", "middle", "tail"])
@pytest.mark.parametrize("form", ["jsonl", "json", "csv", "parquet", "arrow", "text"])
def test_other_bytes_of_the_same_size_and_time_are_refused(tmp_path: Path, form: str, at: int) -> None:
    path = tmp_path / "in.data"
    content = bytearray(filled(path, MIB * 3))
    known = input_files.facts_of(shard_of(path, form=form))
    input_files.check_files(known)
    content[at] ^= 1
    replaced(path, bytes(content))
    with pytest.raises(DataError, match="of this size and time there, but with other bytes.*Give all machines"):
        input_files.check_files(known)


def test_every_byte_of_a_small_file_counts(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    content = bytearray(filled(path, MIB))
    known = input_files.facts_of(shard_of(path))
    content[300_000] ^= 1
    replaced(path, bytes(content))
    with pytest.raises(DataError, match="with other bytes"):
        input_files.check_files(known)


def test_a_shard_from_the_middle_of_a_file_looks_at_its_own_bytes(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    content = bytearray(filled(path, MIB * 4))
    first, second = (input_files.facts_of(shard_of(path, start=n * MIB, end=(n + 1) * MIB)) for n in range(2))
    content[MIB + 17] ^= 1
    replaced(path, bytes(content))
    input_files.check_files(first)
    with pytest.raises(DataError, match="with other bytes"):
        input_files.check_files(second)


def test_each_of_many_files_of_a_shard_counts(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.txt" for number in range(40)]
    for path in paths:
        path.write_text("a text")
    known = input_files.facts_of(shard_of(*paths, form="text"))
    input_files.check_files(known)
    replaced(paths[33], b"b text")
    with pytest.raises(DataError, match="33.txt: the machine .* other bytes"):
        input_files.check_files(known)


def test_a_shard_that_reads_results_of_a_stage_has_no_input_files(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("{}\n")
    shard = shard_of(path)
    part = Shard(0, shard.sources, part=Part(shard.source))
    assert input_files.facts_of(part) == []


def test_side_files_with_other_contents_are_refused_before_rows_are_read(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed.csv"
    allowed.write_text("id\n1\n")
    text = environment.described([], [], Library(), beside=digests([str(allowed)]))
    environment.check(text)
    replaced(allowed, b"id\n2\n")
    with pytest.raises(OperatorError, match="allowed.csv: the machine .* has another file or folder there"):
        environment.check(text)


def test_tasks_other_than_shards_refuse_as_well() -> None:
    wanted = json.loads(environment.described([], [], Library()))
    wanted["code"]["duckdb"] = "0.1"
    answer = json.loads(tasks.call(os.getcwd(), "builtins:str", json.dumps(wanted), "done"))
    assert answer["error"] == "OperatorError" and "not 0.1. Install the same on every machine" in answer["message"]
