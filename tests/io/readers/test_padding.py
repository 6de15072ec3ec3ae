"""Zeros after and between gzip members, which tapes and tar leave: passed over, as gzip(1) and Python do."""

import gzip
import json
from pathlib import Path

import pytest

from refinery.io.formats import shape_of_start
from refinery.io.sources import find
from tests.io.hostile.everything import read_all

SAMPLES = [{"text": f"sample {k} " + "x" * 50} for k in range(200)]
LINES = b"".join(json.dumps(sample).encode() + b"\n" for sample in SAMPLES)
ZEROS = [b"\0", b"\0" * 100, b"\0" * 200_000]


@pytest.mark.parametrize("zeros", ZEROS, ids=len)
def test_a_small_array_with_zeros_after_it(tmp_path: Path, zeros: bytes) -> None:
    path = tmp_path / "in.json.gz"
    path.write_bytes(gzip.compress(json.dumps(SAMPLES).encode()) + zeros)
    assert [source.format for source in find([path])[0]] == ["json"]
    assert read_all(path) == (SAMPLES, [])
    start = path.read_bytes()
    assert shape_of_start(start, True, "gzip", False) == "json"


@pytest.mark.parametrize("zeros", ZEROS, ids=len)
@pytest.mark.parametrize("shard_size", [1 << 30, 500])
def test_zeros_between_members(tmp_path: Path, zeros: bytes, shard_size: int) -> None:
    path = tmp_path / "in.jsonl.gz"
    packed = gzip.compress(LINES)
    path.write_bytes(packed + zeros + packed + zeros + gzip.compress(LINES[:-1]) + zeros)
    assert len(gzip.decompress(path.read_bytes())) == 3 * len(LINES) - 1
    assert read_all(path, shard_size) == (3 * SAMPLES, [])


def test_damage_after_zeros_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl.gz"
    packed = gzip.compress(LINES)
    broken = bytearray(packed)
    broken[-6] ^= 1  # of the checksum
    for rest in (bytes(broken), packed[:-20], b"no gzip data"):
        path.write_bytes(packed + b"\0" * 10 + rest)
        good, bad = read_all(path)
        assert good[:200] == SAMPLES and len(bad) == 1
        assert "the compressed data is damaged" in bad[0].error and "gzip -t" in bad[0].error
