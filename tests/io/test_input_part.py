"""`limit` and `sample`: the same samples for any cut of the input, format and number of workers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.errors import DataError
from refinery.io.input_part import part_of_input
from refinery.io.model import Shard
from refinery.io.readers.read import count_rows, read
from refinery.io.sources import cut, find
from tests.web_archives import members, page

SAMPLES: list[dict[str, Any]] = [{"id": k, "text": f"text {k} " * (k % 7), "n": k * 1.5} for k in range(120)]


def lines() -> list[str]:
    """Lines of samples, among them broken ones, blank ones, and one with a key twice."""
    made = [json.dumps(sample) for sample in SAMPLES]
    return [*made[:50], "no JSON", "", '{"text": "a", "text": "b"}', *made[50:80], "[1]", "  ", *made[80:], '{"text"']


def shards_of(path: Path, size: int) -> list[Shard]:
    return cut(find([str(path)])[0], size, 1)


def numbered(shards: list[Shard]) -> list[tuple[int, str]]:
    """Rows in order: number in the input, and content; both of good and of bad ones."""
    first, rows = 0, list[tuple[int, str]]()
    for shard in shards:
        own = list[tuple[int, str]]()
        for batch in read(shard, batch_bytes=2000, rows=16):
            own += [(int(row), batch.raw(i).decode()) for i, row in enumerate(batch.rows)]
            own += [(bad.row, bad.raw.decode().rstrip()) for bad in batch.bad]
        own.sort()
        assert [row for row, _ in own] == list(range(len(own)))  # counted anew, without gaps
        assert count_rows(shard) == len(own)
        rows += [(first + row, text) for row, text in own]
        first += len(own)
    return rows


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("inputs")
    text = "\n".join(lines())
    paths = {"jsonl": folder / "a.jsonl", "gz": folder / "a.jsonl.gz", "parquet": folder / "a.parquet"}
    paths["jsonl"].write_text(text)
    paths["gz"].write_bytes(gzip.compress(text.encode()))
    pq.write_table(pa.Table.from_pylist(SAMPLES), paths["parquet"], row_group_size=40)
    for name, suffix in (("texts", "txt"), ("several", "jsonl")):
        paths[name] = folder / name
        paths[name].mkdir()
        for n in range(26):
            content = f"file {n}" if suffix == "txt" else "\n".join(lines()[n * 5 : n * 5 + 5])
            (paths[name] / f"{n:02}.{suffix}").write_text(content)
    paths["warc"] = folder / "a.warc.gz"
    paths["warc"].write_bytes(members([page(k) for k in range(16)]))
    return paths


KINDS = ("jsonl", "gz", "parquet", "texts", "several", "warc")


@pytest.mark.parametrize("kind", KINDS)
def test_shards_do_not_decide(inputs: dict[str, Path], kind: str) -> None:
    whole = [text for _, text in numbered(shards_of(inputs[kind], 1 << 30))]
    chosen: list[str] = []
    for size in (1 << 30, 6000):
        shards = shards_of(inputs[kind], size)
        sampled = [text for _, text in numbered(part_of_input(shards, 0.4, None))]
        chosen = chosen or sampled
        assert sampled == chosen
        for limit in (7, len(whole) // 2, len(whole) + 5):
            assert [text for _, text in numbered(part_of_input(shards, None, limit))] == whole[:limit]
            assert [text for _, text in numbered(part_of_input(shards, 0.4, limit))] == chosen[:limit]
    assert 0 < len(chosen) < len(whole)


@pytest.mark.parametrize("kind", KINDS)
def test_a_smaller_sample_is_part_of_a_larger_one(inputs: dict[str, Path], kind: str) -> None:
    shards = shards_of(inputs[kind], 6000)
    whole = [text for _, text in numbered(shards)]
    larger = whole
    for share in (1.0, 0.7, 0.3, 0.05):
        sample = [text for _, text in numbered(part_of_input(shards, share, None))]
        assert set(sample) <= set(larger)
        assert sample == [text for text in whole if text in set(sample)]  # copies together, in the order of the input
        larger = sample
        assert share < 1 or sample == whole


def test_the_share_is_about_that_of_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"text": f"sample {k}"}) + "\n" for k in range(20_000)))
    [shard] = shards_of(path, 1 << 30)
    for share in (0.01, 0.1, 0.5):
        assert count_rows(part_of_input([shard], share, None)[0]) == pytest.approx(20_000 * share, rel=0.1)


def test_formats_choose_the_same_samples(inputs: dict[str, Path], tmp_path: Path) -> None:
    """A row of a table counts as the JSON line that refinery writes of it."""
    plain = tmp_path / "plain.jsonl"
    plain.write_text("".join(json.dumps(sample, separators=(",", ":")) + "\r\n" for sample in SAMPLES))
    ids = []
    for path in (plain, inputs["parquet"]):
        rows = [json.loads(text) for _, text in numbered(part_of_input(shards_of(path, 1000), 0.3, None))]
        ids.append([row["id"] for row in rows])
    assert ids[0] == ids[1]


def test_only_the_first_shards_are_left(inputs: dict[str, Path]) -> None:
    shards = shards_of(inputs["jsonl"], 500)
    assert len(part_of_input(shards, None, 5)) < len(shards)


def test_a_sample_without_a_file_is_an_error(inputs: dict[str, Path]) -> None:
    with pytest.raises(DataError, match="holds none of the 26 files. Take a larger share"):
        part_of_input(shards_of(inputs["texts"], 1 << 30), 1e-9, None)
