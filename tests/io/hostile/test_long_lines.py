"""Long lines, large documents and small files that hold much: limits hold, memory does not grow."""

import gzip
import json
import subprocess
import sys
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.errors import DataError
from refinery.io.limits import ReadLimits
from refinery.io.readers.delimited import _Reader
from refinery.io.sources import find
from tests.io.hostile.everything import GOOD, read_all


def test_a_line_above_the_limit_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    long = b'{"text": "' + b"x" * 100_000 + b'"}'
    path.write_bytes(b"\n".join([GOOD[0], long, GOOD[1], long]))
    good, bad = read_all(path, batch_bytes=5000, max_line=20_000)
    assert good == [{"text": "one"}, {"text": "two"}]
    assert [(b.row, b.line) for b in bad] == [(1, 2), (3, 4)]
    assert bad[0].error == "a line of 100013 bytes is longer than the limit" and long.startswith(bad[0].raw)
    for size in (50_000, 100_030):
        good, bad = read_all(path, size, batch_bytes=5000, max_line=20_000)
        assert (len(good), [b.line for b in bad]) == (2, [2, 4])


@pytest.mark.parametrize("megabytes", [20, pytest.param(100, marks=pytest.mark.long)])
def test_a_document_of_many_megabytes(tmp_path: Path, megabytes: int) -> None:
    path = tmp_path / "a.jsonl"
    length = megabytes * 1_000_000
    text = "some text\\n" * (length // 10)
    path.write_text(f'{{"text": "one"}}\n{{"text": "{text}"}}\n{{"text": "two"}}\n')
    good, bad = read_all(path, 4 << 20)
    assert bad == [] and [len(sample["text"]) for sample in good] == [3, length, 3]
    path.with_suffix(".json").write_bytes(b"[" + path.read_bytes().strip().replace(b"}\n", b"},\n") + b"]")
    good, bad = read_all(path.with_suffix(".json"))
    assert bad == [] and [len(sample["text"]) for sample in good] == [3, length, 3]


ROWS = 55_000
_PEAK = """
import resource, sys
from refinery.io.readers.read import read
from refinery.io.sources import cut, find
def rows(path):
    return sum(len(batch) for shard in cut(find([path])[0], 1 << 40) for batch in read(shard))
rows(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(rows(sys.argv[2]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize(
    "name", ["a.json", "a.parquet", *(pytest.param(n, marks=pytest.mark.long) for n in ("a.jsonl", "a.jsonl.gz"))]
)
def test_memory_does_not_grow_with_the_file(tmp_path: Path, name: str) -> None:
    for folder, count in (("small", 1_000), ("large", ROWS)):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / name
        lines = [json.dumps({"id": k, "text": f"{k} " * 400}) for k in range(count)]
        text = "[" + ",\n".join(lines) + "]" if name == "a.json" else "\n".join(lines)
        if name == "a.parquet":
            table = pa.table({"text": [f"{k} " * 400 for k in range(count)]})
            pq.write_table(table, path, row_group_size=count, compression="zstd")
        else:
            path.write_bytes(gzip.compress(text.encode(), 1) if name.endswith("gz") else text.encode())
    arguments = [sys.executable, "-c", _PEAK, *(str(tmp_path / folder / name) for folder in ("small", "large"))]
    found = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.split()
    assert int(found[0]) == ROWS
    assert int(found[1]) < 70_000, f"{int(found[1]) / 1000} MB more for 130 MB of text"


def bomb(path: Path, head: bytes, tail: bytes, megabytes: int) -> None:
    """A compressed file whose text has a line of this many megabytes."""
    packer = zlib.compressobj(6, wbits=31)
    zeros = bytes(1 << 20)
    parts = [packer.compress(head), *(packer.compress(zeros) for _ in range(megabytes)), packer.compress(tail)]
    path.write_bytes(b"".join(parts) + packer.flush())


_READ = """
import json, resource, sys
from refinery.io.readers.read import read
from refinery.io.sources import cut, find
limit, good, bad = 8 << 20, 0, []
next(read(cut(find([sys.argv[1]])[0])[0]), None)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for shard in cut(find([sys.argv[2]])[0], 8 << 20):
    for batch in read(shard, 1 << 20, max_line=limit):
        good += len(batch)
        bad += [(item.error, len(item.raw)) for item in batch.bad]
print(json.dumps([good, bad, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024]))
"""


@pytest.mark.parametrize(
    ("name", "head", "tail", "good"),
    [
        ("a.jsonl.gz", b'{"a":"one"}\n{"a":"', b'"}\n{"a":"two"}\n', 2),
        pytest.param(*("a.json.gz", b'[{"a":"one"},\n{"a":"', b'"},\n{"a":"two"}]\n', 1), marks=pytest.mark.long),
    ],
    ids=["lines", "array"],
)
def test_a_bomb_costs_no_more_than_the_limit(tmp_path: Path, name: str, head: bytes, tail: bytes, good: int) -> None:
    bomb(tmp_path / name, head, tail, 200)
    assert (tmp_path / name).stat().st_size < 300_000
    (tmp_path / "small").mkdir()
    bomb(tmp_path / "small" / name, head, tail, 1)
    command = [sys.executable, "-c", _READ, str(tmp_path / "small" / name), str(tmp_path / name)]
    read, [(error, kept)], grown = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert read == good
    assert "longer than" in error and kept <= 16 << 20
    assert grown < 60, f"{grown} MB more for a line of 200 MB with a limit of 8 MB"


def test_a_csv_line_above_the_limit_is_passed_over(tmp_path: Path) -> None:
    bomb(tmp_path / "a.csv.gz", b"text,n\na,1\n", b",2\nb,3\n", 3)
    good, [bad] = read_all(tmp_path / "a.csv.gz", batch_bytes=5000, max_line=1 << 20)
    assert good == [{"text": "a", "n": "1"}, {"text": "b", "n": "3"}] or good == [
        {"text": "a", "n": 1},
        {"text": "b", "n": 3},
    ]
    assert (bad.row, bad.line, bad.error) == (1, 3, f"a line of {(3 << 20) + 3} bytes is longer than the limit")
    bomb(tmp_path / "a.csv.gz", b"", b"\n", 3)
    with pytest.raises(DataError, match="the first line cannot be the header: it is longer than 1000"):
        _Reader(find([tmp_path / "a.csv.gz"])[0][0], ",", ReadLimits(line=1000, batch_bytes=5000))
