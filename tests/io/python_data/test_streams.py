"""Streams of samples as `dataset=`: iterables, batches, relations, lazy frames, datasets of other libraries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import refinery
from refinery.errors import DataError, RecipeError
from refinery.inspect.why.query import RowHistories
from refinery.io.python_data import spool
from refinery.storage.open import open_store
from tests.runs import content, exported, refine, rows, settings, texts
from tests.sampling import named

STEPS: list[Any] = [{"clean_email_mapper": None}, {"words_num_filter": {"min_num": 2}}, "document_deduplicator"]
SAMPLES = texts([f"write to me@example.org or page {number % 40}" if number % 3 else "one" for number in range(120)])
TABLE = pa.Table.from_pylist(SAMPLES)


class Datasets:
    """The members of `datasets.Dataset` with an index, and of an `IterableDataset` with features, that are used."""

    __module__ = "datasets.fake"
    features: Any = {"text": "string"}
    _indices: Any = ()

    def with_format(self, name: str) -> Datasets:
        assert name == "arrow"
        return self

    def iter(self, batch_size: int) -> Iterator[pa.Table]:
        yield from (TABLE.slice(start, 50) for start in range(0, len(TABLE), 50))

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("samples are asked for in batches")


class Unknown(Datasets):
    """An `IterableDataset` whose features nobody knows."""

    __module__ = Datasets.__module__
    features = None

    def __iter__(self) -> Iterator[Any]:
        return iter(SAMPLES)


STREAMS: dict[str, Any] = {
    "dicts": lambda: iter(SAMPLES),
    "list": lambda: SAMPLES,
    "batches": lambda: iter(TABLE.to_batches(7)),
    "tables": lambda: (TABLE.slice(start, 31) for start in range(0, len(TABLE), 31)),
    "frames": lambda: [TABLE.slice(0, 60).to_pandas(), pl.DataFrame(TABLE.slice(60))],
    "reader": lambda: TABLE.to_reader(11),
    "relation": lambda: duckdb.from_arrow(TABLE).filter("id >= 0"),
    "lazy frame": lambda: pl.LazyFrame(SAMPLES),
    "datasets": Datasets,
    "datasets without features": Unknown,
}


def run_of(folder: Path, dataset: Any, **keys: Any) -> refinery.Run:
    recipe = settings(folder, **{"steps": STEPS, **keys})
    del recipe["dataset_path"]
    return refinery.run(recipe, dataset=dataset)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> refinery.Run:
    return refine(tmp_path_factory.mktemp("file"), SAMPLES, STEPS)


# Others hand over the same Arrow batches or dicts.
KINDS = named(
    {name: name for name in STREAMS},
    "dicts",
    "frames",
    "relation",
    "lazy frame",
    "datasets",
    "datasets without features",
)


@pytest.mark.parametrize("name", KINDS)
def test_a_stream_is_the_run_over_a_file(
    expected: refinery.Run, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "PART", 1500)
    run = run_of(tmp_path, STREAMS[name](), np=2)
    without = ("shards", "files", "quarantine", "runs", "trace")
    assert content(run, *without) == content(expected, *without)
    assert exported(run) == exported(expected)


@pytest.mark.parametrize("kind", ["dicts", "batches"])
def test_files_end_at_a_size_and_rows_are_numbered_through(tmp_path: Path, kind: str) -> None:
    parts = spool.Spool(open_store(str(tmp_path)), {}, 1500).write(STREAMS[kind]())
    assert len(parts) > 2 and sum(part.rows for part in parts) == len(SAMPLES)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [part.name for part in parts]
    run = refinery.run(settings(tmp_path, ["clean_ip_mapper"], dataset_path=tmp_path, work_dir=tmp_path / "w"))
    assert [sample["id"] for sample in exported(run)] == list(range(120))


def test_what_is_no_sample_goes_to_quarantine_with_its_place(tmp_path: Path) -> None:
    bad: list[Any] = [
        [1],
        None,
        {1: "a"},
        {"text": "a", "meta": [{2: "b"}]},
        {"text": {1, 2}},
        {"text": "\ud800"},
        ValueError("damaged page"),
    ]
    good = [{"text": "first"}, {"text": "b", "n": np.int64(3), "day": date(2026, 1, 2), "raw": b"bytes"}]
    run = run_of(tmp_path, iter([good[0], *bad, good[1]]), steps=["clean_ip_mapper"])
    assert (run.counts.read, run.counts.kept, run.counts.quarantined) == (9, 2, 7)
    assert exported(run)[1] == {"text": "b", "n": 3, "day": "2026-01-02", "raw": "bytes"}
    found = rows(run, "quarantine", "line, error, raw", "line")
    assert [line for line, *_ in found] == list(range(2, 9))
    assert [error for _, error, _ in found] == [
        "a sample is a dict, not list",
        "a sample is a dict, not NoneType",
        "the sample cannot be written as JSON: the name 1 of a field is no text",
        "the sample cannot be written as JSON: the name 2 of a field is no text",
        "the sample cannot be written as JSON: a value is of type set",
        "the sample cannot be written as JSON: 'utf-8' codec can't encode character '\\ud800' in position 10: surrogates not allowed",
        "damaged page",
    ]
    assert [raw for *_, raw in found][:3] == ["[1]", "None", "{1: 'a'}"]


def test_the_same_samples_are_not_computed_again_and_others_are(tmp_path: Path) -> None:
    run_of(tmp_path, iter(SAMPLES))
    part = tmp_path / "run" / ".refinery" / "input" / "part-000000.samples"
    written = part.stat().st_mtime_ns
    again = run_of(tmp_path, iter(SAMPLES))
    assert rows(again, "shards", "reused") == [(2,)] and part.stat().st_mtime_ns == written
    changed = [*SAMPLES[:-1], {"id": 119, "text": "quite another text"}]
    run = run_of(tmp_path, iter(changed))
    assert rows(run, "shards", "reused") == [(0,)]
    assert exported(run) == exported(refine(tmp_path / "file", changed, STEPS))
    assert sorted(path.name for path in part.parent.iterdir()) == [part.name]
    batches = run_of(tmp_path, iter(TABLE.to_batches()))
    assert exported(batches) == exported(again)
    assert [path.name for path in part.parent.iterdir()] == ["part-000000.arrow"]


def test_an_attempt_that_failed_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of the shards that had ended are used, if the iterable gives the same samples once more."""
    keys: dict[str, Any] = {"shard_size": 1500, "steps": [*STEPS[:2]]}
    with pytest.raises(KeyboardInterrupt):
        recipe = settings(tmp_path, **keys)
        refinery.run(recipe, dataset=iter(SAMPLES), progress=_stop_after(2))
    run = run_of(tmp_path, iter(SAMPLES), **keys)
    reused = [count for (count,) in rows(run, "shards", "reused")]
    assert 0 < sum(reused) < len(reused)
    assert exported(run) == exported(refine(tmp_path / "file", SAMPLES, STEPS[:2]))


def _stop_after(count: int) -> Any:
    seen: list[int] = []

    def progress(done: int, total: int) -> None:
        seen.append(done)
        if len(seen) >= count:
            raise KeyboardInterrupt

    return progress


def test_the_rows_of_a_finished_run_can_be_asked_for(tmp_path: Path) -> None:
    run_of(tmp_path, iter(SAMPLES))
    with RowHistories(tmp_path / "run") as histories:
        assert histories.of(0).row == 0


def test_without_use_cache_no_copy_of_the_samples_stays(tmp_path: Path) -> None:
    run_of(tmp_path, iter(SAMPLES), use_cache=False)
    assert not list((tmp_path / "run" / ".refinery").rglob("part-*"))


def test_a_stream_of_no_samples(tmp_path: Path) -> None:
    assert run_of(tmp_path, iter([])).counts.read == 0
    assert run_of(tmp_path / "b", TABLE.slice(0, 0).to_reader()).counts.read == 0
    assert run_of(tmp_path / "c", pa.RecordBatchReader.from_batches(TABLE.schema, [])).counts.read == 0

    class Nothing(Datasets):
        __module__ = Datasets.__module__

        def iter(self, batch_size: int) -> Iterator[pa.Table]:
            return iter(())

    with pytest.raises(DataError, match="the stream has no batch"):
        run_of(tmp_path / "d", Nothing())


def _breaks() -> Iterator[Any]:
    yield SAMPLES[0]
    raise OSError("connection lost")


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (_breaks, "dataset: it ended with an error after 1 items, so nothing was run: OSError: connection lost"),
        (lambda: iter([TABLE, {"text": "a"}]), "after Arrow batches the iterable gave dict, which is none"),
        (lambda: iter([pa.table({"text": ["a"]}), pa.table({"text": [[1]]})]), "text"),
    ],
)
def test_a_stream_that_ends_with_an_error_runs_nothing(tmp_path: Path, dataset: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        run_of(tmp_path, dataset())
    assert not (tmp_path / "run" / "refinery.duckdb").exists()


def test_a_recipe_is_checked_before_the_stream_is_read(tmp_path: Path) -> None:
    def never() -> Iterator[Any]:
        raise AssertionError("read")
        yield

    with pytest.raises(RecipeError, match="the SQL cannot be read"):
        run_of(tmp_path, never(), steps=[{"sql_filter": {"where": "id >"}}])


def test_a_stream_has_no_script(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a list_iterator is read once, as a stream, which only refinery.run does"):
        refinery.compile(settings(tmp_path, STEPS), dataset=iter(SAMPLES))


@pytest.mark.parametrize("name", ["jsonl", "jsonl.zst", "json", "parquet"])
def test_kept_samples_as_tables(tmp_path: Path, name: str) -> None:
    given = [
        {
            "id": n,
            "text": f"day {n} of it",
            "day": "2026-01-02",
            "m": {"a": [n, -n]},
            "mixed": n if n % 2 else "x",
            "b": {},
        }
        for n in range(50)
    ]
    if name == "parquet":
        given = [sample | {"mixed": 1.5} for sample in given]
    run = run_of(tmp_path, iter(given), steps=["clean_ip_mapper"], export_path=tmp_path / f"kept.{name}")
    table = run.to_arrow()
    assert table["id"].to_pylist() == list(range(50)) and str(table.schema.field("id").type) == "int64"
    assert table["day"].to_pylist() == ["2026-01-02"] * 50 and table["m"][3].as_py() == {"a": [3, -3]}
    assert table["mixed"].to_pylist()[:2] == ([1.5, 1.5] if name == "parquet" else ['"x"', "1"])
    assert run.to_batches().read_all() == table
    assert run.to_pandas()["text"].tolist() == table["text"].to_pylist()
    assert run.to_duckdb().filter("id = 3").project("m.a[2]").fetchall() == [(-3,)]
    Path(str(run.outputs[0])).unlink()
    (tmp_path / f"kept.{name}").symlink_to(run_of(tmp_path / "o", iter(given[:9]), steps=["clean_ip_mapper"], export_path=tmp_path / "o" / f"o.{name}").outputs[0])  # fmt: skip
    with pytest.raises(DataError, match="has changed since this run wrote it"):
        run.to_arrow()


def test_kept_samples_that_are_nowhere_or_have_no_columns(tmp_path: Path) -> None:
    none = run_of(tmp_path, iter(SAMPLES), export_type="none")
    with pytest.raises(DataError, match="has left no files of kept samples"):
        none.to_arrow()
    empty = run_of(tmp_path / "e", iter(SAMPLES), steps=[{"text_length_filter": {"min_len": 10_000}}])
    assert len(empty.to_arrow()) == 0
    big = run_of(tmp_path / "b", iter([{"text": "a", "n": 2**63}]), steps=["clean_ip_mapper"])
    assert json.loads(Path(str(big.outputs[0])).read_text())["n"] == 2**63
    assert big.to_arrow()["n"].to_pylist() == [2**63]
    cases = run_of(tmp_path / "c", iter([{"text": "a", "Text": "b"}]), steps=["clean_ip_mapper"])
    assert cases.to_arrow().to_pylist() == [{"text": "a", "Text": "b"}]
    with pytest.raises(DataError, match="differ in letter case only"):
        cases.to_duckdb()


@pytest.mark.parametrize("samples", [[None, {"text": "a"}], [{"text": "a"}, None]])
def test_a_none_among_samples_is_in_quarantine_and_hides_no_other(tmp_path: Path, samples: list[Any]) -> None:
    recipe = {"export_path": str(tmp_path / "k.jsonl"), "process": ["clean_ip_mapper"], "max_quarantined": 1}
    run = refinery.run(recipe, dataset=samples)
    assert (run.counts.read, run.counts.kept, run.counts.quarantined) == (2, 1, 1)
