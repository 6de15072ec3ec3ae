"""Recipes with deduplicators between their other steps: the same rows, texts and tables however they are run."""

from __future__ import annotations

import errno
import gzip
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.api import Run
from refinery.dedup.clustering import ClusterTasks
from refinery.errors import OutputError
from refinery.io.mixture import choose
from tests.runs import content, exported, lines_of, refine, rows, settings, texts, write_lines

BROKEN = 17  # the row on which the last step fails
UNREADABLE = 5

STEPS: list[Any] = [
    {"whitespace_normalization_mapper": None},
    {"text_length_filter": {"min_len": 3}},
    {"document_deduplicator": {"lowercase": True, "keep": "n desc, text_len"}},
    {"sql_mapper": {"text": "replace(text, 'cup', 'mug')"}},
    {"sql_filter": {"where": "text_len < 40 AND _row % 11 <> 3"}},
    {"document_line_deduplicator": {"frequency_threshold": 3}},
    {"text_length_filter": {"min_len": 1}},
    {"key_deduplicator": {"key": "url", "keep": "text_len desc, text_len_2, _row desc"}},
    {"document_deduplicator": {"lowercase": True, "ignore_non_character": True}},
    {"sql_mapper": {"text": f"CASE WHEN id = {BROKEN} THEN CAST(id // (id - {BROKEN}) AS VARCHAR) || text ELSE upper(text) END"}},
    {"sql_filter": {"where": "text_len_7 + text_len_2 > 14"}},
]  # fmt: skip


def documents() -> list[Any]:
    """Samples of which several share their text, lines or address; one line is no JSON, one sample has no address."""
    dice = random.Random(4)
    found: list[Any] = []
    for number in range(90):
        lines = [" ".join(dice.choices(["red", "Red", "cup", "on", "7", "sea"], k=dice.choice([1, 1, 2, 3])))
                 for _ in range(dice.choice([1, 1, 2, 3]))]  # fmt: skip
        sample = {
            "id": number,
            "text": "\n".join(lines),
            "url": f"u{dice.randrange(60)}",
            "n": dice.choice([None, 1, 2]),
        }
        found.append(sample)
    found[40]["url"] = None
    found[BROKEN] = {"id": BROKEN, "text": "a text of its own", "url": "its own", "n": 1}
    found[UNREADABLE] = '{"text": "cut off'
    return found


def first_of(groups: Callable[[dict[str, Any]], Any], samples: list[dict[str, Any]], best: Any) -> dict[int, int]:
    """Removed row -> the one that is kept instead."""
    kept: dict[Any, int] = {}
    gone = {}
    for sample in sorted(samples, key=lambda sample: (best(sample), sample["row"])):
        key = groups(sample)
        if key is not None and (other := kept.setdefault(key, sample["row"])) != sample["row"]:
            gone[sample["row"]] = other
    return gone


def expected(given: list[Any]) -> tuple[list[dict[str, Any]], dict[int, tuple[int, int | None]]]:
    """Expected result: the kept samples, and for the others the step that removes them and the sample kept instead."""
    samples = [dict(sample, row=row) for row, sample in enumerate(given) if isinstance(sample, dict)]
    fate: dict[int, tuple[int, int | None]] = {}

    def remove(step: int, gone: dict[int, int] | set[int]) -> None:
        fate.update({row: (step, gone[row] if isinstance(gone, dict) else None) for row in gone})
        samples[:] = [sample for sample in samples if sample["row"] not in fate]

    for sample in samples:
        sample["len"] = len(sample["text"])
    remove(2, {sample["row"] for sample in samples if sample["len"] < 3})

    # DuckDB puts NULL last, also in descending order.
    def best(sample: dict[str, Any]) -> Any:
        return (sample["n"] is None, -(sample["n"] or 0), sample["len"])

    remove(3, first_of(lambda sample: sample["text"].lower().strip(), samples, best))
    for sample in samples:
        sample["text"] = sample["text"].replace("cup", "mug")
    remove(5, {sample["row"] for sample in samples if not (sample["len"] < 40 and sample["row"] % 11 != 3)})
    counts = Counter(line for sample in samples for line in {line.strip() for line in sample["text"].split("\n")})
    for sample in samples:
        lines = sample["text"].split("\n")
        sample["text"] = "\n".join(line for line in lines if counts[line.strip()] <= 3 or len(line.strip()) < 2)
        sample["len_7"] = len(sample["text"])
    remove(7, {sample["row"] for sample in samples if sample["len_7"] < 1})

    def best(sample: dict[str, Any]) -> Any:
        return (-sample["len_7"], sample["len"], -sample["row"])

    remove(8, first_of(lambda sample: sample["url"], samples, best))

    def letters(sample: dict[str, Any]) -> Any:
        return "".join(c for c in sample["text"].lower() if c.isalpha())

    remove(9, first_of(letters, samples, lambda sample: 0))
    remove(10, {BROKEN})
    remove(11, {sample["row"] for sample in samples if sample["len_7"] + sample["len"] <= 14})
    for sample in samples:
        sample["text"] = sample["text"].upper()
    return samples, fate


DOCUMENTS = documents()
TRACED = {"open_tracer": True, "trace_num": 4, "trace_keys": ["id"], "keep_stats_in_res_ds": True}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lines(tmp_path_factory.mktemp("source") / "in.jsonl", DOCUMENTS)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, source: Path) -> Run:
    return refinery.run(settings(tmp_path_factory.mktemp("plain"), STEPS, dataset_path=source, **TRACED))


# What a recipe means


def test_a_long_recipe_gives_what_it_means(plain: Run) -> None:
    samples, fate = expected(DOCUMENTS)
    found = exported(plain)
    assert [(row["id"], row["text"]) for row in found] == [(sample["id"], sample["text"]) for sample in samples]
    assert (
        len(found) > 8 and min(Counter(step for step, _ in fate.values())[step] for step in (2, 3, 5, 7, 8, 9, 11)) > 0
    )
    fate.pop(BROKEN)
    assert {row: (step, kept) for row, step, kept in rows(plain, "ledger", "_row, step, kept_instead")} == fate


def test_statistics_of_all_stages_are_exported(plain: Run) -> None:
    samples, _ = expected(DOCUMENTS)
    stats = [{"text_len": sample["len"], "text_len_7": sample["len_7"]} for sample in samples]
    assert [row["__dj__stats__"] for row in exported(plain)] == stats
    beside = lines_of(plain.outputs[0].with_name("out_stats.jsonl"))
    assert [row["__dj__stats__"] for row in beside] == stats
    assert (
        plain.sql("SELECT count(text_len), count(text_len_7), count(*) FROM stats").fetchall()[0][2]
        == len(DOCUMENTS) - 2
    )


def test_a_row_that_fails_after_a_deduplicator_is_quarantined_with_its_own_line(plain: Run) -> None:
    found = rows(plain, "quarantine", "_row, line, step, operator, raw IS NOT NULL")
    assert found == [(UNREADABLE, UNREADABLE + 1, 0, "", True), (BROKEN, BROKEN + 1, 10, "sql_mapper", True)]
    assert plain.counts.read == len(DOCUMENTS) == plain.counts.kept + plain.counts.removed + 2


def test_every_step_is_a_row_of_the_waterfall(plain: Run) -> None:
    _, fate = expected(DOCUMENTS)
    left = len(DOCUMENTS) - 1
    for step, kind, rows_in, rows_out, removed, quarantined in rows(
        plain, "steps", "step, kind, rows_in, rows_out, removed, quarantined"
    ):
        name = next(iter(STEPS[step - 1]))
        assert kind == name.rpartition("_")[2] and quarantined == (step == 10)
        assert (rows_in, removed) == (left, sum(1 for row, (at, _) in fate.items() if at == step and row != BROKEN))
        left = rows_out
    assert left == plain.counts.kept
    [changed] = rows(plain, "steps", "changed > 0, bytes_in > bytes_out", "step = 6")
    assert changed == (True, True)


def test_clusters_and_duplicates_say_the_same(plain: Run) -> None:
    steps = {step for (step,) in rows(plain, "clusters", "DISTINCT step")}
    assert steps == {3, 8, 9}
    for step in steps:
        members = rows(plain, "clusters", "cluster, _row, survivor, size", f"step = {step}")
        by_cluster: dict[int, list[tuple[int, bool]]] = {}
        for cluster, row, survivor, size in members:
            by_cluster.setdefault(cluster, []).append((row, survivor))
            assert size == sum(1 for other in members if other[0] == cluster)
        kept = {}
        for cluster in by_cluster.values():
            [stays] = [row for row, survivor in cluster if survivor]
            kept |= {row: stays for row, survivor in cluster if not survivor}
        assert dict(rows(plain, "duplicates", "_row, kept", f"step = {step}")) == kept
        assert dict(rows(plain, "ledger", "_row, kept_instead", f"step = {step}")) == kept
    lines = rows(plain, "duplicates", "DISTINCT kept IS NULL, unit IS NULL, matched LIKE 'in % samples'", "step = 6")
    assert lines == [(True, False, True)]


# The same however it is run

VARIANTS: dict[str, dict[str, Any]] = {
    "one shard, two workers": {"shard": 1, "np": 2},
    "two shards": {"shard": 2},
    "two shards, two workers": {"shard": 2, "np": 2},
    "seven shards": {"shard": 7, "memory_limit": "1GB"},
    "seven shards, two workers": {"shard": 7, "np": 2, "op_fusion": False},
}


# Of the others each has some of its keys.
MOST = "seven shards, two workers"
variants = [
    pytest.param(keys, id=name, marks=() if name == MOST else pytest.mark.long) for name, keys in VARIANTS.items()
]


@pytest.mark.parametrize("keys", variants)
def test_cuts_and_workers_change_nothing(tmp_path: Path, source: Path, plain: Run, keys: dict[str, Any]) -> None:
    count = keys["shard"]
    others = {name: value for name, value in keys.items() if name != "shard"} | TRACED
    size = -(-source.stat().st_size // count)
    found = refinery.run(settings(tmp_path, STEPS, dataset_path=source, shard_size=size, **others))
    assert found.sql("SELECT count(*) FROM shards").fetchall() == [(count,)]
    assert content(found, "shards") == content(plain, "shards")
    assert found.outputs[0].read_bytes() == plain.outputs[0].read_bytes()

    def traces(run: Any) -> Any:
        return {path.name: path.read_bytes() for path in (run.work_dir / "trace").iterdir()}

    assert traces(found) == traces(plain)


@pytest.mark.parametrize("size", [300, pytest.param(None, marks=pytest.mark.long)])
def test_compressed_in_and_out_in_several_files(tmp_path: Path, source: Path, plain: Run, size: int | None) -> None:
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(source.read_bytes()))
    keys = {"dataset_path": tmp_path / "in.jsonl.gz", "export_path": tmp_path / "out.jsonl.zst", **TRACED}

    def unpacked(run: Run) -> bytes:
        return b"".join(pa.input_stream(str(path), compression="zstd").read() for path in run.outputs)

    run = refinery.run(settings(tmp_path, STEPS, **keys, **({"export_shard_size": size} if size else {})))
    assert unpacked(run) == plain.outputs[0].read_bytes()
    assert content(run, "shards", "quarantine") == content(plain, "shards", "quarantine")
    assert len(run.outputs) > 2 if size else len(run.outputs) == 1


# Tables, nested texts, many files

SHORT: list[Any] = [
    {"document_deduplicator": {"keep": "n desc"}},
    {"sql_mapper": {"text": "upper(text)"}},
    {"key_deduplicator": {"key": "n"}},
]


def short(samples: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """(text, n) of what SHORT leaves."""
    numbered = [dict(sample, row=row) for row, sample in enumerate(samples)]
    gone = first_of(lambda sample: sample["text"], numbered, lambda sample: (sample["n"] is None, -(sample["n"] or 0)))
    left = [sample for sample in numbered if sample["row"] not in gone]
    gone = first_of(lambda sample: sample["n"], left, lambda sample: 0)
    return [(sample["text"].upper(), sample["n"]) for sample in left if sample["row"] not in gone]


def few() -> list[dict[str, Any]]:
    dice = random.Random(8)
    return [{"text": f"text {dice.randrange(30)}", "n": dice.choice([None, *range(25)])} for _ in range(80)]


FEW = few()


def test_tables_give_what_lines_give(tmp_path: Path) -> None:
    table = pa.Table.from_pylist(FEW)
    pq.write_table(table.slice(0, 50), tmp_path / "a.parquet", row_group_size=15)
    pq.write_table(table.slice(50).select(["n", "text"]), tmp_path / "b.parquet")
    keys: dict[str, Any] = {"dataset_path": tmp_path / "*.parquet", "export_path": tmp_path / "run" / "out.parquet"}
    run = refinery.run(settings(tmp_path, SHORT, **keys, shard_size=100, np=2))
    out = pq.read_table(run.outputs[0])
    assert out.schema.names == ["text", "n"] and out.schema.field("n").type == pa.int64()
    assert run.sql("SELECT count(*) > 4 FROM shards").fetchall() == [(True,)]
    assert [(row["text"], row["n"]) for row in out.to_pylist()] == short(FEW)

    run = refinery.run(settings(tmp_path, SHORT, dataset_path="nowhere"), dataset=table)
    assert [(row["text"], row["n"]) for row in exported(run)] == short(FEW)


def test_csv_gives_what_lines_give(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(pa.Table.from_pylist(FEW), tmp_path / "in.csv")
    run = refinery.run(settings(tmp_path, SHORT, dataset_path=tmp_path / "in.csv"))
    assert [(row["text"], row["n"]) for row in exported(run)] == short(FEW)


def test_nested_texts_and_a_text_key_of_the_step(tmp_path: Path) -> None:
    samples = [{"doc": {"body": s["text"], "k": 1}, "title": f"t{row % 7}", "n": s["n"]} for row, s in enumerate(FEW)]
    steps: list[Any] = [
        {"sql_mapper": {"text": "text || '!'"}},
        {"document_deduplicator": None},
        {"sql_mapper": {"text": "upper(text)"}},
        {"document_minhash_deduplicator": {"text_key": "title", "tokenization": "character", "window_size": 2}},
    ]
    gone = first_of(lambda sample: sample["text"], [dict(s, row=row) for row, s in enumerate(FEW)], lambda sample: 0)
    once = [
        dict(s, doc={"body": f"{s['doc']['body']}!".upper(), "k": 1})
        for row, s in enumerate(samples)
        if row not in gone
    ]
    wanted = [s for row, s in enumerate(once) if s["title"] not in {other["title"] for other in once[:row]}]
    run = refine(tmp_path, samples, steps, text_keys="doc.body", shard_size=1000, np=2, open_tracer=True)
    assert exported(run) == wanted and len(wanted) == 7
    traced = lines_of(run.work_dir / "trace" / "duplicate-document_minhash_deduplicator.jsonl")
    assert traced and all(pair["dup1"] == pair["dup2"] for pair in traced) and traced[0]["dup1"][0] == "t"
    pq.write_table(pa.Table.from_pylist(samples), tmp_path / "in.parquet")
    keys = {"dataset_path": tmp_path / "in.parquet", "text_keys": "doc.body", "shard_size": 500}
    if_typed = refinery.run(settings(tmp_path, steps, **keys))
    assert exported(if_typed) == wanted


def test_many_text_files(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for row, sample in enumerate(FEW):
        (folder / f"{row:03}.txt").write_text(sample["text"])
    steps = [{"document_deduplicator": None}, {"sql_filter": {"where": "_row % 2 = 0"}}]
    keys = {"dataset_path": folder, "shard_size": 100, "np": 2, "add_suffix": True}
    run = refinery.run(settings(tmp_path, steps, **keys))
    gone = first_of(lambda sample: sample["text"], [dict(s, row=row) for row, s in enumerate(FEW)], lambda sample: 0)
    left = [FEW[row]["text"] for row in range(0, len(FEW), 2) if row not in gone]
    assert exported(run) == [{"text": text, "__dj__suffix__": ".txt"} for text in left]
    assert run.sql("SELECT count(*) > 3 FROM shards").fetchall() == [(True,)]


def test_a_sample_of_the_input(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "in.jsonl", FEW)
    recipe = settings(tmp_path, SHORT, shard_size=600)
    del recipe["dataset_path"]
    recipe["dataset"] = {"configs": [{"type": "local", "path": str(source)}], "max_sample_num": 31}
    run = refinery.run(recipe)
    drawn = [FEW[row] for row in choose(len(FEW), 31)]
    assert [(row["text"], row["n"]) for row in exported(run)] == short(drawn) and run.counts.read == 31
    # Where nothing changes a text, the second stage reads the input again, and must draw the same.
    run = refinery.run(recipe | {"process": [SHORT[0], {"sql_filter": {"where": "_row >= 0"}}]})
    found = [row["text"] for row in exported(run)]
    assert len(found) == len(set(found)) == len({sample["text"] for sample in drawn})


# Little or nothing

ALL: list[Any] = [
    {"document_deduplicator": {"keep": "length(text)"}},
    {"document_minhash_deduplicator": {"verify": True}},
    {"document_simhash_deduplicator": {"short": "keep"}},
    {"document_line_deduplicator": None},
    {"paragraph_deduplicator": None},
    {"sentence_deduplicator": None},
    {"key_deduplicator": {"key": "length(text)"}},
]


@pytest.mark.parametrize(
    ("samples", "kept"),
    [
        pytest.param([], 0, id="none"),
        pytest.param(["not json", '{"text": 1}'], 0, id="none that can be read", marks=pytest.mark.long),
        pytest.param(texts(["one only"]), 1, id="one", marks=pytest.mark.long),
        pytest.param(texts([""]), 1, id="an empty one", marks=pytest.mark.long),
    ],
)
def test_little_or_nothing(tmp_path: Path, samples: list[Any], kept: int) -> None:
    run = refine(tmp_path, samples, ALL, open_tracer=True, max_quarantined="100%")
    assert run.counts.kept == kept == len(exported(run)) and run.counts.quarantined == len(samples) - kept
    assert rows(run, "duplicates") == rows(run, "clusters") == rows(run, "ledger") == []
    assert [kind for (kind,) in rows(run, "steps", "kind")] == ["deduplicator"] * len(ALL)


def test_statistics_are_exported_when_a_deduplicator_is_the_last_step(tmp_path: Path) -> None:
    steps = [{"text_length_filter": {"min_len": 2}}, {"document_deduplicator": None}]
    run = refine(tmp_path, texts(["one", "one", "x", "three"]), steps, keep_stats_in_res_ds=True)
    assert [(row["id"], row["__dj__stats__"]) for row in exported(run)] == [(0, {"text_len": 3}), (3, {"text_len": 5})]


# The order of the input

SETS: list[dict[str, Any]] = [
    {
        "document_minhash_deduplicator": {
            "window_size": 2,
            "num_permutations": 64,
            "num_bands": 16,
            "num_rows_per_band": 4,
        }
    },
    {"document_simhash_deduplicator": {"window_size": 1, "num_blocks": 12, "hamming_distance": 9}},
]


@pytest.mark.parametrize(
    "step", [pytest.param(SETS[0], id="minhash"), pytest.param(SETS[1], id="simhash", marks=pytest.mark.long)]
)
def test_the_order_of_rows_changes_no_cluster(tmp_path: Path, step: dict[str, Any]) -> None:
    dice = random.Random(1)
    given: list[str] = []
    for _ in range(60):
        words = given[dice.randrange(len(given))].split() if given and dice.random() < 0.6 else []
        words = words or [f"w{dice.randrange(500)}" for _ in range(40)]
        words[dice.randrange(len(words))] = f"w{dice.randrange(500)}"
        given.append(" ".join(words))
    found = []
    first = refine(tmp_path / "first", texts(given), [step], shard_size=1500, np=2)
    for number in range(2):
        shuffled = random.Random(number).sample(given, len(given)) if number else given
        run = refine(tmp_path / str(number), texts(shuffled), [step], shard_size=4000 * (number + 1))
        assert number or content(run, "shards") == content(first, "shards")
        clusters: dict[int, set[str]] = {}
        for cluster, row in rows(run, "clusters", "cluster, _row"):
            clusters.setdefault(cluster, set()).add(shuffled[row])
        found.append({frozenset(cluster) for cluster in clusters.values()})
        position = {text: row for row, text in enumerate(shuffled)}
        kept = {row["text"] for row in exported(run)}
        assert all(min(cluster, key=lambda text: position[text]) in kept for cluster in found[-1])
    assert found[0] == found[1] and len(found[0]) > 4 and max(map(len, found[0])) > 2


# Files of findings, written beside the next stage

ALIKE = ["the cat sat on the mat and looked at the sea", "a text of its own, which nothing else is like"]
BESIDE: list[Any] = [
    {"document_minhash_deduplicator": {"jaccard_threshold": 0.5}},
    {"text_length_filter": {"min_len": 3}},
    {"document_minhash_deduplicator": {"jaccard_threshold": 0.3}},
    {"text_length_filter": {"min_len": 4}},
]


def alike(folder: Path, **keys: Any) -> Run:
    samples = texts([*ALIKE, f"{ALIKE[0]} again", "short", ALIKE[1]])
    return refine(folder, samples, BESIDE, **{"use_cache": True, **keys})


def test_slow_writing_of_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = content(alike(tmp_path / "plain"), "shards")
    write, threads = ClusterTasks._write_tables, list[threading.Thread]()

    def slowly(*given: Any) -> None:
        threads.append(threading.current_thread())
        time.sleep(0.3)
        write(*given)

    monkeypatch.setattr(ClusterTasks, "_write_tables", slowly)
    found = alike(tmp_path / "slow")
    assert content(found, "shards") == wanted and len(rows(found, "duplicates")) == 2
    assert threads and threading.main_thread() not in threads


def test_findings_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = content(alike(tmp_path / "plain"), "shards")

    def full(*given: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "duplicates")

    with monkeypatch.context() as patched:
        patched.setattr(ClusterTasks, "_write_tables", full)
        with pytest.raises(OutputError, match="No space left on device"):
            alike(tmp_path / "run")
    assert not (tmp_path / "run" / "run" / "out.jsonl").exists()
    assert content(alike(tmp_path / "run"), "shards") == wanted


def test_findings_are_waited_for_when_the_next_stage_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, ended = ClusterTasks._write_tables, list[bool]()

    def slowly(*given: Any) -> None:
        time.sleep(0.3)
        write(*given)
        ended.append(True)

    def fail(*_: Any) -> None:
        raise ValueError("the next stage")

    monkeypatch.setattr(ClusterTasks, "_write_tables", slowly)
    monkeypatch.setattr("refinery.execution.stage_runner.left_of", fail)
    with pytest.raises(ValueError, match="the next stage"):
        alike(tmp_path)
    assert ended
