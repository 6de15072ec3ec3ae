"""`refinery refilter`: the new run is like one of the changed recipe, and computes no more than it must."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

import refinery
from refinery.cli.main import cli
from refinery.errors import DataError, OutputError, RecipeError
from refinery.inspect.refilter.refilter import refilter
from refinery.io.readers import json_lines as reading
from refinery.planning.sizes import BATCH
from refinery.workers.facts import ComputedFacts
from tests.inspect.refilter.refiltered import again, as_run, prepared, same_as_fresh
from tests.runs import content, lines_of, texts, write_lines
from tests.sampling import named

WORDS = "one two three four five six seven eight nine ten"
STEPS: list[Any] = [
    {"whitespace_normalization_mapper": None},
    {"text_length_filter": {"min_len": 6, "max_len": 45}},
    {"sql_mapper": {"text": "replace(text, 'three', 'THREE')"}},
    {"words_num_filter": {"min_num": 3}},
    {"sql_filter": {"where": "num_words <> 6 AND text_len < 44"}},
    {"sql_mapper": {"text": "CASE WHEN id = 25 THEN CAST(id // (id - 25) AS VARCHAR) ELSE replace(text, 'five', '5') END"}},
    {"sql_filter": {"where": "id % 7 <> 2"}},
    {"text_length_filter": {"min_len": 12}},
]  # fmt: skip
SAMPLES: list[Any] = [*texts([" ".join(WORDS.split()[: n % 11]) + "\u00a0" * (n % 3) for n in range(60)]), "no json"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("plain"), SAMPLES, STEPS)


# Change -> which of the samples that the run has stored are run again, over its tables stats and row_outcomes
CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"process.4.min_num": 5}, "FALSE"),
    ({"process.words_num_filter.min_num": 1}, "_dropped = 4"),
    (
        {"process.2.min_len": 20, "process.5.where": "num_words <> 7"},
        "_dropped = 5 AND num_words <> 7 AND text_len >= 20",
    ),
    ({"process.2.reversed_range": True}, "_dropped = 2"),
    ({"process.4.min_closed_interval": False, "process.4.max_num": 8}, "FALSE"),
    ({"process.7.where": "id % 7 <> 3"}, "_dropped IS NULL OR _dropped >= 7"),
    ({"process.7.where": "_row % 7 <> 3"}, "_dropped = 7 AND _row % 7 <> 3"),
    ({"process.8.min_len": 30}, "FALSE"),
    ({"process.8.min_len": 1}, "_dropped = 8 AND (_changed_1 OR _changed_3 OR _changed_6)"),
    ({"process.3.text": "replace(text, 'three', '3')"}, "_dropped IS NULL OR _dropped > 2"),
    ({"keep_stats_in_res_ds": True, "process.4.min_num": 4}, "FALSE"),
    ({"open_tracer": True, "trace_num": 3, "process.4.min_num": 4}, "FALSE"),
    ({"export_type": "jsonl.gz"}, "FALSE"),
    ({"stat_summary.groups": ["summary", "histogram"]}, "TRUE"),
]


# A stricter and a looser filter at once, a condition on rows, a mapper, a summary.
SHORT = ("2", "5", "9", "13")


@pytest.mark.parametrize(("changes", "where"), named({str(at): case for at, case in enumerate(CHANGES)}, *SHORT))
def test_filters_and_mappers(plain: Path, tmp_path: Path, changes: dict[str, Any], where: str) -> None:
    found = same_as_fresh(plain, tmp_path, changes)
    with duckdb.connect(str(plain.parent / "run" / "refinery.duckdb"), read_only=True) as con:
        [(stored,)] = con.execute(f"SELECT count(*) FROM stats JOIN row_outcomes USING (_row) WHERE {where}").fetchall()
        [(failed,)] = con.execute("SELECT count(*) FROM quarantine WHERE step > 0").fetchall()
    assert failed == 1 and found.again == stored + failed


def test_a_run_that_only_measured(tmp_path: Path) -> None:
    recipe = prepared(tmp_path, SAMPLES, STEPS, measure_only=True, export_type="none")
    options = json.loads(recipe.read_text())
    del options["measure_only"], options["export_type"]
    recipe.write_text(json.dumps(options))
    found = same_as_fresh(recipe, tmp_path, {"process.4.min_num": 4})
    assert "rows were run again" in found.notes[0]  # texts that mappers changed are nowhere


def test_statistics_files_of_a_refiltered_run_have_a_folder_of_their_own(tmp_path: Path) -> None:
    summary = {"groups": ["summary"], "export": str(tmp_path / "files")}
    prepared(tmp_path, texts(["a b c", "d e f g", "h"]), ["words_num_filter"], stat_summary=summary)
    name = "summary/num_words/00000.json"
    first = (tmp_path / "files" / name).read_bytes()
    for _ in range(2):
        found = refilter(tmp_path / "run", ["process.1.min_num=2"])
        files = found.outcome.run_dir.root / "statistics"
        assert json.loads((files / name).read_bytes()) == json.loads(first)  # samples count where they are measured
    assert sorted(path.name for path in tmp_path.glob("run*")) == ["run", "run-refiltered", "run-refiltered-2"]
    for folder, reason in (("files", "of the run that is refiltered"), ("run-refiltered/statistics", "of another run")):
        with pytest.raises(OutputError, match=reason):
            refilter(tmp_path / "run", [f"stat_summary.export={tmp_path / folder}"])
    refilter(tmp_path / "run", [f"stat_summary.export={tmp_path / 'mine'}"])
    assert (tmp_path / "mine" / name).read_bytes() == first == (tmp_path / "files" / name).read_bytes()


# Nothing is computed that is known


def test_no_operator_runs_where_all_is_known(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shutil.copytree(plain.parent / "run", tmp_path / "run")
    asked: list[int] = []
    attempt = ComputedFacts.attempt

    def watched(self: ComputedFacts, batch: Any, first_row: int = 0) -> Any:
        asked.extend(batch.rows.tolist())
        return attempt(self, batch, first_row)

    monkeypatch.setattr(ComputedFacts, "attempt", watched)
    found = refilter(run, ["process.4.min_num=5"], work_dir=str(tmp_path / "again"))
    assert len(asked) == found.again == 1  # the sample that has failed


def test_without_export_nothing_is_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = prepared(tmp_path, SAMPLES, STEPS[:5])
    fresh = refinery.run(recipe, work_dir=str(tmp_path / "fresh"), **{"process.4.min_num": 5})
    sizes: list[int] = []
    read = reading.read_lines

    def watched(source: Any, start: int, end: int, limits: Any, *rest: Any) -> Any:
        sizes.append(limits.batch_bytes)
        return read(source, start, end, limits, *rest)

    monkeypatch.setattr(reading, "read_lines", watched)
    found = again(recipe, tmp_path, {"process.4.min_num": 5}, writes=False)
    assert found.again == 0 and found.outcome.outputs == () and sum(size == BATCH for size in sizes) == 0
    assert content(as_run(found)) == content(fresh)
    assert not list((tmp_path / "again").glob("*.jsonl"))


@pytest.mark.parametrize("damage", ["other", pytest.param("gone", marks=pytest.mark.long)])
def test_an_export_that_is_not_as_it_was_is_not_used(tmp_path: Path, damage: str) -> None:
    recipe = prepared(tmp_path, SAMPLES, STEPS)
    export = tmp_path / "run" / "out.jsonl"
    if damage == "gone":
        export.unlink()
    else:
        export.write_text("".join(json.dumps(line | {"text": "x"}) + "\n" for line in lines_of(export)))
    found = same_as_fresh(recipe, tmp_path, {"process.4.min_num": 5})
    assert found.again > 10  # what mappers have changed


@pytest.mark.parametrize(
    ("writes", "steps"),
    named(
        {
            f"{'written' if writes else 'decided'}, {name} after": (writes, steps)
            for writes in (True, False)
            for name, steps in (("mappers", STEPS), ("filters", [*STEPS[:5], STEPS[7]]))
        },
        "written, mappers after",
        "decided, filters after",
    ),
)
def test_a_condition_that_fails_for_a_stored_sample(
    plain: Path, tmp_path: Path, steps: list[Any], writes: bool
) -> None:
    recipe = plain if steps is STEPS else prepared(tmp_path, SAMPLES, steps)
    fails = "CAST(CASE WHEN num_words = 4 THEN 'four' ELSE '1' END AS INTEGER) = 1 AND text_len < 40"
    changes = {"process.5.where": fails}
    if writes:
        found = same_as_fresh(recipe, tmp_path, changes)
    else:
        found = again(recipe, tmp_path, changes, writes=False)
        fresh = refinery.run(recipe, work_dir=str(tmp_path / "fresh"), export_path=str(tmp_path / "x"), **changes)
        assert content(as_run(found)) == content(fresh)
    run = as_run(found)
    [(quarantined,)] = run.sql("SELECT count(*) FROM quarantine WHERE step = 5 AND error LIKE '%four%'").fetchall()
    assert quarantined > 0
    assert quarantined < found.again


# What cannot be done


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("process.4.min_nun=1", "Did you mean 'min_num'"),
        ("dataset_path=other.jsonl", "dataset_path differs from that of the run.*refinery run .*recipe.yaml"),
        ("text_keys=body", "text_keys differs from that of the run"),
        ('process=[{"text_length_filter": {"min_len": 3}}]', "the steps differ.*refinery run .*recipe.yaml"),
        ("measure_only=true", "has removed samples before all was measured"),
        ("process.9.min_len=1", "there is no step 9"),
        ("min_len=1", "there is no key 'min_len'"),
    ],
)
def test_changes_that_need_a_run_of_their_own(plain: Path, tmp_path: Path, change: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        refilter(plain.parent / "run", [change], work_dir=str(tmp_path / "again"))
    assert not (tmp_path / "again").exists()


def test_indexes_need_a_run_of_their_own(tmp_path: Path) -> None:
    steps = [{"text_length_filter": {"min_len": 1}}, {"document_deduplicator": {"index": str(tmp_path / "index")}}]
    recipe = prepared(tmp_path, SAMPLES, steps)
    with pytest.raises(RecipeError, match="has an index, to which every run adds"):
        again(recipe, tmp_path, {"process.1.min_len": 2})


@pytest.mark.parametrize("how", ["size", "time", "gone"])
def test_the_input_must_be_that_of_the_run(tmp_path: Path, how: str) -> None:
    recipe = prepared(tmp_path, SAMPLES, STEPS[:2])
    source = tmp_path / "in.jsonl"
    if how == "gone":
        source.unlink()
    elif how == "size":
        write_lines(source, SAMPLES[1:])
    else:
        os.utime(source, ns=(1, 1))
    with pytest.raises(DataError, match="no such file" if how == "gone" else r"the input has changed .*in.jsonl"):
        again(recipe, tmp_path, {"process.2.min_len": 8})


def test_nothing_of_the_old_run_is_written_over(plain: Path, tmp_path: Path) -> None:
    run = plain.parent / "run"
    with pytest.raises(OutputError, match="Name another --work-dir"):
        refilter(run, [], work_dir=str(run))
    with pytest.raises(OutputError, match="Name another --export"):
        refilter(run, [], work_dir=str(tmp_path / "again"), export=str(run / "out.jsonl"))
    with pytest.raises(OutputError, match="it is also read"):
        refilter(run, [], work_dir=str(tmp_path / "again"), export=str(plain.parent / "in.jsonl"))


# The command


def test_the_command(plain: Path, tmp_path: Path) -> None:
    run, out = str(shutil.copytree(plain.parent / "run", tmp_path / "run")), tmp_path / "new.jsonl"
    arguments = ["refilter", run, "--set", "process.4.min_num=1", "--export", str(out)]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    assert "of 61 rows were run again" in done.output and "words_num_filter" in done.output
    assert (tmp_path / "run-refiltered" / "refinery.duckdb").is_file()
    rows = done.output.partition(" rows read = ")[2].partition(" kept")[0]
    assert len(lines_of(out)) == int(rows)
    done = CliRunner().invoke(cli, ["refilter", run, "--set", "process.4.min_num=9", "--no-export", "--json"])
    said = json.loads(done.stdout)
    assert said["work_dir"].endswith("run-refiltered-2") and said["outputs"] == [] and said["rows_again"] <= 1
    chain = ["refilter", said["work_dir"], "--set", "process.4.min_num=5", "--export", str(tmp_path / "third.jsonl")]
    assert CliRunner().invoke(cli, chain).exit_code == 0
    keys = {"work_dir": str(tmp_path / "fresh"), "export_path": str(tmp_path / "fresh.jsonl")}
    refinery.run(plain, **keys, **{"process.4.min_num": 5})
    assert (tmp_path / "third.jsonl").read_bytes() == (tmp_path / "fresh.jsonl").read_bytes()
