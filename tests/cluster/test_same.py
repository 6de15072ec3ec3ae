"""A run on a Ray cluster leaves what the run on this machine leaves: rows, tables, traces, quarantine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.errors import OutputError
from tests.cluster.runs import assert_same, local, on_ray, samples
from tests.engine.runs import operator_folder, rows, settings, write_lines

KEYS = {"shard_size": 20_000, "np": 2}
EVERYTHING = [
    "clean_email_mapper",
    {"words_num_filter": {"min_num": 5}},
    "picky_mapper",
    "document_deduplicator",
    "clean_links_mapper",
    {"document_minhash_deduplicator": {"jaccard_threshold": 0.5, "keep": "length(text) desc"}},
    {"document_line_deduplicator": {"frequency_threshold": 20}},
    "doc_stats",
    {"text_length_filter": {"min_len": 20}},
]


@pytest.fixture
def operators(tmp_path: Path) -> Path:
    """A mapper that raises on some texts and is run by actors."""
    body = """
        if "tau3" in text:
            raise ValueError("not this one")
        return text.replace("rho1", "RHO") if "rho1" in text else None
    """
    return operator_folder(tmp_path / "own", '"resources": {"loads": True},', picky=body)


def test_everything(driver: Any, tmp_path: Path, operators: Path) -> None:
    write_lines(tmp_path / "in.jsonl", samples(600))
    keys = KEYS | {"open_tracer": True, "trace_num": 3, "trace_keys": ["id"], "operators": [str(operators)]}
    keys |= {"stat_summary": {"group_by": {"source": "meta.source"}}, "keep_stats_in_res_ds": True}
    one, other = local(tmp_path, EVERYTHING, **keys), on_ray(tmp_path, EVERYTHING, **keys)
    assert rows(one, "shards", "count(*)")[0][0] > 5
    assert rows(one, "quarantine", "count(DISTINCT step)") == [(2,)] and rows(one, "duplicates", "count(*)")[0][0] > 50
    assert_same(one, other)
    names = sorted(path.name for path in other.outputs)
    assert [name.rpartition("_")[2] for name in names] == [f"{number:06d}.json" for number in range(len(names))]
    assert not (tmp_path / "ray" / ".tmp").exists()


@pytest.mark.parametrize(
    "step",
    [
        {"document_simhash_deduplicator": {"hamming_distance": 4}},
        {"document_minhash_deduplicator": {"jaccard_threshold": 0.6, "verify": True}},
        {"paragraph_deduplicator": {}},
    ],
    ids=str,
)
def test_other_deduplicators(driver: Any, tmp_path: Path, step: Any) -> None:
    write_lines(tmp_path / "in.jsonl", samples(300))
    one, other = local(tmp_path, [step], **KEYS), on_ray(tmp_path, [step], **KEYS)
    assert rows(one, "duplicates", "count(*)")[0][0] > 10
    assert_same(one, other)


def test_an_index_goes_on_from_run_to_run(driver: Any, tmp_path: Path) -> None:
    found = []
    for run, where in ((local, "a"), (on_ray, "b")):
        step = {"document_deduplicator": {"index": str(tmp_path / where)}}
        write_lines(tmp_path / "in.jsonl", samples(100))
        run(tmp_path, [step], **KEYS)
        write_lines(tmp_path / "in.jsonl", samples(150)[50:])
        found.append(rows(run(tmp_path, [step], **KEYS), "duplicates", "_row, kept, kept_in_index IS NULL"))
    assert found[0] == found[1] and any(not here for *_, here in found[0])


def test_parquet_in_memory_and_out(driver: Any, tmp_path: Path) -> None:
    table = pa.Table.from_pylist([sample for sample in samples(300) if isinstance(sample, dict)])
    steps = [{"words_num_filter": {"min_num": 5}}, "document_deduplicator", "clean_email_mapper"]
    found = []
    for name, keys in (("local", {}), ("ray", {"executor_type": "ray"})):
        place = tmp_path / name
        path = place / "kept" if keys else place / "out.parquet"
        recipe = settings(tmp_path, steps, work_dir=place, export_path=path, export_type="parquet", **KEYS, **keys)
        del recipe["dataset_path"]
        found.append(refinery.run(recipe, dataset=table))
    written = [pa.concat_tables(pq.read_table(path) for path in sorted(run.outputs)) for run in found]
    assert written[0].equals(written[1]) and written[0].num_rows == found[0].counts.kept > 0


def test_an_export_replaces_the_one_before(driver: Any, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", samples(300))
    first = on_ray(tmp_path, [{"text_length_filter": {"min_len": 20}}], **KEYS)
    second = on_ray(tmp_path, [{"text_length_filter": {"min_len": 30}}], **KEYS)
    there = {path for path in (tmp_path / "ray" / "kept").iterdir() if not path.name.startswith(".")}
    assert there == set(second.outputs) and not there & set(first.outputs)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.json").write_text("{}\n")
    with pytest.raises(OutputError, match="holds 'mine.json', which is no part of an export"):
        on_ray(tmp_path, ["clean_email_mapper"], export_path=tmp_path / "other", **KEYS)


def test_a_second_run_reuses_what_the_first_has_left(driver: Any, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", samples(300))
    one = on_ray(tmp_path, EVERYTHING[:2], **KEYS)
    again = on_ray(tmp_path, EVERYTHING[:2], **KEYS)
    assert rows(again, "shards", "min(reused)") == [(1,)]
    assert_same(one, again, "shards")


def test_a_list_names_what_is_there(tmp_path: Path) -> None:
    from refinery.cluster import exporting
    from refinery.samples.export import Written

    parts = [tmp_path / f"a_{number:06d}.json" for number in range(3)]
    for part in parts:
        part.write_text("{}\n")
    exporting.publish(str(tmp_path), [Written(str(part), 1, 3) for part in parts])
    assert exporting.listed(str(tmp_path)) == [part.name for part in parts]
    parts[1].unlink()
    exporting.correct(str(tmp_path))
    assert exporting.listed(str(tmp_path)) == [parts[0].name, parts[2].name]
    exporting.publish(str(tmp_path), [])
    assert sorted(path.name for path in tmp_path.iterdir()) == [exporting.LIST]
