"""Long lines, large documents and small files that hold much: limits hold, memory does not grow."""

import gzip
import json
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.errors import DataError
from refinery.io.limits import ReadLimits
from refinery.io.readers.delimited import Dialect, _Reader
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


@pytest.mark.parametrize("megabytes", [12, pytest.param(100, marks=pytest.mark.long)])
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


ROWS = 30_000
# The peak of memory begins anew with each file; `ru_maxrss` would begin with that of the process that starts this one.
_PEAKS = """
import json, re, sys
from pathlib import Path
from refinery.io.readers.read import read
from refinery.io.sources import cut, find
def memory(what):
    return int(re.search(what + r":\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) // 1000
def passed_over(path, size, options):
    good, bad = 0, []
    for shard in cut(find([path])[0], size):
        for batch in read(shard, **options):
            good += len(batch)
            bad += [(item.error, len(item.raw)) for item in batch.bad]
    return good, bad
found = []
for small, large, size, options in json.loads(sys.argv[1]):
    passed_over(small, size, options)
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    found.append([*passed_over(large, size, options), memory("VmHWM") - before])
print(json.dumps(found))
"""


def grown(folder: Path, names: list[str], size: int, **options: int) -> list[tuple[int, list[Any], int]]:
    """Samples of `large/<name>`, its bad ones, and the megabytes that reading takes after `small/<name>` was read."""
    jobs = [(str(folder / "small" / name), str(folder / "large" / name), size, options) for name in names]
    done = subprocess.run([sys.executable, "-c", _PEAKS, json.dumps(jobs)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [(good, bad, megabytes) for good, bad, megabytes in json.loads(done.stdout)]


def put_rows(path: Path, count: int) -> None:
    """A file of this many texts of 2 kB."""
    texts = [f"{k} " * 400 for k in range(count)]
    if path.name == "a.parquet":
        pq.write_table(pa.table({"text": texts}), path, row_group_size=count, compression="zstd")
        return
    lines = [f'{{"id": {k}, "text": "{text}"}}' for k, text in enumerate(texts)]
    content = ("[" + ",\n".join(lines) + "]" if path.name == "a.json" else "\n".join(lines)).encode()
    path.write_bytes(gzip.compress(content, 1) if path.name.endswith("gz") else content)


@pytest.mark.parametrize(
    "names",
    [["a.json", "a.parquet"], pytest.param(["a.jsonl", "a.jsonl.gz"], marks=pytest.mark.long)],
    ids=lambda names: "-".join(names),
)
def test_memory_does_not_grow_with_the_file(tmp_path: Path, names: list[str]) -> None:
    for folder, count in (("small", 1_000), ("large", ROWS)):
        (tmp_path / folder).mkdir()
        for name in names:
            put_rows(tmp_path / folder / name, count)
    for name, (rows, bad, megabytes) in zip(names, grown(tmp_path, names, 1 << 40), strict=True):
        assert (rows, bad) == (ROWS, []), name
        assert megabytes < 60, f"{megabytes} MB more for 70 MB of text in {name}"


def bomb(path: Path, head: bytes, tail: bytes, megabytes: int) -> None:
    """A compressed file whose text has a line of this many megabytes."""
    packer = zlib.compressobj(1, wbits=31)
    zeros = bytes(1 << 20)
    parts = [packer.compress(head), *(packer.compress(zeros) for _ in range(megabytes)), packer.compress(tail)]
    path.write_bytes(b"".join(parts) + packer.flush())


@pytest.mark.parametrize(
    ("name", "head", "tail", "good"),
    [
        ("a.jsonl.gz", b'{"a":"one"}\n{"a":"', b'"}\n{"a":"two"}\n', 2),
        pytest.param(*("a.json.gz", b'[{"a":"one"},\n{"a":"', b'"},\n{"a":"two"}]\n', 1), marks=pytest.mark.long),
    ],
    ids=["lines", "array"],
)
def test_a_bomb_costs_no_more_than_the_limit(tmp_path: Path, name: str, head: bytes, tail: bytes, good: int) -> None:
    for folder, megabytes in (("small", 1), ("large", 150)):
        (tmp_path / folder).mkdir()
        bomb(tmp_path / folder / name, head, tail, megabytes)
    assert (tmp_path / "large" / name).stat().st_size < 1_000_000
    [(read, [(error, kept)], more)] = grown(tmp_path, [name], 8 << 20, batch_bytes=1 << 20, max_line=8 << 20)
    assert read == good
    assert "longer than" in error and kept <= 16 << 20
    assert more < 60, f"{more} MB more for a line of 150 MB with a limit of 8 MB"


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
        _Reader(find([tmp_path / "a.csv.gz"])[0][0], Dialect(","), ReadLimits(line=1000, batch_bytes=5000))
