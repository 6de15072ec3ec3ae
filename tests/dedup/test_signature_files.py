"""Signature files that datatrove 0.10.1 has written: read, written in the same bytes, and refused where they are damaged."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from refinery.dedup.signature_files import Layout, append, config_of, finish, ranks_of, read_rank
from refinery.errors import DataError
from refinery.kernels.dedup.minhash_datatrove import datatrove_minima
from refinery.kernels.dedup.minhash_texts import split

HOME = Path(__file__).parents[1] / "conformance" / "own" / "datatrove" / "dedup"
CASES: list[dict[str, Any]] = json.loads((HOME / "signature_files.json").read_text(encoding="utf-8"))
LINES = (HOME / "dedup_docs.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
TEXTS = {document["id"]: document["text"] for document in map(json.loads, LINES)}


def params_of(case: dict[str, Any]) -> dict[str, Any]:
    config = case["config"]
    names = ("n_grams", "num_buckets", "hashes_per_bucket", "seed")
    return {name: config[name] for name in names} | config["hash_config"]


def put(case: dict[str, Any], folder: Path) -> Layout:
    """Write the recorded files to a folder."""
    for name, content in case["files"].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(base64.b64decode(content))
    return Layout.of(params_of(case))


def minima_of(case: dict[str, Any], ids: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The minima of documents, and which of them have some."""
    params = params_of(case)
    tokens = split(pa.array([TEXTS[i] for i in ids]), "datatrove", "english", True, None, None)
    number = params["num_buckets"] * params["hashes_per_bucket"]
    return datatrove_minima(tokens, params["n_grams"], number, params["seed"], params["precision"], params["hash_fc"])


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: "{precision}-{hash_fc}".format(**case["config"]["hash_config"])
)
def test_recorded_files_are_read_and_written_again(tmp_path: Path, case: dict[str, Any]) -> None:
    layout = put(case, tmp_path / "recorded")
    assert ranks_of(tmp_path / "recorded", layout) == [0, 1]
    for rank, ids in enumerate(case["ranks"]):
        minima, present = minima_of(case, ids)
        documents, read = read_rank(tmp_path / "recorded", rank, layout)
        assert documents.tolist() == np.flatnonzero(present).tolist()
        assert np.array_equal(read, minima[present])
        half = len(documents) // 2  # in two parts, out of order
        for part in (slice(half, None), slice(0, half)):
            append(tmp_path / "own", rank, layout, minima[present][part], documents[part])
        finish(tmp_path / "own", rank, layout)
    for name, content in case["files"].items():
        assert (tmp_path / "own" / name).read_bytes() == base64.b64decode(content), name


def changed(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(change((folder / name).read_bytes()))

    return damage


RECORD = 3 * 8 + 4  # bytes, of the first recorded case
FIRST, SECOND = "bucket_000/00000.minhash.sig", "bucket_001/00001.minhash.sig"
DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut": (changed(FIRST, lambda data: data[:-1]), "no multiple of the 28 bytes"),
    "lost record": (changed(SECOND, lambda data: data[:-RECORD]), "other documents than in bucket_000"),
    "unsorted": (changed(FIRST, lambda data: data[RECORD:] + data[:RECORD]), "not sorted"),
    "twice": (changed(FIRST, lambda data: data[:-4] + data[RECORD - 4 : RECORD]), "a document occurs twice"),
    "too large": (changed(FIRST, lambda data: b"\xff" * 24 + data[24:]), "2^61 - 1 or more"),
    "lost rank": (lambda folder: (folder / SECOND).unlink(), "rank 00001 is not in all buckets"),
    "lost bucket": (lambda folder: shutil.rmtree(folder / "bucket_003"), "buckets 000 to 002, 3 in all"),
    "index file": (lambda folder: (folder / "bucket_000" / "x_00.minhash.index").touch(), "without documents"),
    "other file": (lambda folder: (folder / "bucket_000" / "notes.txt").touch(), "not a signature file"),
    "nothing": (lambda folder: shutil.rmtree(folder), "no such folder"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGES)
def test_damaged_files_are_refused(tmp_path: Path, kind: str) -> None:
    layout = put(CASES[0], tmp_path / "files")
    damage, message = DAMAGES[kind]
    damage(tmp_path / "files")
    with pytest.raises(DataError, match=message.replace("^", r"\^")):
        for rank in ranks_of(tmp_path / "files", layout):
            read_rank(tmp_path / "files", rank, layout)


def test_another_layout_of_the_same_size_is_refused(tmp_path: Path) -> None:
    """Records of three minima of 64 bits have the size of those of six minima of 32 bits."""
    put(CASES[0], tmp_path)
    with pytest.raises(DataError, match="not sorted"):
        read_rank(tmp_path, 0, Layout(4, 6, 32))


def test_the_configuration_is_named_as_in_datatrove() -> None:
    hashes = 'hash_config=HashConfig(precision=32, hash_fc="sha1")'
    assert config_of(params_of(CASES[1])) == (
        f"MinhashConfig(n_grams=3, num_buckets=3, hashes_per_bucket=2, seed=1, {hashes})"
    )
