"""An export on standard output, and what no export may take the place of."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import refinery
from refinery.cli.main import cli
from refinery.errors import OutputError, RecipeError
from tests.runs import refine, settings, texts, write_lines

SAMPLES = texts(["one", "no", "three"])
STEPS = [{"text_length_filter": {"min_len": 3}}]


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "in.jsonl", SAMPLES)
    (tmp_path / "recipe.json").write_text(json.dumps(settings(tmp_path, STEPS)))
    return "recipe.json"


@pytest.mark.parametrize(
    "name",
    [
        "-",
        pytest.param("/dev/stdout", marks=pytest.mark.long),
        "/dev/fd/1",
        pytest.param("/proc/self/fd/1", marks=pytest.mark.long),
    ],
)
def test_samples_alone_are_on_standard_output(recipe: str, tmp_path: Path, name: str) -> None:
    done = CliRunner().invoke(cli, ["run", recipe, f"--export_path={name}"])
    assert done.exit_code == 0 and [json.loads(line)["text"] for line in done.stdout.splitlines()] == ["one", "three"]
    assert "3 rows read = 2 kept" in done.stderr
    found = sorted(path.name for path in (tmp_path / "outputs" / "stdout").iterdir())
    assert found == [".refinery", "refinery.duckdb"]
    done = CliRunner().invoke(cli, ["run", recipe, f"--export_path={name}", "--json"])
    assert len(done.stdout.splitlines()) == 2 and json.loads(done.stderr)["rows"]["kept"] == 2


def test_nothing_is_printed_of_a_run_that_fails(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refinery.results.database.check_written", lambda *_: 1 / 0)
    done = CliRunner().invoke(cli, ["run", recipe, "--export_path=-"])
    assert done.exit_code != 0 and done.stdout == ""


def test_whoever_reads_may_have_enough(recipe: str, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["a long text " * 100] * 500))
    command = [sys.executable, "-m", "refinery", "run", recipe, "--export_path", "-", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().startswith(b"{")
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait() == 0


def test_a_program_gets_them_too(recipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = refinery.run(recipe, export_path="-")
    assert len(capsys.readouterr().out.splitlines()) == 2 == run.counts.kept


@pytest.mark.parametrize(("key", "value"), [("export_shard_size", 10), ("executor_type", "ray")])
def test_what_cannot_be_one_stream(tmp_path: Path, key: str, value: object) -> None:
    with pytest.raises(RecipeError, match="standard output"):
        refine(tmp_path, SAMPLES, STEPS, export_path="-", **{key: value})


def test_pipes_and_devices_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    os.mkfifo(tmp_path / "run" / "pipe.jsonl")
    (tmp_path / "run" / "link.jsonl").symlink_to("pipe.jsonl")
    (tmp_path / "run" / "null.jsonl").symlink_to(os.devnull)
    for name, what in (("pipe", "a pipe"), ("link", "a pipe"), ("null", "a device")):
        path = tmp_path / "run" / f"{name}.jsonl"
        before = (found := os.lstat(path)).st_mode, found.st_ino
        with pytest.raises(OutputError, match=f"cannot be written: it is {what}") as caught:
            refine(tmp_path, SAMPLES, STEPS, export_path=path)
        assert caught.value.exit_code == 6 and ((now := os.lstat(path)).st_mode, now.st_ino) == before
        with pytest.raises(OutputError, match=f"cannot be written: it is {what}"):
            refinery.run(settings(tmp_path, STEPS, export_path=path), overwrite=True)
    assert not (tmp_path / "run" / ".refinery").exists()


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to(os.devnull), lambda path: path.touch()])
def test_a_work_folder_that_is_none(tmp_path: Path, make: object) -> None:
    assert callable(make)
    make(tmp_path / "place")
    with pytest.raises(OutputError, match="place"):
        refine(tmp_path, SAMPLES, STEPS, work_dir=tmp_path / "place")


@pytest.mark.parametrize(
    "name", ["refinery.duckdb", "report.html", ".refinery/recipe.yaml", "trace/out.jsonl", "trace"]
)
def test_an_export_under_a_name_of_the_run(tmp_path: Path, name: str) -> None:
    keys = {"export_path": tmp_path / "run" / name, "work_dir": tmp_path / "run", "export_type": "jsonl"}
    with pytest.raises(OutputError, match="the run keeps files of its own here"):
        refine(tmp_path, SAMPLES, STEPS, **keys)
    assert not (tmp_path / "run").exists()
