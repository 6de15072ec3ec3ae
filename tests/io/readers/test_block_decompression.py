"""bzip2 and xz: every line format in them, recognised by the first bytes, in one stream or several, cut anywhere."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

import refinery
from refinery.errors import DataError, RecipeError
from refinery.io.sources import find
from tests.io.hostile.everything import read_all

SAMPLES = [{"text": f"sample {k} " + "x" * 50, "n": k} for k in range(2000)]
LINES = "".join(json.dumps(sample) + "\n" for sample in SAMPLES).encode()
CSV = b"text,n\n" + b"".join(f"{sample['text']},{sample['n']}\n".encode() for sample in SAMPLES)
CODECS: list[tuple[str, Callable[[bytes], bytes]]] = [("bz2", bz2.compress), ("xz", lzma.compress)]


@pytest.mark.parametrize(("suffix", "pack"), CODECS)
@pytest.mark.parametrize("shard_size", [1 << 30, 5_000])
def test_lines_arrays_and_csv(tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes], shard_size: int) -> None:
    array = json.dumps(SAMPLES).encode()
    for name, content in {"a.jsonl": LINES, "b.json": array, "c.csv": CSV}.items():
        path = tmp_path / f"{name}.{suffix}"
        path.write_bytes(pack(content))
        assert read_all(path, shard_size) == (SAMPLES, [])


@pytest.mark.parametrize(("suffix", "pack"), CODECS)
def test_streams_one_after_another_with_padding(tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    middle = len(LINES) // 2
    path = tmp_path / f"a.jsonl.{suffix}"
    path.write_bytes(pack(LINES[:middle]) + b"\0" * 8 + pack(LINES[middle:]) + b"\0" * 4)
    assert read_all(path, 5_000) == (SAMPLES, [])


@pytest.mark.parametrize(("suffix", "pack"), CODECS)
def test_junk_behind_the_data_is_reported(tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / f"a.jsonl.{suffix}"
    path.write_bytes(pack(LINES) + b"junk")
    good, [bad] = read_all(path)
    assert good == SAMPLES and bad.error.startswith("the compressed data is damaged")


@pytest.mark.parametrize(("suffix", "pack"), CODECS)
def test_the_first_bytes_decide(tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "a.jsonl").write_bytes(pack(LINES))
    assert read_all(tmp_path / "a.jsonl") == (SAMPLES, [])
    (tmp_path / f"b.jsonl.{suffix}").write_bytes(LINES)
    with pytest.raises(DataError, match="the name says .*, but it holds no"):
        find([tmp_path / f"b.jsonl.{suffix}"])
    (tmp_path / f"c.jsonl.{suffix}").write_bytes(gzip.compress(LINES))  # another compression than in the name
    assert read_all(tmp_path / f"c.jsonl.{suffix}") == (SAMPLES, [])


def test_no_script_is_written_for_them(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.xz").write_bytes(lzma.compress(LINES))
    recipe = {"dataset_path": str(tmp_path / "a.jsonl.xz"), "export_path": str(tmp_path / "k.jsonl")}
    with pytest.raises(RecipeError, match="holds xz data, which DuckDB does not read"):
        refinery.compile({**recipe, "process": ["whitespace_normalization_mapper"]})
