"""Every format gives the same rows, tables, traces and export in 1, 2 and 7 shards, with 1, 2 and 4 workers."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import refinery
from refinery.cli.main import cli
from refinery.inspect.why.query import RowHistories
from refinery.io.sources import cut, find
from tests.conftest import ROOT
from tests.execution.same import assert_same
from tests.runs import settings
from tests.sampling import named, sampled

LINES = (ROOT / "recipes" / "data" / "web_sample.jsonl").read_bytes().split(b"\n")[:-1]
STEPS: list[Any] = [
    {"clean_links_mapper": {}},
    {"whitespace_normalization_mapper": {}},
    {"sql_filter": {"where": "_row % 11 <> 3"}},
    {"document_deduplicator": {}},
    {"words_num_filter": {"min_num": 25}},
]


def sample(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
        return value if isinstance(value["text"], str) and value["text"].encode() else None
    except (ValueError, KeyError, TypeError):
        return None


GOOD = [found for line in LINES if (found := sample(line))]
TWICE = [*GOOD[:90], *GOOD[60:160]]


def lines_of(samples: list[dict[str, Any]]) -> bytes:
    return b"\n".join(json.dumps(sample, ensure_ascii=False).encode() for sample in samples)


def table(samples: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist([{"id": s.get("id"), "text": s["text"], "score": s.get("score")} for s in samples])


def csv_of(samples: list[dict[str, Any]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_MINIMAL, lineterminator="\n")
    writer.writerow(["id", "text", "n"])
    writer.writerows([sample.get("id"), sample["text"], k] for k, sample in enumerate(samples))
    return text.getvalue().encode() + b'broken,"never closed\nlong,er,than,it,is\n'


def write(folder: Path, form: str) -> Path:
    """The samples, among them some that cannot be read where the format allows, as one file or as a folder of many."""
    path = folder / f"in.{form}"
    if form == "parquet":
        pq.write_table(table(TWICE), path, row_group_size=20)
    elif form == "arrow":
        with pa.ipc.new_file(str(path), table(TWICE).schema) as writer:
            writer.write_table(table(TWICE), 20)
    elif form.startswith("many."):
        path = folder / "many"
        path.mkdir()
        for k in range(0, len(TWICE), 7):
            data = csv_of(TWICE[k : k + 7]) if form.endswith("csv") else lines_of(TWICE[k : k + 7]) + b"\nbroken\n"
            (path / f"{k:05}.{form.removeprefix('many.')}").write_bytes(data)
    else:
        plain = form.partition(".")[0]
        data = b"\n".join(LINES[:200] + LINES[:30]) + b"\n"
        data = csv_of(TWICE) if plain == "csv" else json.dumps(TWICE, indent=1).encode() if plain == "json" else data
        packed = (
            gzip.compress(data[: len(data) // 2]) + gzip.compress(data[len(data) // 2 :])
            if form.endswith(".gz")
            else data
        )
        path.write_bytes(pa.Codec("zstd").compress(data, asbytes=True) if form.endswith(".zst") else packed)
    return path


FORMS = ["jsonl", "jsonl.gz", "jsonl.zst", "json", "json.zst", "csv", "csv.gz", "parquet", "arrow"]


ALL = (*FORMS, "many.jsonl", "many.csv")
SEVEN = {form: (form, 7, 4 if form == "jsonl.gz" else 2) for form in ALL}
FOUR = {f"{form} by four": (form, 7, 4) for form in ALL if form != "jsonl.gz"}
TWO = {f"{form} in two": (form, 2, 2) for form in ("json", "csv", "many.jsonl")}


@pytest.mark.parametrize(
    ("form", "shards", "workers"), named(SEVEN | FOUR | TWO, *("jsonl.gz", "json", "csv", "parquet", "arrow"))
)
def test_shards_and_workers_change_nothing(
    tmp_path: Path, form: str, shards: int, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from refinery.io import splitting

    monkeypatch.setattr(splitting, "_LEAST", 1000)
    path = write(tmp_path, form)
    size = sum(map(splitting.weight, find([path])[0]))
    keys = {"shard_size": size // shards + (5000 if shards == 2 else 1), "np": workers}
    assert len(cut(find([path])[0], keys["shard_size"])) >= 2
    first = assert_same(tmp_path, path, STEPS, {"cut": keys})
    counts = first.counts
    assert min(counts.kept, counts.removed) > 20
    assert counts.quarantined > 0 or form in ("parquet", "arrow", "json", "json.zst")


@pytest.mark.parametrize("form", sampled(["jsonl", "csv"]))
def test_rows_of_small_files_are_found_again(tmp_path: Path, form: str) -> None:
    """Quarantine, `files` and `why` name the file and the line in it."""
    path = write(tmp_path, f"many.{form}")
    run = refinery.run(settings(tmp_path, STEPS, dataset_path=path))
    assert run.sql("SELECT count(*) FROM shards").fetchall() == [(1,)]
    files = run.sql("SELECT file, first_row, rows FROM files").fetchall()
    assert [name for name, _, _ in files] == sorted(map(str, path.iterdir()))
    assert sum(rows for _, _, rows in files) == run.counts.read
    broken = run.sql("SELECT _row, file, line, raw FROM quarantine WHERE step = 0 ORDER BY _row").fetchall()
    assert len(broken) >= len(files)
    for row, file, line, raw in broken:
        assert Path(file).read_bytes().split(b"\n")[line - 1].decode() == raw
        [(first, rows)] = [(first, rows) for name, first, rows in files if name == file]
        assert first <= row < first + rows
    with RowHistories(run.work_dir) as histories:
        for row in (0, 9, 50):
            [(name, first)] = [(name, first) for name, first, rows in files if first <= row < first + rows]
            path, _, line = histories.of(row).file.rpartition(":")
            assert path == name
            assert form == "csv" or int(line) == row - first + 1


def test_fields_of_fields_are_read_in_any_shards(tmp_path: Path) -> None:
    """DuckDB refuses a piece of a column of structs within structs; no sample may be lost to that."""
    rows = [{"text": f"number {k}", "meta": {"k": k, "of": {"part": k % 7}} if k % 5 else None} for k in range(1200)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet", row_group_size=500)
    steps = [{"sql_filter": {"where": "meta.of.part <> 3"}}, {"key_deduplicator": {"key": "meta.k // 10"}}]
    kept = [row for row in rows if row["meta"] and row["meta"]["of"]["part"] != 3]
    first = {row["meta"]["k"] // 10: row for row in reversed(kept)}
    for number, size in enumerate((10**8, 3000)):
        keys = {"dataset_path": str(tmp_path / "in.parquet"), "shard_size": size, "np": 2}
        run = refinery.run(settings(tmp_path / str(number), steps, **keys))
        found = [json.loads(line) for line in run.outputs[0].read_bytes().splitlines()]
        assert run.counts.quarantined == 0 and found == [first[key] for key in sorted(first)]
    diff = CliRunner().invoke(cli, ["diff", str(tmp_path / "0" / "run"), str(tmp_path / "1" / "run")])
    assert diff.exit_code == 0 and "0 of the 120 that both kept differ" in diff.output, diff.output
