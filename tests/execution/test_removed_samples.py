"""Files of removed samples: each with its row of the ledger, in every way of working, and none of another run beside them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import refinery
from refinery.api import Run
from refinery.errors import ConservationError, OutputError
from refinery.execution.removed_files import RemovedFiles
from tests.runs import exported, refine, rows, settings, write_lines
from tests.sampling import sampled

STEPS: list[Any] = [
    {"whitespace_normalization_mapper": {}},
    {"text_length_filter": {"min_len": 3}},
    {"document_deduplicator": {"lowercase": True}},
    {"words_num_filter": {"min_num": 2, "max_num": 50}},
    {"document_deduplicator": {"lowercase": True, "ignore_non_character": True}},
]
TEXTS = ["aaa bbb", "x", "", " AAA bbb", "one", "aaa\u2003bbb", "a.a.a bbb", "three words here", "y"]
SAMPLES: list[dict[str, Any]] = [
    {"id": k, "text": TEXTS[k % len(TEXTS)], "meta": {"lang": ["en", "de", None][k % 3]}} for k in range(40)
]


def removed_in(folder: Path) -> list[dict[str, Any]]:
    """All removed samples, by the number of their rows."""
    lines = [line for path in folder.rglob("*.jsonl") for line in path.read_bytes().splitlines()]
    return sorted(map(json.loads, lines), key=lambda sample: sample["_row"])


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.*")) if path.is_file()}


def require_ledger(run: Run, samples: list[dict[str, Any]]) -> None:
    """Each removed sample stands once in the files, with the ledger's reason."""
    names = "_row, step, operator, reason, statistic, value, bound, kept_instead"
    found = [tuple(sample[name] for name in names.split(", ")) for sample in samples]
    assert found == rows(run, "ledger", f"{names}")


def test_removed_samples_have_their_reasons(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, STEPS, removed_path=tmp_path / "removed")
    removed = removed_in(tmp_path / "removed")
    require_ledger(run, removed)
    assert {path.parent.name for path in (tmp_path / "removed").rglob("*.jsonl")} == {
        "removed_by=02_text_length_filter",
        "removed_by=03_document_deduplicator",
        "removed_by=04_words_num_filter",
        "removed_by=05_document_deduplicator",
    }
    assert {sample["id"] for sample in removed} | {sample["id"] for sample in exported(run)} == set(range(40))
    # The text is that which the step has seen; all other fields are those of the sample.
    assert removed[0] | {"text": "x", "meta": {"lang": "de"}} == removed[0]
    later = next(sample for sample in removed if sample["id"] == 5)
    assert later["text"] == "aaa bbb" and later["kept_instead"] == 0


VARIANTS: dict[str, dict[str, Any]] = {
    "threads": {"np": 4, "shard_size": 200},
    "processes": {"workers": "processes", "np": 2, "shard_size": 500},
    "one by one": {"override_num_blocks": 7},
}


@pytest.mark.parametrize("by", sampled([["reason", "meta.lang"], None, []]), ids=str)
def test_files_are_the_same_for_any_shards_and_workers(tmp_path: Path, by: Any) -> None:
    found = []
    for name, keys in {"first": {}, **VARIANTS}.items():
        place = tmp_path / name / "removed"
        refine(tmp_path / name, SAMPLES, STEPS, removed_path=place, removed_partition_by=by, **keys)
        found.append(files(place))
    assert found[0] and all(other == found[0] for other in found)


# Names of files, and kinds of inputs.
FORMS = [
    *(("removed.jsonl", "parquet"), ("removed.jsonl", "jsonl")),
    *(("removed.jsonl.gz", "jsonl"), ("removed.jsonl.gz", "parquet")),
    *(("removed.parquet", "parquet"), ("removed.parquet", "jsonl")),
]


@pytest.mark.parametrize(("name", "carrier"), sampled(FORMS, 2))
def test_removed_samples_in_one_file(tmp_path: Path, name: str, carrier: str) -> None:
    write_lines(tmp_path / "in.jsonl", SAMPLES)
    pq.write_table(pa.Table.from_pylist(SAMPLES), tmp_path / "in.parquet")
    keys = {"dataset_path": tmp_path / f"in.{carrier}", "removed_path": tmp_path / name}
    run = refinery.run(settings(tmp_path, STEPS, **keys))
    place = tmp_path / name
    if name.endswith("parquet"):
        samples = pq.read_table(place).to_pylist()
        assert pq.read_schema(place).field("bound").type == pa.float64()
    else:
        text = gzip.decompress(place.read_bytes()) if name.endswith("gz") else place.read_bytes()
        samples = [json.loads(line) for line in text.splitlines()]
    require_ledger(run, samples)


def test_tables_are_partitioned_without_the_columns_of_the_folders(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"export_path": tmp_path / "run/kept.parquet", "removed_partition_by": ["operator", "step"]}
    run = refine(tmp_path, SAMPLES, STEPS, removed_path=tmp_path / "removed", **keys)
    table = pq.read_table(tmp_path / "removed").sort_by("_row")
    assert table["_row"].to_pylist() == [row for (row,) in rows(run, "ledger", "_row")]
    assert set(table.column_names) > {"operator", "removed_by", "step", "reason"}


def test_a_second_run_reuses_shards_and_writes_the_same_files(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"removed_path": tmp_path / "removed", "shard_size": 300}
    refine(tmp_path, SAMPLES, STEPS, **keys)
    before = files(tmp_path / "removed")
    run = refine(tmp_path, SAMPLES, STEPS, **keys)
    assert run.sql("SELECT count(*) FROM shards WHERE reused = 0").fetchall() == [(0,)]
    assert files(tmp_path / "removed") == before


def test_files_of_an_earlier_run_do_not_stay(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"removed_path": tmp_path / "removed"}
    refine(tmp_path, SAMPLES, STEPS, **keys)
    run = refine(tmp_path, SAMPLES, STEPS[:2], **keys)
    assert [path.name for path in (tmp_path / "removed").iterdir()] == ["removed_by=02_text_length_filter"]
    require_ledger(run, removed_in(tmp_path / "removed"))


def test_a_folder_with_files_of_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / "removed/removed_by=x").mkdir(parents=True)
    (tmp_path / "removed/removed_by=x/removed.jsonl").write_text("{}")
    with pytest.raises(OutputError, match="which no run of this work_dir has written"):
        refine(tmp_path, SAMPLES, STEPS, removed_path=tmp_path / "removed")


def test_a_run_without_the_key_leaves_nothing_of_it(tmp_path: Path) -> None:
    refine(tmp_path, SAMPLES, STEPS)
    assert not [path for path in (tmp_path / "run/.refinery").rglob("*.removed.*")]


def test_a_sample_that_is_not_written_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = RemovedFiles.write

    def loses_one(self: RemovedFiles, *given: Any) -> Any:
        first, *rest = write(self, *given)
        return [type(first)(first.path, first.rows - 1, first.bytes), *rest]

    monkeypatch.setattr(RemovedFiles, "write", loses_one)
    with pytest.raises(ConservationError, match="were removed, but"):
        refine(tmp_path, SAMPLES, STEPS, removed_path=tmp_path / "removed")
    assert not files(tmp_path / "removed") and not (tmp_path / "run/out.jsonl").exists()


def test_a_field_that_the_ledger_replaces_is_noted(tmp_path: Path) -> None:
    samples = [{"id": 1, "text": "x", "reason": "mine", "value": 3}]
    run = refine(tmp_path, samples, STEPS, removed_path=tmp_path / "removed")
    assert removed_in(tmp_path / "removed")[0]["reason"] == "text_len below min_len"
    assert any("1 removed sample has a field 'reason'" in line for line in run.warnings)


# Recipes at random: what is kept, removed and in quarantine is the input

STEP = st.sampled_from(
    [
        {"text_length_filter": {"min_len": 3}},
        {"words_num_filter": {"min_num": 2}},
        {"sql_filter": {"where": "id % 3 <> 0"}},
        {"sql_mapper": {"text": "upper(text)"}},
        {"sql_mapper": {"text": "CASE WHEN id % 5 = 0 THEN '' ELSE text || ' end' END"}},
        {"sql_filter": {"where": "CAST(text AS INTEGER) IS NULL OR id < 3"}},
        {"document_deduplicator": {"lowercase": True}},
    ]
)
TEXT = st.sampled_from(["aaa bbb", "AAA BBB", "x", "", "7", "one two three", "\u00e9 \u2028 z"])


@hypothesis_settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    steps=st.lists(STEP, min_size=1, max_size=5),
    found=st.lists(st.one_of(TEXT, st.none()), min_size=1, max_size=25),
    shard_size=st.sampled_from([100, 1 << 30]),
    drop_empty=st.booleans(),
)
def test_export_removed_and_quarantine_are_the_input(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any], found: list[Any], shard_size: int, drop_empty: bool
) -> None:
    folder = tmp_path_factory.mktemp("random")
    samples: list[Any] = [{"id": k, "text": text} if text is not None else "broken" for k, text in enumerate(found)]
    keys: dict[str, Any] = {
        "partition_by": {"odd": "id % 2"},
        "export_path": folder / "run/kept",
        "max_quarantined": "100%",
    }
    run = refine(
        folder, samples, steps, removed_path=folder / "removed", drop_empty=drop_empty, shard_size=shard_size, **keys
    )
    removed = removed_in(folder / "removed")
    require_ledger(run, removed)
    kept = [sample for path in run.outputs for sample in map(json.loads, Path(path).read_bytes().splitlines())]
    quarantined = rows(run, "quarantine", "_row")
    assert [*sorted(sample["id"] for sample in kept)] == [
        row for (row,) in rows(run, "row_outcomes", "_row") if row not in {sample["_row"] for sample in removed}
    ]
    assert len(kept) + len(removed) + len(quarantined) == len(samples)
    assert all(sample["id"] == sample["_row"] for sample in removed)
    assert not (drop_empty and any(sample["text"] == "" for sample in kept))


def test_a_mapper_that_removes_leaves_the_text_that_it_has_read(tmp_path: Path) -> None:
    folder = tmp_path / "own/mappers"
    folder.mkdir(parents=True)
    (folder / "cut_mapper.sql").write_text(
        "/*---\ndoc: Cut.\nversion: 1\nexamples: [{text: a, out: a}]\n---*/\n"
        "SELECT replace({{ text }}, 'x', '') AS _t, nullif(_t, {{ text }}) AS delta, _t <> '' AS keep_empty"
    )
    samples = [{"id": k, "text": text} for k, text in enumerate(["xx", "axb", "b"])]
    steps: list[Any] = [{"sql_mapper": {"text": "text || 'x'"}}, "cut_mapper", {"sql_filter": {"where": "text <> 'b'"}}]
    keys: dict[str, Any] = {"operators": [str(tmp_path / "own")]}
    run = refine(tmp_path, samples, steps, removed_path=tmp_path / "removed", **keys)
    found = {sample["id"]: (sample["text"], sample["step"]) for sample in removed_in(tmp_path / "removed")}
    assert found == {0: ("xxx", 2), 2: ("b", 3)} and exported(run) == [{"id": 1, "text": "ab"}]
