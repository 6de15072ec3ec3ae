"""Files of a run stand apart from those of its user."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.errors import OutputError
from refinery.inspect.report.page import report
from refinery.inspect.why.query import RowHistories
from refinery.stats.folders import LocalFolder
from refinery.storage.run_folder import RunDir, seal
from tests.runs import content, refine, settings, texts, write_lines

SAMPLES = texts(["one@example.org", "no", "three"])
STEPS = ["clean_email_mapper", {"text_length_filter": {"min_len": 3}}]

MINE = (
    "recipe.yaml",
    "plan.json",
    "order.json",
    "manifest.json",
    "status.json",
    "parts/mine.txt",
    "log/run.log",
    ".running",
)


def test_an_export_beside_the_recipe_leaves_files_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refine(tmp_path / "elsewhere", SAMPLES, STEPS)
    recipe = settings(tmp_path / "elsewhere", STEPS, export_path="out.jsonl", use_cache=False)
    for name in MINE:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(recipe))
    for _ in range(2):
        assert refinery.run("recipe.yaml").counts.kept == 1
        assert {(tmp_path / name).read_text() for name in MINE} == {json.dumps(recipe)}


def test_a_run_of_an_earlier_version_is_still_opened(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, STEPS)
    new, old = run.work_dir / ".refinery", content(run)
    for name in os.listdir(new):
        shutil.move(new / name, run.work_dir / name)
    new.rmdir()
    assert RunDir.of_finished(run.work_dir).flat
    with RowHistories(run.work_dir) as histories:
        assert histories.of(1).fate == "removed"
    os.removexattr(run.outputs[0], "user.refinery")
    with pytest.raises(OutputError, match="out.jsonl: was not written by a run"):
        refinery.run(settings(tmp_path, STEPS))
    again = refinery.run(settings(tmp_path, STEPS), overwrite=True)
    assert content(again) == old and not RunDir.of_finished(run.work_dir).flat
    assert (run.work_dir / "manifest.json").exists(), "what an earlier version has left is not this run's to remove"


def test_a_folder_of_the_same_name(tmp_path: Path) -> None:
    own = tmp_path / "run" / ".refinery"
    own.parent.mkdir()
    for make in (own.mkdir, lambda: own.write_text("mine"), lambda: own.symlink_to(tmp_path)):
        make()
        if own.is_dir() and not own.is_symlink():
            (own / "mine.txt").write_text("mine")
        with pytest.raises(OutputError, match=r"\.refinery: .*Set another work_dir"):
            refine(tmp_path, SAMPLES, STEPS)
        shutil.rmtree(own) if own.is_dir() and not own.is_symlink() else own.unlink()


def test_traces_cannot_go_where_a_file_is(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "trace").write_text("mine")
    with pytest.raises(OutputError, match="trace: is a file, but traces need a folder"):
        refine(tmp_path, SAMPLES, STEPS, open_tracer=True)
    assert refine(tmp_path, SAMPLES, STEPS).counts.kept == 1


# Files that no run has written


RECIPE = [{"text_length_filter": {"min_len": 3}}]


@pytest.mark.parametrize(
    "name",
    [
        "out.jsonl",
        pytest.param("out_stats.jsonl", marks=pytest.mark.long),
        "refinery.duckdb",
        "trace/sample_trace-text_length_filter.jsonl",
    ],
)
def test_files_of_others_are_not_overwritten(tmp_path: Path, name: str) -> None:
    mine = tmp_path / "run" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("mine\n")
    with pytest.raises(OutputError, match=f"{name}: was not written by a run.*--overwrite") as caught:
        refine(tmp_path, SAMPLES, RECIPE, open_tracer=True)
    assert caught.value.exit_code == 6 and mine.read_text() == "mine\n" and not (tmp_path / "run/.refinery").exists()
    refinery.run(settings(tmp_path, RECIPE, open_tracer=True), overwrite=True)
    assert mine.read_bytes() != b"mine\n"
    again = refinery.run(settings(tmp_path, RECIPE, open_tracer=True))  # now it is the run's
    assert again.counts.kept == 2
    mine.write_text("mine, too\n")
    if name != "refinery.duckdb":
        with pytest.raises(OutputError, match="has changed since a run wrote it"):
            refinery.run(settings(tmp_path, RECIPE, open_tracer=True))


def test_files_of_others_stay_beside_those_of_a_run(tmp_path: Path) -> None:
    names = ("trace/sample_trace-other_mapper.jsonl", "trace/duplicate-mine.jsonl", "report.html", "trace/note.txt")
    names += (
        ".out.jsonl.0123456789abcdef.tmp",
        ".out.jsonl.999999999.tmp",
        ".refinery-999999999-abc/a",
        ".refinery.duckdb.1",
    )
    for name in names:
        (tmp_path / "run" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "run" / name).write_text("mine")
    for traced in (True, False):
        refine(tmp_path, SAMPLES, RECIPE, open_tracer=traced)
        assert {name for name in names if (tmp_path / "run" / name).read_text() != "mine"} == set()
        assert (tmp_path / "run" / "trace" / "sample_trace-text_length_filter.jsonl").exists() == traced


def test_numbered_files(tmp_path: Path) -> None:
    recipe = settings(tmp_path, RECIPE, export_shard_size=20)
    mine = tmp_path / "run" / "out-00-of-99.jsonl"
    mine.parent.mkdir()
    mine.write_text("mine")
    with pytest.raises(OutputError, match="out-00-of-99.jsonl: was not written by a run"):
        refine(tmp_path, SAMPLES, RECIPE, export_shard_size=20)
    mine.unlink()
    first = refinery.run(recipe)
    assert len(first.outputs) > 1 and refinery.run(recipe).outputs == first.outputs


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()}


def test_files_of_an_earlier_export_to_the_same_path_go(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    mine = {"kept-00-of-99.jsonl.bak", "kept-a-of-b.jsonl", "kept.csv"}
    for name in mine:
        (out / name).write_text("mine")
    keys: dict[str, Any] = {"export_path": out / "kept.jsonl", "work_dir": tmp_path / "run"}
    beside = {"kept_stats.jsonl"}
    samples = texts(f"sample {number}" for number in range(9))
    many = refine(tmp_path, samples, RECIPE, export_shard_size=50, **keys).outputs
    few = refinery.run(settings(tmp_path, RECIPE, export_shard_size=200, **keys)).outputs
    assert 1 < len(few) < len(many) and names_in(out) == mine | beside | {Path(path).name for path in few}
    refinery.run(settings(tmp_path, RECIPE, export_type="parquet", **keys))
    assert names_in(out) == mine | beside | {"kept.jsonl"}
    refinery.run(settings(tmp_path, RECIPE, export_shard_size=200, **keys))
    assert "kept.jsonl" not in names_in(out)
    refinery.run(settings(tmp_path, ["clean_email_mapper"], **keys))
    assert names_in(out) == mine | {"kept.jsonl"}, "no statistics of samples that are not there any more"


def test_another_export_path_is_another_export(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"work_dir": tmp_path / "run", "export_shard_size": 10}
    first = refine(tmp_path, SAMPLES, RECIPE, export_path=tmp_path / "run" / "kept.jsonl", **keys)
    path = tmp_path / "run" / "kept.parquet"
    refinery.run(settings(tmp_path, RECIPE, export_path=path, export_type="parquet", **keys))
    refinery.run(settings(tmp_path, RECIPE, export_path=path, export_type="parquet", work_dir=tmp_path / "run"))
    assert all(Path(file).exists() for file in first.outputs)


def test_files_of_an_earlier_export_that_have_changed_stay(tmp_path: Path) -> None:
    many = refine(tmp_path, SAMPLES, RECIPE, export_shard_size=10).outputs
    Path(many[0]).write_text("mine")
    refinery.run(settings(tmp_path, RECIPE))
    assert names_in(tmp_path / "run") >= {Path(many[0]).name, "out.jsonl"} and not Path(many[1]).exists()


def test_what_a_link_has_led_to_before_stays(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    link = tmp_path / "run" / "out.jsonl"
    for day in ("monday.jsonl", "tuesday.jsonl"):
        link.unlink(missing_ok=True)
        link.symlink_to(tmp_path / day)
        refine(tmp_path, SAMPLES, RECIPE)
    assert (tmp_path / "monday.jsonl").read_bytes() == (tmp_path / "tuesday.jsonl").read_bytes()


def test_files_of_others_that_overwrite_left_alone_are_not_the_run_s(tmp_path: Path) -> None:
    mine = tmp_path / "run" / "out-00-of-99.jsonl"
    mine.parent.mkdir()
    mine.write_text("mine")
    write_lines(tmp_path / "in.jsonl", SAMPLES)
    recipe = settings(tmp_path, RECIPE, export_shard_size=20)
    refinery.run(recipe, overwrite=True)
    with pytest.raises(OutputError, match="out-00-of-99.jsonl: was not written by a run"):
        refinery.run(recipe)
    refinery.run(settings(tmp_path, RECIPE))
    assert mine.read_text() == "mine"


def test_a_run_that_was_killed_while_it_published_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lines(tmp_path / "in.jsonl", SAMPLES)
    recipe = settings(tmp_path, RECIPE)
    child = os.fork()
    if not child:
        monkeypatch.setattr("refinery.results.database.Database.publish", lambda _: os._exit(9))
        refinery.run(recipe)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert (tmp_path / "run" / "out.jsonl").exists() and refinery.run(recipe).counts.kept == 2


def test_a_link_stays_and_leads_to_the_export(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "out.jsonl").symlink_to("../disk/there.jsonl")
    for _ in range(2):
        run = refine(tmp_path, SAMPLES, RECIPE)
        assert (tmp_path / "run" / "out.jsonl").is_symlink() and not (tmp_path / "disk" / "there.jsonl").is_symlink()
        assert len((tmp_path / "disk" / "there.jsonl").read_text().splitlines()) == 2 == run.counts.kept


def test_changes_that_another_program_has_not_put_into_the_tables(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, RECIPE)
    (run.work_dir / "refinery.duckdb.wal").write_bytes(b"changes")
    with pytest.raises(OutputError, match="refinery.duckdb.wal: another program"):
        refine(tmp_path, SAMPLES, RECIPE)


def test_statistics_of_others(tmp_path: Path) -> None:
    keys = {"stat_summary": {"groups": ["summary"], "export": str(tmp_path / "stats")}}
    first = refine(tmp_path, SAMPLES, RECIPE, **keys)
    [path] = (tmp_path / "stats").rglob("*.json")
    assert refine(tmp_path, SAMPLES, RECIPE, **keys).counts == first.counts
    path.write_text("{}")
    with pytest.raises(OutputError, match="00000.json: has changed since a run wrote it"):
        refine(tmp_path, SAMPLES, RECIPE, **keys)


def test_a_report_replaces_reports_alone(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, STEPS[:1])  # no statistics, so nothing to draw
    for output in (None, str(tmp_path / "page.html")):
        path = Path(output or run.work_dir / "report.html")
        path.write_text("mine")
        with pytest.raises(OutputError, match=r"\.html: was not written by a run"):
            report(run.work_dir, output)
        assert path.read_text() == "mine"
        path.unlink()
        assert report(run.work_dir, output) == report(run.work_dir, output) == path
    with pytest.raises(OutputError, match="it is a device"):
        report(run.work_dir, os.devnull)
    (run.work_dir / "report.html").write_text("mine")
    refine(tmp_path, SAMPLES, RECIPE)
    assert (run.work_dir / "report.html").read_text() == "mine"


def test_leftovers_of_a_merge_that_are_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / ".metric.json.2024").write_text("mine")
    (tmp_path / f".metric.json.{seal(tmp_path / 'metric.json')}.99").write_text("of a process that was killed")
    LocalFolder(tmp_path).write("metric.json", [b"{}"], False)
    assert sorted(os.listdir(tmp_path)) == [".metric.json.2024", "metric.json"]
