"""Keys of a recipe that decide what is read, where things go, and with how much."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.api import Run
from refinery.errors import DataError
from refinery.io.mixture import choose
from refinery.planning import shard_cut
from refinery.workers.worker import Worker
from tests.runs import content, exported, refine, rows, settings, texts, write_lines
from tests.sampling import sampled

STEPS: list[Any] = [{"text_length_filter": {"min_len": 4}}, {"sql_mapper": {"text": "upper(text)"}}]


def mixed(folder: Path, configs: list[dict[str, Any]], most: int | None, **keys: Any) -> Run:
    recipe = settings(folder, [{"text_length_filter": {"min_len": 0}}], **keys)
    del recipe["dataset_path"]
    limit = {} if most is None else {"max_sample_num": most}
    return refinery.run(recipe | {"dataset": {"configs": [{"type": "local", **c} for c in configs], **limit}})


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, str]:
    found = {}
    for name, count in (("a", 100), ("b", 40), ("c", 5)):
        lines: list[Any] = [{"id": f"{name}{k}", "text": f"text {k}"} for k in range(count)]
        if name == "b":
            lines[7] = "broken"
        found[name] = str(write_lines(tmp_path / f"{name}.jsonl", lines))
    return found


# Mixtures


@pytest.mark.parametrize("keys", sampled([{"shard_size": 300, "np": 2}, {}]))
def test_weights_and_a_limit_choose_the_samples(tmp_path: Path, sources: dict[str, str], keys: dict[str, Any]) -> None:
    configs = [
        {"path": sources["a"], "weight": 3},
        {"path": sources["b"], "weight": 2},
        {"path": sources["c"], "weight": 0},
    ]
    run = mixed(tmp_path, configs, 50, **keys)
    expected = [f"a{k}" for k in choose(100, 30)] + [f"b{k}" for k in choose(40, 20)]
    assert [row["id"] for row in exported(run)] == [name for name in expected if name != "b7"]
    # Samples that were not drawn are not read: no table counts or numbers them.
    assert run.counts.read == 50 and rows(run, "runs", "rows_read") == [(50,)]
    numbers = [
        row for (row,) in run.sql("SELECT _row FROM stats UNION ALL SELECT _row FROM quarantine ORDER BY 1").fetchall()
    ]
    assert numbers == list(range(50))
    assert rows(run, "quarantine", "_row, line") == [(expected.index("b7"), 8)] * ("b7" in expected)


@pytest.mark.long  # weights_and_a_limit_choose_the_samples is cut, too
def test_a_mixture_is_the_same_however_it_is_cut(tmp_path: Path, sources: dict[str, str]) -> None:
    configs = [{"path": sources["b"], "weight": 1}, {"path": sources["a"], "weight": 1}]
    runs = [
        mixed(tmp_path / str(k), configs, 60, open_tracer=True, **keys)
        for k, keys in enumerate([{}, {"shard_size": 99}])
    ]
    assert content(runs[0], "shards") == content(runs[1], "shards")
    assert runs[0].outputs[0].read_bytes() == runs[1].outputs[0].read_bytes() and runs[0].counts.read == 60


def test_a_data_set_gives_no_more_than_it_has(tmp_path: Path, sources: dict[str, str]) -> None:
    run = mixed(tmp_path, [{"path": sources["c"]}, {"path": sources["a"]}], 40)
    assert [row["id"][0] for row in exported(run)] == ["c"] * 5 + ["a"] * 20
    assert "data set 1 has 5 samples where its weight asks for 20" in run.warnings


def test_weights_count_only_beside_a_limit(tmp_path: Path, sources: dict[str, str]) -> None:
    run = mixed(tmp_path, [{"path": sources["a"], "weight": 0.1}, {"path": sources["b"], "weight": 0.9}], None)
    assert run.counts.read == 140 and any("weights have no effect" in warning for warning in run.warnings)
    run = refinery.run(settings(tmp_path, STEPS) | {"dataset_path": f"0.1 {sources['a']} 0.9 {sources['b']}"})
    assert run.counts.read == 140


def test_a_mixture_of_nothing(tmp_path: Path, sources: dict[str, str]) -> None:
    with pytest.raises(DataError, match="every data set has weight 0"):
        mixed(tmp_path, [{"path": sources["a"], "weight": 0}], 5)
    (tmp_path / "empty.jsonl").write_bytes(b"")
    assert mixed(tmp_path, [{"path": str(tmp_path / "empty.jsonl")}], 5).counts.read == 0


def test_a_mixture_of_tables_and_texts(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": range(30), "text": [f"row {k}" for k in range(30)]}), tmp_path / "t.parquet")
    (tmp_path / "texts").mkdir()
    for k in range(12):
        (tmp_path / "texts" / f"{k:02}.txt").write_text(f"file {k}")
    run = mixed(tmp_path, [{"path": str(tmp_path / "t.parquet")}, {"path": str(tmp_path / "texts")}], 9)
    expected = [f"row {k}" for k in choose(30, 5)] + [f"file {k}" for k in choose(12, 4)]
    assert [row["text"] for row in exported(run)] == expected


# What is read


def test_a_format_goes_before_the_suffix(tmp_path: Path) -> None:
    (tmp_path / "data.log").write_text('{"text": "first line"}\n{"text": "second line"}\n')
    (tmp_path / "table.dat").write_text("text\tn\nfirst row\t1\n")
    (tmp_path / "notes").write_text("one text")
    run = mixed(
        tmp_path,
        [
            {"path": str(tmp_path / "data.log"), "format": "jsonl"},
            {"path": str(tmp_path / "table.dat"), "format": "tsv"},
            {"path": str(tmp_path / "notes"), "format": "txt"},
        ],
        None,
    )
    assert exported(run) == [
        {"text": "first line"},
        {"text": "second line"},
        {"text": "first row", "n": 1},
        {"text": "one text"},
    ]
    with pytest.raises(DataError, match="data.log.*cannot be read"):
        mixed(tmp_path, [{"path": str(tmp_path / "data.log")}], None)


def test_suffixes_choose_among_the_files_of_a_folder(tmp_path: Path) -> None:
    for name in ("a.md", "b.txt", "c.PY", "d.jsonl"):
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / name).write_text('{"text": "lines"}\n')
    run = refinery.run(settings(tmp_path, STEPS, dataset_path=tmp_path / "data", suffixes=[".md", "py"]))
    assert run.counts.read == 2 and any("skipped" in warning for warning in run.warnings)


@pytest.mark.parametrize("kind", sampled(["jsonl", "parquet"]))
def test_suffixes_can_be_exported(tmp_path: Path, kind: str) -> None:
    (tmp_path / "data").mkdir()
    for name in ("a.md", "b.txt", "c.txt", "d.md"):
        (tmp_path / "data" / name).write_text(f"this is {name}")
    steps = [{"sql_filter": {"where": "NOT contains(text, 'b.txt')"}}, {"suffix_filter": {"suffixes": [".md", ".txt"]}}]
    keys = {"dataset_path": tmp_path / "data", "add_suffix": True, "export_path": tmp_path / f"out.{kind}"}
    run = refinery.run(settings(tmp_path, steps, **keys))
    found = pq.read_table(run.outputs[0]).to_pylist() if kind == "parquet" else exported(run)
    assert found == [{"text": f"this is {name}", "__dj__suffix__": name[1:]} for name in ("a.md", "c.txt", "d.md")]
    write_lines(tmp_path / "in.jsonl.gz", [])
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(b'{"text": "compressed"}\n'))
    keys = {"dataset_path": tmp_path / "in.jsonl.gz", "add_suffix": True}
    run = refinery.run(settings(tmp_path, [STEPS[0]], **keys))
    assert exported(run) == [{"text": "compressed", "__dj__suffix__": ".jsonl.gz"}]


# Where it goes


@pytest.mark.parametrize(
    ("parallel", "kind"),
    [
        (False, "jsonl.gz"),
        (True, "parquet"),
        pytest.param(True, "jsonl.gz", marks=pytest.mark.long),
        pytest.param(False, "parquet", marks=pytest.mark.long),
    ],
)
def test_several_files_hold_what_one_would(tmp_path: Path, parallel: bool, kind: str) -> None:
    samples = texts(f"text number {k} " * (k % 9) for k in range(120))
    keys = {"export_path": tmp_path / f"out.{kind}", "export_in_parallel": parallel, "shard_size": 4_000, "np": 2}
    whole = tmp_path / "whole"
    refine(tmp_path, samples, STEPS, **keys).outputs[0].rename(whole)  # the next run would supersede it
    many = refine(tmp_path, samples, STEPS, export_shard_size=3_000, **keys)
    count = len(many.outputs)
    assert count > 2 and many.outputs[0].name == f"out-00-of-{count:02}.{kind}"
    if kind == "parquet":
        assert pa.concat_tables(map(pq.read_table, many.outputs)) == pq.read_table(whole)
    else:
        read = gzip.decompress if kind.endswith("gz") else bytes
        assert b"".join(read(path.read_bytes()) for path in many.outputs) == read(whole.read_bytes())
    manifest = json.loads((many.work_dir / ".refinery" / "manifest.json").read_text())
    assert sum(item["rows"] for item in manifest["outputs"]) == many.counts.kept
    assert rows(many, "runs", "outputs") == [([str(path) for path in many.outputs],)]


def test_results_and_tables_can_be_apart(tmp_path: Path) -> None:
    keys = {"export_path": tmp_path / "deep" / "er" / "x.jsonl", "work_dir": tmp_path / "work" / "one"}
    run = refine(tmp_path, texts(["long enough"]), STEPS, **keys)
    assert sorted(path.name for path in (tmp_path / "deep" / "er").iterdir()) == ["x.jsonl", "x_stats.jsonl"]
    assert run.database == tmp_path / "work" / "one" / "refinery.duckdb" and run.database.exists()


# With how much


def test_workers_share_the_memory_limit_and_the_folder_for_what_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()
    run = Worker.run

    def asking(self: Any, *args: Any) -> Any:
        con = self.connection.session.con
        seen.update(con.execute("SELECT current_setting('memory_limit'), current_setting('temp_directory')").fetchall())
        seen.update(con.execute("SELECT current_setting('threads')").fetchall())
        return run(self, *args)

    monkeypatch.setattr(Worker, "run", asking)
    monkeypatch.setattr(shard_cut, "cores", lambda: 2)
    keys = {"memory_limit": "1GB", "temp_dir": tmp_path / "spill", "np": 7, "shard_size": 40}
    assert len(exported(refine(tmp_path, texts(["long enough"] * 5), STEPS, **keys))) == 5
    assert seen == {("476.8 MiB", str(tmp_path / "spill" / "refinery-spill")), (1,)}  # half of 1 GB each


def test_keys_without_effect_say_so(tmp_path: Path) -> None:
    keys = {"keep_hashes_in_res_ds": True}
    run = refine(tmp_path, texts(["long enough"]), STEPS, **keys)
    for name in keys:
        assert [warning for warning in run.warnings if f"{name} has no effect: " in warning]
    quiet = refine(tmp_path, texts(["long enough", "no"]), STEPS, use_checkpoint=False, open_monitor=False)
    assert quiet.warnings == ()
