"""No two runs write one file at once, whatever they call it."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import refinery
from refinery.cli.main import cli
from refinery.errors import OutputError
from refinery.execution.open import open_recipe
from refinery.inspect.refilter.refilter import refilter
from refinery.results import targets
from refinery.results.locks import _folder, locked
from refinery.storage.run_folder import RunDir
from tests.runs import exported, lines_of, refine, settings, texts

SAMPLES = texts(["one", "no", "three"])
STEPS = [{"text_length_filter": {"min_len": 3}}]
NUMBERED = {"export_shard_size": 10}
PARTS = {"executor_type": "ray"}


def locks(folder: Path, export: str, **keys: Any) -> dict[str, bool]:
    (folder / "in.jsonl").touch()
    recipe, _ = open_recipe(settings(folder, STEPS, export_path=export, **keys))
    return targets.locks(recipe.outputs, [object()])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (("a/out.jsonl", {}), ("a/out.jsonl", {}), True),
        (("a/out.jsonl", {}), ("a/../a/./out.jsonl", {}), True),
        (("a/out.jsonl", {}), ("link/out.jsonl", {}), True),
        (("a/out.jsonl", {}), ("a/link.jsonl", {}), True),
        (("a/out.jsonl", {}), ("a/other.jsonl", {}), False),
        (("a/out.jsonl", {}), ("b/out.jsonl", {}), False),
        (("a/out.jsonl", {}), ("a/out.parquet", {}), True),  # their statistics
        (("a/out.jsonl", {}), ("a/out_stats.jsonl", {}), True),
        (("a/out.jsonl", NUMBERED), ("a/out-00-of-03.jsonl", {}), True),
        (("a/out.jsonl", NUMBERED), ("a/more-00-of-03.jsonl", {}), False),
        (("a/out-00-of-02.jsonl", {}), ("a/out-01-of-02.jsonl", {}), False),
        (("a/kept", PARTS), ("a/kept/part.jsonl", {}), True),
        (("a/kept", PARTS), ("a/kept/more", PARTS), True),
        (("a/kept", PARTS), ("a/other", PARTS), False),
        (("a/one.jsonl", {"stat_summary": {"export": "s", "rank": 1}}), ("b/o.jsonl", {"stat_summary": {"export": "./s", "rank": 1}}), True),
        (("a/one.jsonl", {"stat_summary": {"export": "s", "rank": 1}}), ("b/o.jsonl", {"stat_summary": {"export": "s", "rank": 2}}), False),
        (("-", {}), ("-", {}), False),
        (("a/out.jsonl", {"export_type": "none"}), ("a/out.jsonl", {}), False),
    ],
)  # fmt: skip
def test_what_meets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one: Any, other: Any, meet: bool) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("refinery.results.locks._PATIENCE", 0.05)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "a" / "link.jsonl").symlink_to("out.jsonl")
    a, b = (locks(tmp_path, path, **keys) for path, keys in (one, other))
    for first, second in ((a, b), (b, a)):
        with locked(first):
            if meet:
                with pytest.raises(OutputError, match="another run is writing here"), locked(second):
                    pass
            else:
                with locked(second):
                    pass
    with locked(a), locked({}):
        pass


def test_statistics_files_in_use_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("refinery.results.locks._PATIENCE", 0.05)
    of_rank = {"stat_summary": {"export": "ss", "rank": 3}}
    one, other = locks(tmp_path, "one.jsonl", **of_rank), locks(tmp_path, "other.jsonl", **of_rank)
    said = re.escape(f"statistics files of rank 3 in {tmp_path / 'ss'}: another run is writing here")
    with locked(one), pytest.raises(OutputError, match=said), locked(other):
        pass


def test_locks_leave_nothing_behind(tmp_path: Path) -> None:
    folder = _folder()
    assert folder is not None
    wanted = {f"folder:{tmp_path}": False, str(tmp_path / "x"): True}
    before = set(os.listdir(folder))
    with locked(wanted), locked({f"folder:{tmp_path}": False}):
        held = set(os.listdir(folder)) - before
        assert len(held) >= 2
    assert not held & set(os.listdir(folder))


def test_runs_that_share_a_folder_never_refuse_each_other(tmp_path: Path) -> None:
    """The last holder of a shared lock holds it alone for a moment, to remove its file."""
    shared = {f"folder:{folder}": False for folder in (tmp_path, *tmp_path.parents)}

    def come_and_go(_: int) -> int:
        for _ in range(200):
            with locked(shared):
                pass
        return 200

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(come_and_go, range(4))) == 800


def test_a_second_run_is_refused_while_the_first_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refinery.results.locks._PATIENCE", 0.05)
    first, second = (settings(tmp_path, STEPS, work_dir=tmp_path / name) for name in ("one", "two"))
    found: list[BaseException] = []

    def meanwhile(*_: int) -> None:
        with pytest.raises(OutputError, match="out.jsonl: another run is writing here") as caught:
            refinery.run(second)
        found.append(caught.value)

    refine(tmp_path, SAMPLES, STEPS, work_dir=tmp_path / "zero", export_path=tmp_path / "zero.jsonl")
    run = refinery.run(first, progress=meanwhile)
    assert found and run.counts.kept == 2
    assert not RunDir(tmp_path / "two").database.exists()
    refinery.run(
        second | {"process": [{"text_length_filter": {"min_len": 4}}]}
    )  # a later run may replace what a run wrote
    done = CliRunner().invoke(cli, ["why", "0", "--run", str(run.work_dir)])
    assert "out.jsonl has changed since this run wrote it" in done.stderr and done.exit_code == 0
    found = refilter(run.work_dir, ["process.1.min_len=2"], work_dir=str(tmp_path / "three"))
    assert any("out.jsonl has changed since this run wrote it" in note for note in found.notes)
    assert [row["text"] for row in lines_of(tmp_path / "three" / "out.jsonl")] == ["one", "no", "three"]


def test_a_file_that_comes_while_the_run_works_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "run" / "out.jsonl"

    def meanwhile(*_: int) -> None:
        path.write_text("of another machine")

    refine(tmp_path, SAMPLES, STEPS, work_dir=tmp_path / "zero", export_path=tmp_path / "zero.jsonl")
    with pytest.raises(OutputError, match="out.jsonl: was not written by a run"):
        refinery.run(settings(tmp_path, STEPS), progress=meanwhile)
    assert path.read_text() == "of another machine" and not (tmp_path / "run" / "refinery.duckdb").exists()
    path.unlink()
    assert len(exported(refinery.run(settings(tmp_path, STEPS)))) == 2
