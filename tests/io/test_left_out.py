"""Sources that leave samples out: the run is that of the other samples."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.errors import RefineryError

ROWS = [{"id": n, "text": f"text number {n}"} for n in range(40)]


def _jsonl(path: Path, rows: list[dict]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n" + "".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def _parquet(path: Path, rows: list[dict]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=7)
    return str(path)


def _left_out(path: Path, numbers: list[int]) -> str:
    pq.write_table(pa.table({"row": pa.array(numbers, pa.int64())}), path)
    return str(path)


def _kept(tmp_path: Path, configs: list[dict], **keys: object) -> list[int]:
    recipe = {"dataset": {"configs": configs, **keys}, "export_path": str(tmp_path / "out/kept.jsonl")}
    recipe |= {"process": [{"words_num_filter": {"min_num": 1}}], "override_num_blocks": 3}
    run = refinery.run(recipe)
    assert run.counts.read == len(run.to_arrow())
    return run.to_arrow()["id"].to_pylist()


@pytest.mark.parametrize("write", [_jsonl, _parquet])
def test_numbers_count_over_all_sources_of_a_file(tmp_path: Path, write) -> None:
    kind = "jsonl" if write is _jsonl else "parquet"
    first, second = write(tmp_path / f"a.{kind}", ROWS[:10]), write(tmp_path / f"b.{kind}", ROWS[10:40])
    file = _left_out(tmp_path / "rows.parquet", [31, 0, 9, 10, 25])
    configs = [{"path": path, "left_out": file} for path in (first, second)]
    assert _kept(tmp_path, configs) == [n for n in range(40) if n not in (0, 9, 10, 25, 31)]
    assert _kept(tmp_path, [{"path": first}, {"path": second}]) == list(range(40))


def test_a_run_with_samples_left_out_can_be_repeated_from_its_recipe(tmp_path: Path) -> None:
    path, file = _jsonl(tmp_path / "in/a.jsonl", ROWS), _left_out(tmp_path / "rows.parquet", [3, 39])
    _jsonl(tmp_path / "in/later.jsonl", ROWS)
    configs = [{"path": str(tmp_path / "in"), "files": [path], "left_out": file}]
    kept = _kept(tmp_path, configs)
    assert kept == [n for n in range(40) if n not in (3, 39)]
    assert refinery.open(tmp_path / "out").why(3).sample["id"] == 4
    again = refinery.run(tmp_path / "out/.refinery/recipe.yaml")
    assert again.to_arrow()["id"].to_pylist() == kept


def test_files_of_a_folder_have_the_fields_of_their_folders(tmp_path: Path) -> None:
    paths = [_parquet(tmp_path / f"in/year={year}/a.parquet", ROWS[:2]) for year in (2001, 2002, 2003)]
    recipe = {
        "dataset": {"configs": [{"path": str(tmp_path / "in"), "files": [paths[2], paths[0]]}]},
        "export_path": str(tmp_path / "out/kept.parquet"),
        "process": [{"words_num_filter": {"min_num": 1}}],
    }
    assert refinery.run(recipe).to_arrow()["year"].to_pylist() == [2003, 2003, 2001, 2001]


def test_samples_that_are_left_out_are_not_drawn(tmp_path: Path) -> None:
    path, file = _jsonl(tmp_path / "a.jsonl", ROWS), _left_out(tmp_path / "rows.parquet", list(range(30)))
    kept = _kept(tmp_path, [{"path": path, "left_out": file}], max_sample_num=5)
    assert len(kept) == 5
    assert min(kept) >= 30


@pytest.mark.parametrize(
    ("numbers", "message"),
    [([40], "leaves out sample 40, but its sources have 40"), ([-1], "-1 is no number of a sample")],
)
def test_numbers_that_no_sample_has(tmp_path: Path, numbers: list[int], message: str) -> None:
    path = _jsonl(tmp_path / "a.jsonl", ROWS)
    with pytest.raises(RefineryError, match=message):
        _kept(tmp_path, [{"path": path, "left_out": _left_out(tmp_path / "rows.parquet", numbers)}])


def test_a_file_without_numbers(tmp_path: Path) -> None:
    path = _jsonl(tmp_path / "a.jsonl", ROWS)
    with pytest.raises(RefineryError, match="is no Parquet file with a column 'row'"):
        _kept(tmp_path, [{"path": path, "left_out": path}])
