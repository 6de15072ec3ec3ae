"""Runs on a cluster whose processes stand in another folder, where other files have the names that a recipe gives."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from click.testing import CliRunner

from refinery.cli.main import cli
from refinery.errors import DataError, OperatorError
from refinery.execution.ray import environment
from refinery.io import input_files
from refinery.io.model import Shard, Source
from refinery.storage.run_folder import RunDir
from tests.runs import lines_of, operator_folder, write_lines
from tests.sampling import named

RECIPE = {
    "dataset_path": "in/*.jsonl",
    "export_path": "out/kept",
    "work_dir": "out/work",
    "temp_dir": "spill",
    "operators": ["own"],
    "np": 2,
    "shard_size": 4000,
    "stat_summary": {"export": "out/stats"},
    "process": [
        {"stamped_mapper": {}},
        {"words_num_filter": {"min_num": 1}},
        {"flagged_words_filter": {"flagged_words_dir": "words", "max_ratio": 0.1}},
        {"sql_filter": {"where": "id IN (SELECT id FROM 'allowed.csv')"}},
        {"document_deduplicator": {"index": "seen"}},
    ],
}


def project(folder: Path, mark: str, flagged: str, allowed: range) -> None:
    """Everything that the recipe names by relative paths; texts say whose they are."""
    rows = [{"id": n, "text": f"{mark} sample number {n} with {'spam' if n % 7 == 0 else 'salt'}"} for n in range(200)]
    write_lines(folder / "in" / "a.jsonl", rows[:100])
    write_lines(folder / "in" / "b.jsonl", rows[100:])
    operator_folder(folder / "own", stamped=f"return text + ' {mark}' + open('note.txt').read()")
    (folder / "note.txt").write_text(f" note of {mark}")
    (folder / "words").mkdir()
    (folder / "words" / "flagged_words.json").write_text(json.dumps({"en": [flagged]}))
    (folder / "allowed.csv").write_text("id\n" + "".join(f"{n}\n" for n in allowed))


@pytest.fixture
def decoys(cluster: Any, elsewhere: Path) -> Iterator[Path]:
    project(elsewhere, "decoy", "salt", range(3))
    yield elsewhere
    for path in list(elsewhere.iterdir()):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "refinery", "run", "recipe.yaml", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def run_here(folder: Path, *options: str) -> str:
    """Output of the command, run by this process."""
    with chdir(folder):
        done = CliRunner().invoke(cli, ["run", "recipe.yaml", *options])
    assert done.exit_code == 0, done.output
    return done.output


def run_apart(folder: Path, *options: str) -> str:
    """Output of the command, run by a process that joins the cluster by itself."""
    done = run(folder, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kept(folder: Path) -> list[Any]:
    files = sorted(folder.glob("*")) if folder.is_dir() else [folder]
    return [sample for path in files for sample in lines_of(path)]


@pytest.mark.parametrize("command", named({"here": run_here, "apart": run_apart}, "here"))
def test_all_is_that_of_the_folder_of_the_run(
    cluster: Any, driver: Any, decoys: Path, tmp_path: Path, command: Callable[..., str]
) -> None:
    project(tmp_path, "mine", "spam", range(10, 150))
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(RECIPE))
    assert driver.get(driver.remote(lambda: os.getcwd()).remote()) == str(decoys)
    before = {path: path.read_bytes() for path in decoys.rglob("*") if path.is_file()}
    said = command(tmp_path, "--executor_type", "ray", "--ray_address", cluster.address)
    found = kept(tmp_path / "out" / "kept")
    assert [sample["id"] for sample in found] == [n for n in range(10, 150) if n % 7]
    assert all(sample["text"].endswith(" mine note of mine") and "decoy" not in sample["text"] for sample in found)
    assert {path: path.read_bytes() for path in decoys.rglob("*") if path.is_file()} == before
    assert f"kept samples   {Path('out', 'kept')}" in said.replace("\n", " ")
    shutil.rmtree(tmp_path / "seen")
    options = ["--work_dir", "here", "--export_path", "here/kept.jsonl", "--stat_summary.export", "here/stats"]
    run_here(tmp_path, *options)
    assert kept(tmp_path / "here" / "kept.jsonl") == found


@pytest.mark.long
def test_options_are_relative_to_the_folder_of_the_run(cluster: Any, decoys: Path, tmp_path: Path) -> None:
    project(tmp_path, "mine", "spam", range(200))
    plain = {"process": ["clean_email_mapper"], "executor_type": "ray", "ray_address": cluster.address}
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(plain))
    done = run(tmp_path, "--dataset_path", "in/b.jsonl", "--set", "export_path=./kept", "--work_dir", "work")
    assert done.returncode == 0, done.stderr
    assert [sample["id"] for sample in kept(tmp_path / "kept")] == list(range(100, 200))
    with duckdb.connect(str(tmp_path / "work" / "refinery.duckdb"), read_only=True) as con:
        assert con.execute("SELECT DISTINCT file FROM shards").fetchall() == [(str(tmp_path / "in" / "b.jsonl"),)]
    written = yaml.safe_load(RunDir(tmp_path / "work").recipe.read_text())
    assert written["work_dir"] == str(tmp_path / "work") and written["export_path"] == str(tmp_path / "kept")


def test_a_machine_without_the_folder_finds_no_file_of_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "note.txt").touch()
    monkeypatch.chdir(tmp_path)
    with environment.standing_in(str(tmp_path / "missing")):
        assert not Path("note.txt").exists()
    assert Path("note.txt").exists()


def test_a_machine_with_other_files_refuses(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.jsonl", [{"text": "a"}])
    shard = Shard(0, (Source(str(path), "jsonl", None, ".jsonl", path.stat().st_size),))
    seen = input_files.facts_of(shard)
    input_files.check_files(seen)
    write_lines(path, [{"text": "a decoy"}])
    with pytest.raises(DataError, match=r"in.jsonl: the machine .* has 20 bytes .* it is 14 bytes. Give all machines"):
        input_files.check_files(seen)
    path.unlink()
    with pytest.raises(DataError, match="has nothing"):
        input_files.check_files(seen)


def test_a_machine_with_other_code_or_lists_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from refinery.operators import Library
    from refinery.recipe import Step

    words = tmp_path / "flagged_words.json"
    words.write_text('{"en": ["a"]}')
    steps = [Step(1, "flagged_words_filter", {"flagged_words_dir": str(tmp_path)})]
    described = environment.described([], steps, Library())
    environment.check(described)
    words.write_text('{"en": ["b"]}')
    with pytest.raises(OperatorError, match="has another file or folder there. Give all machines the same files"):
        environment.check(described)
    other = json.loads(environment.described([], [], Library()))
    other["code"] |= {"duckdb": "0.1", "operators": "x"}
    with pytest.raises(OperatorError, match=r"has duckdb [\d.]+.*, not 0.1 and other operators of refinery"):
        environment.check(json.dumps(other))


def test_a_machine_with_another_version_of_an_operators_library_refuses(tmp_path: Path) -> None:
    """Of one that code of a user imports; those that all recipes use are in the code."""
    from refinery.operators import Library

    folder = operator_folder(tmp_path / "own", own="import click\nreturn text")
    [function] = Library((folder,)).operators["own_mapper"].functions
    wanted = json.loads(environment.described([function], [], Library()))
    assert "click" in wanted["libraries"]
    environment.check(json.dumps(wanted))
    wanted["libraries"]["click"] = "0.1"
    with pytest.raises(OperatorError, match=r"has click [\d.]+, not 0.1. Install the same on every machine"):
        environment.check(json.dumps(wanted))
    wanted["libraries"] = {"no-such-library": "0.1"}
    with pytest.raises(OperatorError, match=r"has no-such-library none, not 0.1"):
        environment.check(json.dumps(wanted))
