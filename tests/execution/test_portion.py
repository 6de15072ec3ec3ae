"""`limit`, `sample` and `skip`: a part of a recipe is run, in a folder of its own, and says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import refinery
from refinery.api import Run
from refinery.errors import OutputError, RecipeError
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.refilter.refilter import refilter
from tests.runs import exported, lines_of, rows, settings, write_lines
from tests.sampling import sampled

# The deduplicator's second stage reads the input once more; broken lines and copies are among the samples.
SAMPLES: list[Any] = [
    *({"id": k, "text": f"word{k % 40} " * (k % 9)} for k in range(120)),
    "no JSON",
    *({"id": k, "text": f"other {k}"} for k in range(120, 160)),
    '{"id": 7',
]
STEPS: list[Any] = [
    {"words_num_filter": {"min_num": 2}},
    {"document_deduplicator": {}},
    {"text_length_filter": {"min_len": 12}, "name": "short"},
]
VARIANTS: dict[str, dict[str, Any]] = {
    "one": {},
    "threads": {"np": 4, "shard_size": 400},
    "processes": {"np": 2, "shard_size": 2000, "workers": "processes"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("portion")
    write_lines(folder / "in.jsonl", SAMPLES)
    return folder


@pytest.fixture(scope="module")
def whole(folder: Path) -> Run:
    return refinery.run(settings(folder, STEPS))


def outcomes(run: Run) -> list[Any]:
    return [exported(run), run.counts, rows(run, "row_outcomes"), rows(run, "quarantine", "_row, raw")]


@pytest.mark.parametrize("part", sampled([{"sample": "40%", "limit": 30}, {"limit": 50}, {"sample": 0.4}]), ids=str)
def test_shards_and_workers_do_not_decide(folder: Path, part: dict[str, Any]) -> None:
    found = [
        outcomes(refinery.run(settings(folder, STEPS, export_path=folder / name / "out.jsonl", **keys), **part))
        for name, keys in VARIANTS.items()
    ]
    assert found[0] == found[1] == found[2]
    assert 0 < found[0][1].read < len(SAMPLES)


def test_the_first_samples_are_those_of_the_input(folder: Path, whole: Run) -> None:
    run = refinery.run(settings(folder, STEPS), limit=121)
    assert run.counts.read == 121
    assert rows(run, "quarantine", "_row, file, line, error") == rows(
        whole, "quarantine", "_row, file, line, error", "_row < 121"
    )
    kept = [sample["id"] for sample in exported(run)]
    assert kept == [sample["id"] for sample in exported(whole) if sample["id"] < 120]  # the first of copies stays


def test_rows_add_up_and_lines_are_those_of_the_file(folder: Path) -> None:
    run = refinery.run(settings(folder, STEPS), sample=0.5)
    counts = run.counts
    assert counts.read == counts.kept + counts.removed + counts.quarantined
    texts = (folder / "in.jsonl").read_text().split("\n")
    with FinishedRun.open(run.work_dir) as stored:
        assert stored.recipe.sample == 0.5
    for row, line, raw in rows(run, "quarantine", "_row, line, raw"):
        assert texts[line - 1] == raw and row < counts.read


def test_results_are_in_a_folder_of_their_own(folder: Path, whole: Run) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.work_dir.iterdir() if path.is_file()}
    run = refinery.run(settings(folder, STEPS), limit=10, sample=0.5, skip=["short", 1])
    assert run.work_dir == whole.work_dir / "sample-0.5-first-10-without-1-3"
    assert list(run.outputs) == [run.work_dir / "out.jsonl"]
    assert {path: path.stat().st_mtime_ns for path in before} == before
    said = "the first 10 samples of a sample of 50%, without step 1 words_num_filter, without step 3 text_length_filter (short)"
    assert rows(run, "runs", "portion") == [(said,)]
    assert any(said in warning for warning in run.warnings)
    manifest = json.loads((run.work_dir / ".refinery" / "manifest.json").read_text())
    assert manifest["portion"]["limit"] == 10 and manifest["portion"]["sample"] == 0.5
    assert rows(whole, "runs", "portion") == [(None,)]
    assert rows(run, "steps", "operator") == [("document_deduplicator",)]


def test_a_named_place_is_used_unless_it_holds_all(folder: Path, whole: Run) -> None:
    place = folder / "named"
    run = refinery.run(settings(folder, STEPS), limit=5, work_dir=str(place), export_path=str(place / "a.jsonl"))
    assert list(run.outputs) == [place / "a.jsonl"]
    with pytest.raises(OutputError, match="a run over the whole input"):
        refinery.run(settings(folder, STEPS), limit=5, work_dir=str(whole.work_dir))
    with pytest.raises(OutputError, match="a run over the whole input"):
        refinery.run(settings(folder, STEPS, limit=5))  # a key of the recipe itself
    again = refinery.run(settings(folder, STEPS, limit=5, export_path=place / "b" / "k.jsonl"))
    assert again.work_dir == place / "b" and again.counts.read == 5


def test_a_part_is_explained_and_refiltered(folder: Path) -> None:
    run = refinery.run(settings(folder, STEPS), sample=0.3, limit=30)
    new = refilter(run.work_dir, ["process.1.min_num=4"], work_dir=str(folder / "again")).outcome
    direct = refinery.run(
        settings(folder, [{"words_num_filter": {"min_num": 4}}, *STEPS[1:]], export_path=folder / "d" / "k.jsonl"),
        sample=0.3,
        limit=30,
    )
    assert new.counts == direct.counts
    assert lines_of(Path(new.outputs[0])) == exported(direct)


def test_any_source_and_data_from_python(tmp_path: Path) -> None:
    samples = [sample for sample in SAMPLES if isinstance(sample, dict)]
    with duckdb.connect(str(tmp_path / "a.duckdb")) as con:
        con.execute("CREATE TABLE docs (id INTEGER, text TEXT)")
        con.executemany("INSERT INTO docs VALUES ($id, $text)", samples)
    source = {"type": "sql", "database": str(tmp_path / "a.duckdb"), "query": "SELECT * FROM docs ORDER BY id"}
    recipe = {"dataset": source, "export_path": str(tmp_path / "sql" / "a.jsonl"), "process": STEPS, "np": 1}
    direct = {"export_path": str(tmp_path / "py" / "a.jsonl"), "process": STEPS, "np": 1}
    for part in ({"limit": 33}, {"sample": 0.3}):
        query = refinery.run(recipe, **part)
        table = refinery.run(direct, dataset=pa.Table.from_pylist(samples), **part)
        assert exported(query) == exported(table)
        assert query.counts == table.counts
    stream = refinery.run(direct, dataset=iter(samples), limit=33)
    assert stream.counts.read == 33 and stream.counts == refinery.run(recipe, limit=33).counts


def test_an_index_does_not_take_a_part(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", SAMPLES)
    steps = [{"document_deduplicator": {"index": str(tmp_path / "index")}}, {"text_length_filter": {}}]
    for part in ({"limit": 5}, {"sample": 0.5}, {"skip": 2}):
        with pytest.raises(RecipeError, match="the index would remember"):
            refinery.run(settings(tmp_path, steps), **part)
    assert not (tmp_path / "index").exists()


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"skip": "shorts"}, "no step 'shorts'. Did you mean 'short'"),
        ({"skip": 9}, "no step 9: process has 3"),
        ({"limit": 0}, "limit must be at least 1"),
        ({"limit": "many"}, "limit must be a whole number"),
        ({"sample": 0}, "sample must be a share above 0 and up to 1"),
        ({"sample": "150%"}, "sample must be a share"),
    ],
)
def test_what_is_no_part_is_refused(folder: Path, part: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        refinery.run(settings(folder, STEPS), **part)


def test_a_script_takes_no_part_of_the_input(folder: Path) -> None:
    for part in ({"limit": 3}, {"sample": 0.5}):
        with pytest.raises(RecipeError, match="cannot be followed by a script"):
            refinery.compile(settings(folder, STEPS), **part)
    assert "words_num_filter" not in refinery.compile(settings(folder, STEPS), skip=1)


def test_a_stream_is_read_up_to_the_limit(tmp_path: Path) -> None:
    """Of samples, batches of them, and a reader of batches; none of them ends."""
    made = [0]

    def endless() -> Any:
        while True:
            made[0] += 1
            yield {"id": made[0], "text": f"text {made[0]}"}

    def batches() -> Any:
        return (pa.RecordBatch.from_pylist([sample] * 4) for sample in endless())

    reader = pa.RecordBatchReader.from_batches(pa.schema({"id": pa.int64(), "text": pa.string()}), batches())
    recipe = {"export_path": str(tmp_path / "a.jsonl"), "process": ["text_length_filter"], "np": 1}
    for stream in (endless(), batches(), reader):
        made[0] = 0
        assert refinery.run(recipe, dataset=stream, limit=7).counts.read == 7
        assert made[0] <= 8
