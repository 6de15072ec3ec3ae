"""Reuse of an earlier run's results by the next run in a folder, and its limits."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import refinery
from refinery.api import Run
from refinery.cli.main import cli
from refinery.dedup.barrier import Barrier
from refinery.errors import OutputError
from refinery.execution.open import open_recipe
from refinery.execution.run import begin_anew
from refinery.io.writers.temp_files import aside_of
from refinery.storage.run_folder import RunDir, seal
from refinery.workers.worker import Worker
from tests.runs import content, exported, operator_folder, settings, texts, write_lines
from tests.sampling import named, sampled

# Two stages: texts are written between them, and the export by all shards of the second.
STEPS: list[Any] = [
    {"sql_mapper": {"text": "replace(text, 'x', 'y')"}},
    {"text_length_filter": {"min_len": 12}},
    {"document_deduplicator": None},
    {"text_length_filter": {"min_len": 14}},
]
SAMPLES = texts(f"text {k % 200} " + "x" * (k % 9) for k in range(300))
SIZE = 1_800


def asked(folder: Path, steps: list[Any] = STEPS, **keys: Any) -> dict[str, Any]:
    if not (folder / "in.jsonl").exists():
        write_lines(folder / "in.jsonl", [*SAMPLES, "broken"])
        long_ago = time.time_ns() - 10**12
        os.utime(folder / "in.jsonl", ns=(long_ago, long_ago))
    source = folder / "source"
    path = source.read_text() if source.exists() else str(folder / "in.jsonl")
    return settings(folder, steps, **{"dataset_path": path, "shard_size": SIZE, "np": 2, **keys})


def reused(run: Run) -> list[int]:
    """Stages that were there already, by shard."""
    return [count for (count,) in run.sql("SELECT reused FROM shards ORDER BY shard").fetchall()]


def left(run: Run) -> tuple[Any, bytes]:
    """Tables and export."""
    return content(run), run.outputs[0].read_bytes()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Any, bytes]]:
    """A folder with a finished run, to be copied, and what it has left."""
    folder = tmp_path_factory.mktemp("first")
    run = refinery.run(asked(folder))
    assert set(reused(run)) == {0} and len(reused(run)) > 5
    return folder, left(run)


@pytest.fixture
def first(finished: tuple[Path, Any]) -> Path:
    return finished[0]


@pytest.fixture
def plain(finished: tuple[Path, tuple[Any, bytes]]) -> tuple[Any, bytes]:
    return finished[1]


@pytest.fixture
def done(tmp_path: Path, first: Path) -> Path:
    """A copy of a folder with a finished run; the input has stayed where it was."""
    shutil.copytree(first, tmp_path, dirs_exist_ok=True)
    (tmp_path / "source").write_text(str(first / "in.jsonl"))
    return tmp_path


def all_of(run: Run) -> list[int]:
    return [2] * len(reused(run))


@pytest.mark.parametrize(
    "keys",
    named(
        {
            "nothing": {},
            "np": {"np": 1},
            "traces": {"open_tracer": True, "trace_num": 3},
            "project_name": {"project_name": "other"},
            "use_checkpoint": {"use_checkpoint": True},
        },
        "traces",
    ),
)
def test_what_changes_nothing_runs_nothing_again(
    first: Path, plain: tuple[Any, bytes], monkeypatch: pytest.MonkeyPatch, keys: dict[str, Any]
) -> None:
    export = (first / "run" / "out.jsonl").stat()
    monkeypatch.setattr(Worker, "run", None)
    monkeypatch.setattr(Barrier, "find", None)
    run = refinery.run(asked(first, **keys))
    assert reused(run) == all_of(run)
    without = ("runs", "trace", "changed") if keys else ()  # the view `changed` shows the texts of `trace`
    assert content(run, *without) == {table: rows for table, rows in plain[0].items() if table not in without}
    now = run.outputs[0].stat()
    assert (export.st_mtime_ns, export.st_ino) == (now.st_mtime_ns, now.st_ino)


def test_content_counts_and_not_its_place(done: Path, plain: tuple[Any, bytes]) -> None:
    """The input is another file with another time; only the shard whose quarantine names the file runs again."""
    (done / "source").unlink()
    run = refinery.run(asked(done))
    assert reused(run)[:-1] == all_of(run)[:-1] and run.outputs[0].read_bytes() == plain[1]
    assert run.sql("SELECT DISTINCT file FROM quarantine").fetchall() == [(str(done / "in.jsonl"),)]


@pytest.mark.long
def test_a_comment_and_a_moved_step_change_no_key(done: Path) -> None:
    recipe = done / "recipe.yaml"
    recipe.write_text(json.dumps(asked(done)))
    refinery.run(str(recipe))
    recipe.write_text("# a comment\n\n\n" + recipe.read_text())
    run = refinery.run(str(recipe))
    assert reused(run) == all_of(run)


def test_a_project_that_is_moved_with_its_runs_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are relative: all is reused, and tables name the files where they are."""
    before, after = tmp_path / "before", tmp_path / "after"
    asked(before)
    (before / "lists").mkdir()
    (before / "lists" / "stopwords.json").write_text('{"en": ["text"]}')
    steps = [*STEPS, {"stopwords_filter": {"stopwords_dir": "lists", "min_ratio": 0.1}}]
    keys = {"dataset_path": "in.jsonl", "export_path": "run/out.jsonl", "shard_size": SIZE, "np": 2}
    monkeypatch.chdir(before)
    first = refinery.run({**keys, "process": steps})
    monkeypatch.chdir(tmp_path)
    before.rename(after)
    monkeypatch.chdir(after)
    second = refinery.run({**keys, "process": steps})
    assert min(reused(second)) >= 1 and second.counts == first.counts
    assert second.sql("SELECT DISTINCT file FROM quarantine").fetchall() == [(str(after / "in.jsonl"),)]
    assert second.sql("SELECT DISTINCT file FROM shards").fetchall() == [(str(after / "in.jsonl"),)]


def test_a_changed_filter_runs_again_from_its_stage(done: Path, plain: tuple[Any, bytes], tmp_path: Path) -> None:
    steps = [*STEPS[:3], {"text_length_filter": {"min_len": 15}}]
    changed = refinery.run(asked(done, steps))
    assert reused(changed) == [1] * len(all_of(changed)) and len(changed.outputs[0].read_bytes()) < len(plain[1])
    keys = {"work_dir": tmp_path / "other", "export_path": tmp_path / "other.jsonl"}
    assert left(changed) == left(refinery.run(asked(done, steps, **keys)))
    back = refinery.run(asked(done))
    assert reused(back) == [1] * len(all_of(back)) and left(back) == plain


@pytest.mark.long
def test_a_changed_first_filter_runs_all_again(done: Path) -> None:
    run = refinery.run(asked(done, [STEPS[0], {"text_length_filter": {"min_len": 11}}, *STEPS[2:]]))
    assert set(reused(run)) == {0}


@pytest.mark.long
def test_a_changed_deduplicator_runs_again_from_there(done: Path) -> None:
    steps = [*STEPS[:2], {"document_deduplicator": {"lowercase": True}}, STEPS[3]]
    assert max(reused(refinery.run(asked(done, steps)))) < 2


def test_only_changed_files_run_again(tmp_path: Path) -> None:
    for name in "abc":
        write_lines(tmp_path / "in" / f"{name}.jsonl", texts(f"a text of {name}, number {k}" for k in range(50)))
    keys = {"dataset_path": tmp_path / "in", "shard_size": 3_000}
    refinery.run(asked(tmp_path, **keys))
    assert set(reused(refinery.run(asked(tmp_path, **keys)))) == {2}
    path = tmp_path / "in" / "b.jsonl"
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"number 7", b"number 8"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    run = refinery.run(asked(tmp_path, **keys))
    assert run.sql("SELECT file, max(reused) FROM shards GROUP BY 1 ORDER BY 1").fetchall() == [
        (str(tmp_path / "in" / f"{name}.jsonl"), count) for name, count in (("a", 2), ("b", 0), ("c", 2))
    ]
    other = refinery.run(asked(tmp_path, **keys, work_dir=tmp_path / "other", export_path=tmp_path / "other.jsonl"))
    assert left(run) == left(other)


def test_operators_and_assets_count_by_what_is_in_them(tmp_path: Path) -> None:
    operators = operator_folder(tmp_path / "ops", own="return text + '!'")
    lists = tmp_path / "lists"
    lists.mkdir()
    (lists / "stopwords.json").write_text('{"en": ["text"]}')
    steps: list[Any] = [{"own_mapper": None}, {"stopwords_filter": {"stopwords_dir": str(lists), "min_ratio": 0.1}}]
    recipe = asked(tmp_path, steps, operators=[str(operators)], workers="threads")
    run = refinery.run(recipe)
    kept = run.counts.kept
    assert kept and set(reused(refinery.run(recipe))) == {1}
    (lists / "stopwords.json").write_text('{"en": ["none"]}')
    assert set(reused(run := refinery.run(recipe))) == {0} and run.counts.kept == 0
    shutil.move(lists, tmp_path / "moved")
    (tmp_path / "moved" / "notes.txt").write_text("another file counts too")
    (tmp_path / "moved" / "notes.txt").unlink()
    steps[1]["stopwords_filter"]["stopwords_dir"] = str(tmp_path / "moved")
    assert set(reused(refinery.run(recipe | {"process": steps}))) == {1}


def test_broken_parts_run_again(done: Path, plain: tuple[Any, bytes]) -> None:
    parts = done / "run" / ".refinery" / "parts"
    flipped = parts / "stage_1" / "00001.jsonl"
    flipped.write_bytes(flipped.read_bytes().replace(b"text", b"test", 1))
    short = parts / "stage_1" / "00002.facts.parquet"
    short.write_bytes(short.read_bytes()[:-7])
    (parts / "stage_1" / "00003.rows.arrow").unlink()
    (parts / "stage_2" / "00004.done.json").write_text('{"key": "half of')
    run = refinery.run(asked(done))
    found = reused(run)
    assert left(run) == plain and found[1:5] == [1, 1, 1, 1] and set(found[:1] + found[5:]) == {2}


def test_a_broken_barrier_is_found_again(done: Path, plain: tuple[Any, bytes]) -> None:
    (done / "run" / ".refinery" / "parts" / "stage_1" / "duplicates_00000.parquet").write_bytes(b"PAR1")
    run = refinery.run(asked(done))
    assert left(run) == plain and reused(run) == all_of(run)


@pytest.mark.parametrize(
    "how", named({how: how for how in ("changed", "gone", "shorter", "touched", "in secret")}, "changed", "in secret")
)
def test_an_export_that_is_not_what_was_written(done: Path, plain: tuple[Any, bytes], how: str) -> None:
    export = refinery.run(asked(done)).outputs[0]
    data = export.read_bytes()
    if how in ("changed", "in secret"):
        before = export.stat()
        export.write_bytes(data[:-20] + b"?" + data[-19:])
        if how == "in secret":  # with its size and its time of before, as `cp -p` and `rsync -t` leave it
            os.utime(export, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif how == "gone":
        export.unlink()
    elif how == "shorter":
        export.write_bytes(data[: len(data) // 2])
    else:
        os.utime(export)
    if how != "gone":
        with pytest.raises(OutputError, match="has changed since a run wrote it"):
            refinery.run(asked(done))
    run = refinery.run(asked(done), overwrite=how != "gone")
    assert left(run) == plain
    one_again = sum(reused(run)) == 2 * len(reused(run)) - 1
    assert {"changed": one_again, "in secret": one_again, "gone": set(reused(run)) == {1}}.get(how, True)
    assert how != "touched" or reused(run) == all_of(run)
    assert sorted(path.name for path in export.parent.glob(".*")) == [".refinery"]


def test_another_export_path_takes_what_is_exported(done: Path, plain: tuple[Any, bytes]) -> None:
    refinery.run(asked(done))
    run = refinery.run(asked(done, export_path=done / "elsewhere.jsonl", work_dir=done / "run"))
    assert left(run) == plain and reused(run) == all_of(run) and (done / "run" / "out.jsonl").exists()


def freed(folder: Path) -> None:
    """Free what the run in a folder keeps, as the command `gc` does."""
    from refinery.checkpoints import gc

    [kept] = gc.find([folder])
    assert gc.free(kept)


@pytest.mark.parametrize(
    "end",
    [
        lambda folder: refinery.run(asked(folder, use_cache=False)),
        freed,
        lambda folder: begin_anew(open_recipe(asked(folder), {})[0].work_dir),
    ],
    ids=["use_cache", "gc", "anew"],
)
def test_files_of_others_beside_what_is_kept_stay(done: Path, end: Callable[[Path], Any]) -> None:
    parts = RunDir(done / "run").parts
    (parts / "of others").mkdir()
    others = [parts / "notes.txt", parts / "of others" / "run.json"]
    for path in others:
        path.write_text("mine")
    assert (parts / "stage_1").exists()
    end(done)
    assert sorted(path.name for path in parts.iterdir()) == ["notes.txt", "of others"]
    assert [path.read_text() for path in others] == ["mine", "mine"]


def test_without_cache_nothing_stays(done: Path) -> None:
    run = refinery.run(asked(done, use_cache=False))
    assert sum(reused(run)) > 0 and not (done / "run" / ".refinery" / "parts").exists()
    assert set(reused(refinery.run(asked(done)))) == {0}


@pytest.mark.long  # files_of_others_beside_what_is_kept_stay begins anew, too
def test_begin_anew(done: Path) -> None:
    recipe = asked(done)
    begin_anew(open_recipe(recipe, {})[0].work_dir)
    assert set(reused(refinery.run(recipe))) == {0}


@pytest.mark.parametrize(
    ("form", "suffix"), sampled([("zstd", ".jsonl.zst"), ("gzip", ".jsonl.gz"), ("lz4", ".jsonl.lz4")])
)
def test_compressed_parts(tmp_path: Path, plain: tuple[Any, bytes], first: Path, form: str, suffix: str) -> None:
    keys = {"cache_compress": form, "work_dir": tmp_path / form, "export_path": tmp_path / f"{form}.jsonl"}
    run = refinery.run(asked(first, **keys))
    assert left(run) == plain and (tmp_path / form / ".refinery" / "parts" / "stage_1" / f"00000{suffix}").exists()
    assert set(reused(refinery.run(asked(first, **keys)))) == {2}


@pytest.mark.long
def test_the_clock_does_not_matter(done: Path, plain: tuple[Any, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1)
    monkeypatch.setattr(time, "time", lambda: 1.0)
    refinery.run(asked(done))
    run = refinery.run(asked(done))
    assert reused(run) == all_of(run) and left(run) == plain


def test_a_place_that_cannot_be_written_is_said_before_work_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).startswith(str(tmp_path / "closed")))
    monkeypatch.setattr(Worker, "run", None)
    (tmp_path / "closed").mkdir()
    with pytest.raises(OutputError, match="closed/deep/out.jsonl: cannot be written: .*that you may write to"):
        refinery.run(asked(tmp_path, export_path=tmp_path / "closed" / "deep" / "out.jsonl"))
    assert not (tmp_path / "closed" / "deep").exists()


OURS = [("out.jsonl", "0123456789abcdef"), ("out_stats.jsonl", "999999999"), ("out-00-of-03.jsonl", "999999999")]


def test_unfinished_files_of_killed_runs_go(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / ".refinery" / "parts" / ".scratch" / "host-1").mkdir(parents=True)
    (run / ".refinery" / "status.json").write_text("{}")  # by this a run knows the folder for one of a run
    ours = [aside_of(str(run / name), owner) for name, owner in OURS]
    gone = [".refinery/parts/.scratch/host-1/half", *(os.path.basename(path) for path in ours)]
    (scratch := run / f".refinery.{seal(run)}.999999999.abc").mkdir()
    stay = [".out.jsonl.x.tmp", ".other.jsonl.0123456789abcdef.tmp", ".out.jsonl.0123456789abcdef.tmp"]
    stay += [".out_stats.jsonl.999999999.tmp", f".out.jsonl.{seal(run / 'other.jsonl')}.999999999.tmp"]
    for name in (*gone, *stay):
        (run / name).write_text("half")
    assert len(exported(refinery.run(asked(tmp_path)))) > 50
    assert [name for name in gone if (run / name).exists()] == [] and all((run / name).exists() for name in stay)
    assert not scratch.exists() and not (run / ".refinery" / "parts" / ".scratch").exists()


def test_gc(done: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from refinery.checkpoints import gc

    shutil.copytree(done / "run", done / "b" / "run")
    os.utime(done / "run" / ".refinery" / "parts" / "run.json", (1000, 1000))
    found = gc.find([done])
    assert [kept.folder for kept in found] == [done / "run", done / "b" / "run"] and all(kept.ended for kept in found)
    a, b = found
    assert gc.choose(found, None, None, 2000) == [a, b]
    assert gc.choose(found, None, 500, 2000) == [a] and gc.choose(found, None, 5000, 2000) == []
    assert gc.choose(found, b.bytes, None, 0) == [a] and gc.choose(found, a.bytes + b.bytes, None, 0) == []
    with RunDir(a.folder).held():
        assert gc.find([done])[0].live and not gc.free(a) and (a.folder / ".refinery" / "parts").exists()
        assert gc.choose(gc.find([done]), 0, None, 0) == gc.find([done])[1:]
    dry = CliRunner().invoke(cli, ["gc", str(done), "--age", "7d", "--dry-run"])
    assert dry.exit_code == 0 and dry.output.startswith("would free ") and f"{done / 'run'}\n" in dry.output
    assert gc.free(a) and not (a.folder / ".refinery" / "parts").exists() and (a.folder / "refinery.duckdb").exists()
    assert gc.seconds("7d") == 604800 and gc.seconds("30m") == 1800
    with pytest.raises(ValueError, match="no age"):
        gc.seconds("soon")


@pytest.mark.long
def test_gc_of_an_earlier_version(done: Path) -> None:
    from refinery.checkpoints import gc

    run = done / "run"
    refinery.run(asked(done))
    for path in (run / ".refinery").iterdir():
        path.rename(run / path.name)
    (run / ".refinery").rmdir()
    (run / "parts" / "mine.txt").write_text("mine")
    said = CliRunner().invoke(cli, ["gc", str(done)]).output
    assert "it also holds 'mine.txt'" in said and (run / "parts" / "stage_1").is_dir()
    (run / "parts" / "mine.txt").unlink()
    (run / "manifest.json").rename(run / "other.json")
    assert "there is no finished run beside it" in CliRunner().invoke(cli, ["gc", str(done)]).output
    (run / "other.json").rename(run / "manifest.json")
    [kept] = gc.find([done])
    assert kept.flat and kept.ended and "freed" in CliRunner().invoke(cli, ["gc", str(done)]).output
    assert not (run / "parts").exists() and (run / "manifest.json").exists() and not (run / ".refinery").exists()
