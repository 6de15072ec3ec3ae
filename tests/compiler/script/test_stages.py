"""Scripts of recipes with deduplicators: what the golden ones do not show."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from tests.sampling import sampled

TABLES = ("duplicates", "clusters", "ledger", "stats")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("out").mkdir()


def same(process: list[Any], rows: list[dict[str, Any]], table: bool = False, **keys: Any) -> refinery.Run:
    """Run the recipe and its script; both must leave the same."""
    name = "docs.parquet" if table else "docs.jsonl"
    if table:
        pq.write_table(pa.Table.from_pylist(rows), name)
    else:
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    recipe = {"dataset_path": name, "export_path": "out/kept.jsonl", "work_dir": "work", "process": process, **keys}
    run = refinery.run(recipe)
    expected = {table: run.sql(f"FROM {table}").fetchall() for table in TABLES}
    kept = [json.loads(line) for line in Path("out/kept.jsonl").read_text("utf-8").splitlines()]
    with duckdb.connect() as con:
        refinery.register(con)
        con.execute(refinery.compile(recipe)).fetchall()
        assert {table: con.execute(f"FROM {table}").fetchall() for table in TABLES} == expected
    assert [json.loads(line) for line in Path("out/kept.jsonl").read_text("utf-8").splitlines()] == kept
    return run


def edited(seed: int, count: int = 60) -> list[dict[str, Any]]:
    """Texts and copies of them with some words changed, so that clusters are chains and not only stars."""
    random.seed(seed)
    words = [f"w{n}" for n in range(300)]
    texts = [random.choices(words, k=random.randint(3, 40)) for _ in range(12)]
    for _ in range(count - len(texts)):
        text = list(random.choice(texts))
        for _ in range(random.randint(0, 3)):
            text[random.randrange(len(text))] = random.choice(words)
        texts.append(text)
    return [{"n": n, "text": " ".join(text), "text_len": -n} for n, text in enumerate(texts)]


MINHASH = {"window_size": 1, "jaccard_threshold": 0.6}


KEPT = {"window_size": 1, "hamming_distance": 5, "keep": "split_part(text, ' ', 2)"}
VERIFIED = {**MINHASH, "verify": True, "keep": "length(text) desc"}
FEW_BLOCKS = {"window_size": 1, "num_blocks": 20, "hamming_distance": 16}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
@pytest.mark.parametrize(
    "step",
    [
        pytest.param({"document_minhash_deduplicator": MINHASH}, id="bands", marks=pytest.mark.long),
        pytest.param({"document_minhash_deduplicator": VERIFIED}, id="verified"),
        pytest.param({"document_simhash_deduplicator": FEW_BLOCKS}, id="hamming", marks=pytest.mark.long),
        pytest.param({"document_simhash_deduplicator": KEPT}, id="hamming-keep", marks=pytest.mark.long),
    ],
)
def test_clusters_are_those_of_the_run(step: dict[str, Any], seed: int) -> None:
    run = same([step], edited(seed))
    assert run.counts.removed


@pytest.mark.parametrize("level", sampled(["both", "document"]))
def test_a_filter_of_ngrams_is_that_of_the_run(level: str) -> None:
    lines = [row | {"text": row["text"].replace(" w1", "\nw1")} for row in edited(3)]
    run = same([{"bloom_deduplicator": {"level": level, "n_grams": 1, "duplicate_threshold": 0.4}}], lines)
    assert run.counts.removed and len(run.sql("SELECT DISTINCT _row FROM duplicates").fetchall()) > 5


def test_a_field_named_like_a_statistic() -> None:
    """A later stage asks for the statistic of an earlier one; the samples' own column of that name stays as it is."""
    process: list[Any] = [
        {"text_length_filter": {"min_len": 20}},
        {"document_deduplicator": {}},
        {"sql_filter": {"where": "text_len > 100"}},
    ]
    run = same(process, edited(1), table=True)
    assert 0 < run.counts.kept < 60
    assert all(row[2] > 100 for row in run.sql("FROM stats").fetchall() if row[1])


@pytest.mark.parametrize(
    "table", [pytest.param(False, id="lines"), pytest.param(True, id="table", marks=pytest.mark.long)]
)
def test_stages_of_all_kinds(table: bool) -> None:
    process: list[Any] = [
        {"document_simhash_deduplicator": {"window_size": 2}},
        {"sql_mapper": {"text": "replace(text, ' w1', chr(10) || 'w1')"}},
        {"document_line_deduplicator": {"frequency_threshold": 2}},
        {"paragraph_deduplicator": {"separator": "\n", "min_length": 1}},
        {"text_length_filter": {"min_len": 10}},
        {"key_deduplicator": {"key": "nullif(text_len % 20, 3)", "keep": "text_len desc, text"}},
        {"sql_mapper": {"text": "upper(text)"}},
    ]
    run = same(process, edited(2) + edited(5), table)
    assert {step for step, *_ in run.sql("SELECT DISTINCT step FROM duplicates").fetchall()} >= {1, 3, 6}


NOTHING = ["document_minhash_deduplicator", "document_simhash_deduplicator", "paragraph_deduplicator"]


@pytest.mark.parametrize("name", sampled(NOTHING))
def test_nothing_to_compare(name: str) -> None:
    run = same([{"text_length_filter": {"min_len": 10_000}}, {name: {}}, {"text_length_filter": {}}], edited(3))
    assert run.counts.kept == 0


def test_what_a_script_does_not_follow() -> None:
    Path("docs.jsonl").write_text('{"text": "one"}\n', encoding="utf-8")
    step = {"document_deduplicator": {"index": "known", "max_cluster_size": 5}}
    script = refinery.compile({"dataset_path": "docs.jsonl", "export_path": "out/kept.jsonl", "process": [step]})
    assert "-- Step 1: index known is not followed: earlier runs' samples are not looked at.\n" in script
    assert "-- Step 1: max_cluster_size is not checked.\n" in script


def test_hamming_pairs_of_lists() -> None:
    with duckdb.connect() as con:
        refinery.register(con)
        lists = "([0, 1, 255]::UBIGINT[]), (NULL), ([]::UBIGINT[]), ([7, 15]::UBIGINT[])"
        found = con.execute(f"SELECT hamming_pairs(v, 4, 1) FROM (VALUES {lists}) AS t(v)").fetchall()
    pairs = [None if row[0] is None else [sorted(pair.values()) for pair in row[0]] for row in found]
    assert pairs == [[[0, 1]], None, [], [[7, 15]]]
