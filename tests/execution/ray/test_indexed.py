"""An index on a cluster: tasks compare with it and make its next file, and leave what one machine leaves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from refinery.api import Run
from refinery.dedup.index import place_of
from refinery.dedup.tasks import indexed
from refinery.storage.open import open_store
from refinery.workers.executor import TaskPlace
from tests.dedup.test_options import FAMILIES, MINHASH
from tests.execution.ray.in_process import tasks_in_process
from tests.execution.ray.runs import assert_same, exported, in_partitions, local, on_ray, samples
from tests.runs import content, rows, settings, texts, write_lines
from tests.s3 import make_bucket

FEW = {**MINHASH, "num_permutations": 6, "num_bands": 6}
STEPS: dict[str, dict[str, Any]] = {
    "equal": {"document_deduplicator": {}},
    "ordered": {"key_deduplicator": {"key": "text[1:9]", "keep": "length(text) desc"}},
    "bands": {"document_minhash_deduplicator": {**FEW, "keep": "length(text) desc"}},
    "verified": {"document_minhash_deduplicator": {**FEW, "verify": True}},
    "near": {"document_simhash_deduplicator": {"window_size": 2, "hamming_distance": 12, "num_blocks": 13}},
}


def remembered_rows(folder: Path) -> list[Any]:
    """Match keys of an index, by its files in order."""
    names = sorted(path.name for path in folder.glob("marks-*"))
    return [duckdb.sql(f"SELECT * FROM read_parquet('{folder / name}') ORDER BY _row").fetchall() for name in names]


def without_ids(run: Run, ids: dict[str, str]) -> dict[str, list[str]]:
    """Contents of tables, with other names for the ids of runs. ids: gets that of the run."""
    [(own,)] = rows(run, "runs", "run_id")
    ids[own] = f"run {len(ids)}"
    found = {name: [repr(row) for row in table] for name, table in content(run, "runs", "steps").items()}
    for known, name in ids.items():
        found = {table: [row.replace(known, name) for row in lines] for table, lines in found.items()}
    return found


@pytest.mark.parametrize(
    "kind", ["verified", *(pytest.param(k, marks=pytest.mark.long) for k in ("equal", "ordered", "bands", "near"))]
)
def test_three_runs_with_one_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    [(name, params)] = STEPS[kind].items()
    ids: dict[str, dict[str, str]] = {"one": {}, "tasks": {}}
    given = texts([*FAMILIES[:24], *FAMILIES[:24:3], *FAMILIES[6:30]])
    for run, part in enumerate((given[:20], given[20:36], given[36:])):
        write_lines(tmp_path / "in.jsonl", part)
        found = []
        for where in ("one", "tasks"):
            step = {name: {**params, "index": str(tmp_path / where / "index")}}
            with monkeypatch.context() as patched:
                calls = tasks_in_process(patched, run == 2, 3) if where == "tasks" else {}
                found.append(local(tmp_path, [step, "clean_email_mapper"], f"{where}/{run}", np=1, shard_size=2_500))
        one, other = (without_ids(run, ids[where]) for run, where in zip(found, ids, strict=True))
        for table in one:
            assert one[table] == other[table], table
        assert exported(found[0]) == exported(found[1])
    assert calls["remember"] > 0 and rows(found[0], "duplicates", "count(kept_in_index) > 1") == [(True,)]
    assert remembered_rows(tmp_path / "one" / "index") == remembered_rows(tmp_path / "tasks" / "index") != []


def test_copies_of_many_unlike_texts_of_an_index_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More texts of one bucket are remembered than there are rounds, and each is compared with its own copy."""
    common = " ".join(f"c{n}" for n in range(10))
    first, others = ([f"{common} {own}{k} {own}{k}_" for k in range(20)] for own in "wx")
    second = [*first, *others, *others]
    few = {"window_size": 1, "num_permutations": 256, "num_bands": 1, "num_rows_per_band": 1, "jaccard_threshold": 0.9}
    for where in ("one", "tasks"):
        step = {"document_minhash_deduplicator": {**few, "verify": True, "index": str(tmp_path / where / "index")}}
        for run, given in enumerate((first, second)):
            write_lines(tmp_path / "in.jsonl", texts(given))
            with monkeypatch.context() as patched:
                if where == "tasks":
                    tasks_in_process(patched)
                last = local(tmp_path, [step], f"{where}/{run}", np=1, shard_size=700)
        assert [json.loads(line)["text"] for line in exported(last).splitlines()] == others


def test_at_urls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the run folder nor the index is a folder of a machine, for either run."""
    [(name, params)] = STEPS["verified"].items()
    given = texts([*FAMILIES[:24], *FAMILIES[:24:3], *FAMILIES[6:30]])
    found: dict[str, list[Any]] = {}
    for where in ("one", "tasks"):
        url = f"memory://at-urls-{where}"
        for run, part in enumerate((given[:28], given[28:])):
            write_lines(tmp_path / "in.jsonl", part)
            keys = {"work_dir": f"{url}/run-{run}", "export_path": tmp_path / where / str(run) / "out.jsonl"}
            steps = [{name: {**params, "index": f"{url}/seen"}}]
            with monkeypatch.context() as patched:
                calls = tasks_in_process(patched, size=3) if where == "tasks" else {}
                last = refinery.run(settings(tmp_path, steps, np=1, shard_size=2_500, **keys))
        columns = "_row, kept, via, matched, estimated_jaccard, jaccard, kept_in_index IS NULL"
        found[where] = [exported(last), rows(last, "duplicates", columns)]
    assert found["one"] == found["tasks"] and any(not here for *_, here in found["one"][1])
    assert calls["remember"] > 0 and not [one for one in open_store(f"{url}/run-1").names() if "/joined/" in one]


@pytest.mark.long
def test_on_a_cluster_at_urls(driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_partitions(monkeypatch)
    minhash: dict[str, Any] = {"jaccard_threshold": 0.6, "hash": "fast", "verify": True}
    url, found = make_bucket("indexed"), []
    for where, index in (("one", str(tmp_path / "index")), ("tasks", f"{url}/seen")):
        for run, given in enumerate((samples(150), samples(300)[100:])):
            write_lines(tmp_path / "in.jsonl", given)
            step = {"document_minhash_deduplicator": {**minhash, "index": index}}
            keys = {"shard_size": 20_000, "np": 2}
            if where == "one":
                last = local(tmp_path, [step], f"one-{run}", **keys)
            else:
                last = on_ray(tmp_path, [step], f"tasks-{run}", work_dir=f"{url}/run-{run}", **keys)
        found.append(rows(last, "duplicates", "_row, kept, via, matched, jaccard, kept_in_index IS NULL"))
    assert found[0] == found[1] and any(not here for *_, here in found[0])


def test_pieces_of_an_index(tmp_path: Path) -> None:
    """Row groups of all files are cut into pieces of about equal size, with the least number of each."""
    sql = "COPY (SELECT range * 2 AS _row, 'k' || range AS key FROM range(5000)) TO '{}' (FORMAT parquet, ROW_GROUP_SIZE 2048)"
    for name in ("a.parquet", "b.parquet"):
        duckdb.sql(sql.format(tmp_path / name))
    duckdb.sql(f"COPY (SELECT 7::BIGINT AS _row, 'k' AS key, 3 AS order_0) TO '{tmp_path / 'own.parquet'}'")
    files = [(str(tmp_path), name, number << 40) for name, number in (("a.parquet", -2), ("b.parquet", -1))]
    place = TaskPlace(str(tmp_path), None, str(tmp_path))
    found = json.loads(indexed.survey(place, ["own.parquet"], files, 4, 10))
    firsts = [first for first, _ in found["pieces"]]
    assert firsts == [(-2 << 40), (-2 << 40) + 2 * 4096, (-1 << 40) + 2 * 2048]
    counts = [
        indexed.remember(place, found["schema"], portions, f"p{n}.parquet")
        for n, (_, portions) in enumerate(found["pieces"])
    ]
    assert sum(map(int, counts)) == 10_000
    table = duckdb.sql(
        f"SELECT min(_row), max(_row), count(order_0), count(key) FROM read_parquet('{tmp_path}/p*.parquet')"
    )
    assert table.fetchall() == [(-2 << 40, (-1 << 40) + 9998, 0, 10_000)]
    duckdb.sql(f"COPY (SELECT 7::BIGINT AS _row, 5 AS key) TO '{tmp_path / 'own.parquet'}'")
    found = json.loads(indexed.survey(place, ["own.parquet"], files, 4, 10))
    assert found["others"] == [[str(tmp_path), "own.parquet", 0, [0]]]
    indexed.remember(place, found["schema"], found["others"][0:1], "own_as_text.parquet")
    assert duckdb.sql(f"SELECT key FROM '{tmp_path}/own_as_text.parquet'").fetchall() == [("5",)]


def test_keys_are_compared_by_value_whatever_type_a_run_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A number among texts is that of the index; the text "1" is another value. Tasks do it without the driver."""
    step = {"key_deduplicator": {"key": "id", "index": str(tmp_path / "index")}}
    write_lines(tmp_path / "in.jsonl", [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}])
    local(tmp_path, [step], "first")
    write_lines(tmp_path / "in.jsonl", [{"id": i, "text": "c"} for i in ("1", "x", 2, 3, "1")])
    found = []
    for where in ("one", "tasks"):
        shutil.copytree(tmp_path / "index", tmp_path / where / "index")
        step = {"key_deduplicator": {"key": "id", "index": str(tmp_path / where / "index")}}
        with monkeypatch.context() as patched:
            calls = tasks_in_process(patched) if where == "tasks" else {}
            found.append(local(tmp_path, [step], f"{where}/run"))
    assert_same(*found, "steps", "runs")
    assert calls["remember"] > 0
    assert rows(found[1], "duplicates", "_row, kept_in_index IS NULL") == [(2, False), (4, True)]


def test_on_a_cluster(driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_partitions(monkeypatch)
    keys = {"shard_size": 20_000, "np": 2}
    for place, given in (("first", samples(150)), ("second", samples(300)[100:])):
        write_lines(tmp_path / "in.jsonl", given)
        minhash = {"jaccard_threshold": 0.6, "hash": "fast", "verify": True, "index": str(tmp_path / "index")}
        other = on_ray(tmp_path, [{"document_minhash_deduplicator": minhash}], place, **keys)
    assert rows(other, "duplicates", "count(kept_in_index) > 5") == [(True,)]
    assert len(place_of(str(tmp_path / "index")).listed()[1]) > 100  # type: ignore[index]
