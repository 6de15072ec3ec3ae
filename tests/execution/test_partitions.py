"""Exports in folders named by values of their samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.errors import OutputError, RecipeError
from refinery.inspect.refilter.refilter import refilter
from refinery.io.writers.partitions import folder_of
from tests.examples import ALL
from tests.runs import refine, rows, settings, write_lines
from tests.sampling import sampled

STEPS: list[Any] = [{"text_length_filter": {"min_len": 2}}, {"sql_mapper": {"text": "upper(text)"}}]
LANGS = ["en", "de", None, "a/b", "", "x=y %"]
SAMPLES: list[dict[str, Any]] = [
    {"id": k, "text": "ab" * (k % 4), "lang": LANGS[k % 6], "meta": {"year": 1990 + k}} for k in range(30)
]


def files(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The samples of each file, by its path in the folder."""
    return {
        str(path.relative_to(folder)): [json.loads(line) for line in path.read_bytes().splitlines()]
        for path in sorted(folder.rglob("*.jsonl"))
    }


def test_each_value_has_a_folder(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, STEPS, export_path=tmp_path / "kept", partition_by="lang")
    found = files(tmp_path / "kept")
    assert set(found) == {
        f"lang={name}/part.jsonl" for name in ("en", "de", "__HIVE_DEFAULT_PARTITION__", "a%2Fb", "", "x%3Dy%20%25")
    }
    assert found["lang=en/part.jsonl"] == [
        sample | {"text": sample["text"].upper()} for sample in SAMPLES if sample["lang"] == "en" and sample["text"]
    ]
    assert sum(map(len, found.values())) == run.counts.kept
    # Folders are read again as fields.
    again = refinery.run(settings(tmp_path / "again", STEPS, dataset_path=tmp_path / "kept"))
    assert again.counts.read == run.counts.kept


def test_values_are_those_of_the_exported_samples(tmp_path: Path) -> None:
    by = {"decade": "meta.year // 10", "n": "text_len", "first": "text[1]"}
    refine(tmp_path, SAMPLES, STEPS, export_path=tmp_path / "kept", partition_by=by)
    assert "decade=199/n=2/first=A/part.jsonl" in files(tmp_path / "kept")


def test_stages_after_a_deduplicator_are_partitioned(tmp_path: Path) -> None:
    steps = [*STEPS, {"document_deduplicator": {}}]
    found = []
    variants: dict[str, dict[str, Any]] = {"a": {}, "b": {"shard_size": 200, "np": 2}}
    for name, keys in (variants | ({"c": {"workers": "processes"}} if ALL else {})).items():
        refine(tmp_path / name, SAMPLES, steps, export_path=tmp_path / name / "kept", partition_by="text", **keys)
        found.append(files(tmp_path / name / "kept"))
    assert all(other == found[0] for other in found) and len(found[0]) == 3


# Kinds of exports and inputs.
FORMS = [
    *(("jsonl.gz", "jsonl"), ("jsonl.gz", "parquet")),
    *(("jsonl.zst", "parquet"), ("jsonl.zst", "jsonl")),
    *(("json", "jsonl"), ("json", "parquet")),
    *(("parquet", "parquet"), ("parquet", "jsonl")),
]


@pytest.mark.parametrize(("kind", "carrier"), sampled(FORMS, 2))
def test_every_format_is_partitioned(tmp_path: Path, kind: str, carrier: str) -> None:
    write_lines(tmp_path / "in.jsonl", SAMPLES)
    pq.write_table(pa.Table.from_pylist(SAMPLES), tmp_path / "in.parquet")
    keys = {"dataset_path": tmp_path / f"in.{carrier}", "export_path": tmp_path / "kept", "export_type": kind}
    run = refinery.run(settings(tmp_path, STEPS, partition_by="lang", export_shard_size=200, **keys))
    assert {Path(path).parent.parent for path in run.outputs} == {tmp_path / "kept"}
    assert all(str(path).endswith(f".{kind}") and "part-" in Path(path).name for path in run.outputs)
    assert len(run.to_arrow()) == run.counts.kept
    if kind == "parquet":
        table = pq.read_table(tmp_path / "kept")
        assert len(table) == run.counts.kept and "lang" in table.column_names
        assert "lang" not in pq.read_schema(run.outputs[0]).names


def test_too_many_folders_are_refused(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"export_path": tmp_path / "kept", "max_partitions": 3}
    with pytest.raises(OutputError, match="partition_by: there are more than 3 folders"):
        refine(tmp_path, SAMPLES, STEPS, partition_by="id", **keys)
    assert not files(tmp_path / "kept")
    refine(tmp_path, SAMPLES, STEPS, partition_by={"id": "id % 3"}, **keys)
    assert len(files(tmp_path / "kept")) == 3


def test_a_long_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="too long for the name of a folder"):
        refine(tmp_path, [{"text": "a" * 300}], STEPS, export_path=tmp_path / "kept", partition_by="text")


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("lnag", "no column 'lnag'|Did you mean 'lang'"),
        ({"a": "count(*)"}, "partition_by: a: "),
        ({"a": "text +"}, "partition_by"),
        ({"a": "upper(id, 3, 4)"}, "partition_by"),
    ],
)
def test_wrong_expressions_are_errors_of_the_recipe(tmp_path: Path, by: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        refine(tmp_path, SAMPLES, STEPS, export_path=tmp_path / "kept", partition_by=by)


def test_folders_of_an_earlier_run_do_not_stay(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"export_path": tmp_path / "kept", "partition_by": "lang"}
    refine(tmp_path, SAMPLES, STEPS, **keys)
    refine(tmp_path, SAMPLES[:2], [{"text_length_filter": {"min_len": 0}}], **keys)
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["lang=de", "lang=en"]
    assert sum(map(len, files(tmp_path / "kept").values())) == 2


def test_what_is_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/mine.jsonl").write_text("{}")
    with pytest.raises(OutputError, match=r"holds 'mine.jsonl', which no run"):
        refine(tmp_path, SAMPLES, STEPS, export_path=tmp_path / "kept", partition_by="lang")
    with pytest.raises(OutputError, match="is a file; samples in partitions are files in a folder"):
        refine(tmp_path, SAMPLES, STEPS, export_path=tmp_path / "kept/mine.jsonl", partition_by="lang")
    with pytest.raises(OutputError, match="holds other files of the run"):
        keys = {"export_path": tmp_path / "run2", "work_dir": tmp_path / "run2/work"}
        refine(tmp_path, SAMPLES, STEPS, partition_by="lang", **keys)


def test_refilter_does_not_take_texts_from_partitions(tmp_path: Path) -> None:
    run = refine(
        tmp_path, SAMPLES, STEPS, export_path=tmp_path / "kept", partition_by="lang", work_dir=tmp_path / "run"
    )
    kept = [sample for samples in files(tmp_path / "kept").values() for sample in samples]
    again = refilter(run.work_dir, ["process.1.min_len=4"], work_dir=str(tmp_path / "new"))
    lines = (tmp_path / "new/kept").read_bytes().splitlines()
    assert list(map(json.loads, lines)) == sorted(
        (sample for sample in kept if len(sample["text"]) >= 4), key=lambda sample: sample["id"]
    )
    assert any("partition_by is not followed by refilter" in note for note in again.notes)


def test_names_of_folders() -> None:
    assert folder_of(["a b"], [None]) == "a%20b=__HIVE_DEFAULT_PARTITION__"
    assert folder_of(["a"], ["__HIVE_DEFAULT_PARTITION__"]) == "a=%5F_HIVE_DEFAULT_PARTITION__"
    assert folder_of(["a", "b"], ["..", "\0\n"]) == "a=../b=%00%0A"


def test_tables_are_the_same_with_partitions(tmp_path: Path) -> None:
    plain = refine(tmp_path / "a", SAMPLES, STEPS)
    parted = refine(tmp_path / "b", SAMPLES, STEPS, export_path=tmp_path / "b/kept", partition_by="lang")
    for table, columns in {"stats": "*", "ledger": "*", "row_outcomes": "* EXCLUDE (_partition_1)"}.items():
        assert rows(plain, table) == rows(parted, table, columns)
