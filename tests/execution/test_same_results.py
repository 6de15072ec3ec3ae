"""The same samples give the same rows, tables and export, however they are cut, stored and shared out to workers."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import refinery
from refinery.api import Run
from refinery.io.model import Shard
from refinery.workers.worker import Worker
from tests.conftest import ROOT
from tests.runs import content, exported, settings
from tests.sampling import named, sampled

LINES = (ROOT / "recipes" / "data" / "web_sample.jsonl").read_bytes().split(b"\n")[:-1]


def readable(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line).get("text"), str) and b"\\ud83d," not in line
    except (ValueError, AttributeError):
        return False


# Some of the good lines, and all that cannot be read, of which there are enough to stand in every part of the file.
SOME = [line for k, line in enumerate(LINES) if k % 7 == 1 or not readable(line)]
GOOD = [line for line in SOME if readable(line)]
STEPS: list[Any] = yaml.safe_load((ROOT / "recipes" / "web_sample.yaml").read_text(encoding="utf-8"))["process"]
STEPS += [{"text_length_filter": {"min_len": 150}}, {"sql_filter": {"where": "_row % 7 <> 3 OR num_words > 60"}}]


def run(folder: Path, path: Path, **keys: Any) -> Run:
    keys = {"open_tracer": True, "trace_keys": ["id"], "trace_num": 5, "dataset_path": path, **keys}
    return refinery.run(settings(folder, STEPS, **keys))


def tables(found: Run) -> dict[str, list[tuple[Any, ...]]]:
    """All tables but `shards`; of files only the first part of the name."""
    result = content(found, "shards")
    result["quarantine"] = [(row, Path(file).name.split(".")[0], *rest) for row, file, *rest in result["quarantine"]]
    return result


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    found = {name: folder / f"in.{name}" for name in ("jsonl", "jsonl.gz", "jsonl.zst")}
    data = b"\n".join(SOME) + b"\n"
    found["jsonl"].write_bytes(data)
    found["jsonl.gz"].write_bytes(gzip.compress(data[: len(data) // 2]) + gzip.compress(data[len(data) // 2 :]))
    with pa.CompressedOutputStream(str(found["jsonl.zst"]), "zstd") as stream:
        stream.write(data)
    found["good"] = folder / "good.jsonl"
    found["good"].write_bytes(b"\n".join(GOOD) + b"\n")
    found["parquet"] = folder / "good.parquet"
    pq.write_table(pa.Table.from_pylist([json.loads(line) for line in GOOD]), found["parquet"], row_group_size=17)
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, files: dict[str, Path]) -> tuple[dict[str, Any], bytes]:
    """The tables and the export of one worker, one shard, one batch."""
    found = run(tmp_path_factory.mktemp("plain"), files["jsonl"])
    assert found.sql("SELECT count(*) FROM shards").fetchall() == [(1,)] and found.counts.quarantined == len(
        SOME
    ) - len(GOOD)
    assert min(found.counts.kept, found.counts.removed, found.counts.quarantined) > 10
    return tables(found), found.outputs[0].read_bytes()


VARIANTS: dict[str, dict[str, Any]] = {
    "two workers": {"np": 2},
    "many shards, two workers": {"shard_size": 18_000, "np": 2},
    "very many shards": {"shard_size": 6_000},
    "two threads of DuckDB": {"np": 2, "threads": 2, "shard_size": 45_000},
    "two processes": {"shard_size": 45_000, "np": 2, "workers": "processes"},
    "two processes with timeouts": {"shard_size": 50_000, "np": 2, "row_timeout": 30},
    "nothing shared, many shards, two workers": {"op_fusion": False, "shard_size": 45_000, "np": 2},
}


@pytest.mark.parametrize(
    "keys",
    named(
        VARIANTS,
        "two processes with timeouts",
        "nothing shared, many shards, two workers",
    ),
)
def test_cuts_workers_and_sharing_change_nothing(
    tmp_path: Path, files: dict[str, Path], plain: tuple[Any, bytes], keys: dict[str, Any]
) -> None:
    found = run(tmp_path, files["jsonl"], **keys)
    assert tables(found) == plain[0]
    assert found.outputs[0].read_bytes() == plain[1]
    if "shard_size" in keys:
        assert found.sql("SELECT count(*) FROM shards").fetchall()[0][0] > 3


@pytest.mark.parametrize("form", sampled(["jsonl.zst", "jsonl.gz"]))
def test_compression_changes_nothing(
    tmp_path: Path, files: dict[str, Path], plain: tuple[Any, bytes], form: str
) -> None:
    found = run(tmp_path, files[form])
    assert tables(found) == plain[0] and found.outputs[0].read_bytes() == plain[1]


def test_tables_and_lines_give_the_same(tmp_path: Path, files: dict[str, Path], plain: tuple[Any, bytes]) -> None:
    lines = run(tmp_path / "lines", files["good"])
    table = run(tmp_path / "table", files["parquet"], shard_size=25_000, np=2)
    assert tables(table) == tables(lines) and lines.counts.quarantined == 0
    assert exported(table) == exported(lines)
    # Without the lines that cannot be read, rows have other numbers, but the same fate where that does not decide.
    assert len(exported(lines)) > 20


def test_rows_are_counted_in_the_order_of_the_input(tmp_path: Path, files: dict[str, Path]) -> None:
    found = run(tmp_path, files["jsonl"], shard_size=15_000, np=2)
    read = [
        row
        for (row,) in found.sql("SELECT _row FROM stats UNION ALL SELECT _row FROM quarantine ORDER BY 1").fetchall()
    ]
    assert read == list(range(len(SOME)))
    kept = [row for (row,) in found.sql("SELECT _row FROM stats WHERE kept ORDER BY _row").fetchall()]
    assert [row["id"] for row in exported(found)] == [json.loads(SOME[row])["id"] for row in kept]
    bad = {row: line for row, line in found.sql("SELECT _row, line FROM quarantine").fetchall()}
    assert bad == {row: row + 1 for row, line in enumerate(SOME) if not readable(line)}
    cuts = found.sql('SELECT shard, start, "end", first_row, first_line, rows FROM shards ORDER BY shard').fetchall()
    for (_, _, end, first, line, count), (_, start, _, next_first, next_line, _) in zip(cuts, cuts[1:], strict=False):
        assert end == start and next_first == first + count and next_line == line + count


def test_blank_lines_have_no_number(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'\n{"text":"one"}\n \t\r\n\r\n{"text":"two"}\nbroken\n\n{"text":"three"}')
    for size in (5, 1000):
        found = refinery.run(settings(tmp_path, [{"text_length_filter": {"min_len": 4}}], shard_size=size))
        assert found.sql("SELECT _row, kept FROM stats").fetchall() == [(0, False), (1, False), (3, True)]
        assert found.sql("SELECT _row, line, raw FROM quarantine").fetchall() == [(2, 6, "broken")]


def test_batches_and_the_order_in_which_workers_end_change_nothing(
    tmp_path: Path, files: dict[str, Path], plain: tuple[Any, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    work = Worker.run

    def late(self: Any, shard: Shard, task: Any) -> Any:
        time.sleep(0.05 * (shard.index % 3 == 0))
        return work(self, shard, replace(task, batch_bytes=15_000))

    monkeypatch.setattr(Worker, "run", late)
    found = run(tmp_path, files["jsonl"], shard_size=40_000, np=2)
    assert tables(found) == plain[0] and found.outputs[0].read_bytes() == plain[1]
