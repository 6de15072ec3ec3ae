"""`refinery verify`: files of a run, or copies of them elsewhere, against the digests that were recorded."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import refinery
from tests.commands import Call, caller
from tests.runs import refine, settings, texts, write_lines

STEPS = [{"text_length_filter": {"min_len": 3}}]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder `in puts` of two files, and a run over it whose export is cut into numbered files, with a word list."""
    folder = tmp_path_factory.mktemp("verify")
    for name in ("a.jsonl", "deep er/ü 'b'.jsonl"):
        write_lines(folder / "in puts" / name, texts([f"a text of {name}, number {at}" for at in range(30)]))
    steps = [
        *STEPS,
        {"sql_filter": {"where": "text NOT IN (SELECT word FROM '" + str(folder / "in puts" / "words.csv") + "')"}},
    ]
    (folder / "in puts" / "words.csv").write_text("word\nsome\n")
    refinery.run(settings(folder, steps, dataset_path=folder / "in puts", export_shard_size=1000, digests=True))
    return folder


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    """A copy of it all in another folder, in which only the run folder and what it is told to look at count."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


def outcome(call: Call, *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    code, out, _ = call("verify", *arguments, "--json")
    return code, json.loads(out)


def problems(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["part"], one["problem"], one["name"]) for one in found["problems"]]


def test_a_run_as_it_was_left(call: Call, made: Path) -> None:
    code, found = outcome(call, made / "run")
    assert code == 0 and found["ok"] and not found["problems"] and found["recorded"] == "at the end of the run"
    counts = {part["part"]: part["files"] for part in found["parts"]}
    assert counts["inputs"] == 2 and counts["side_files"] == 1 and counts["recipe"] == 1 and counts["outputs"] > 3
    written = json.loads((made / "run" / ".refinery" / "digests.json").read_text())
    for file in written["files"]:
        data = (made / "run" / file["path"]).read_bytes()
        assert (file["size"], file["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    names = {file["name"] for file in written["files"] if file["part"] == "inputs"}
    assert names == {"a.jsonl", "deep er/ü 'b'.jsonl"}
    assert call("verify", made / "run", "--root", written["root"])[0] == 0
    assert "models: the run has none" in call("verify", made / "run", "--only", "models")[1]
    code, _, err = call("verify", made / "run", "--root", "0" * 64)
    assert code == 3 and written["root"] in err


def test_every_changed_file_is_named(call: Call, copied: Path) -> None:
    inputs, outputs = copied / "in puts", copied / "run"
    same = (inputs / "a.jsonl").stat()
    data = bytearray((inputs / "a.jsonl").read_bytes())
    data[100] ^= 1
    (inputs / "a.jsonl").write_bytes(data)
    os.utime(inputs / "a.jsonl", ns=(same.st_atime_ns, same.st_mtime_ns))  # size and times do not show it
    (inputs / "deep er" / "ü 'b'.jsonl").unlink()
    (inputs / "c.jsonl").write_text('{"text": "new"}\n')
    (outputs / "out-00-of-07.jsonl").write_text('{"text": "new"}\n')
    code, found = outcome(call, copied / "run", "--inputs", inputs)
    assert code == 8 and not found["ok"]
    assert problems(found) == [
        ("inputs", "differs", "a.jsonl"),
        ("inputs", "new", "c.jsonl"),
        ("inputs", "missing", "deep er/ü 'b'.jsonl"),
        ("outputs", "new", "out-00-of-07.jsonl"),
    ]
    code, out, err = call("verify", copied / "run", "--inputs", inputs)
    assert code == 8 and "0 of 2 files as recorded" in out and "4 files are not as" in err
    assert call("verify", copied / "run", "--inputs", inputs, "--only", "recipe", "--only", "side_files")[0] == 0


def test_a_moved_run_folder_and_moved_trees(call: Call, copied: Path, tmp_path: Path) -> None:
    assert outcome(call, copied / "run")[0] == 0  # its outputs are those beside the moved database
    exported = sorted((copied / "run").glob("out*"))
    (tmp_path / "clean").mkdir()
    for path in exported:
        shutil.move(path, tmp_path / "clean")
    code, found = outcome(call, copied / "run")
    assert code == 8 and {one["problem"] for one in found["problems"]} == {"missing"}
    assert outcome(call, copied / "run", "--outputs", tmp_path / "clean", "--inputs", copied / "in puts")[0] == 0
    (tmp_path / "clean" / "out-9-of-9.jsonl").write_text("")
    code, found = outcome(call, copied / "run", "--outputs", tmp_path / "clean")
    assert code == 8 and problems(found) == [("outputs", "new", "out-9-of-9.jsonl")]


def test_digests_alone(call: Call, copied: Path, tmp_path: Path) -> None:
    alone = Path(shutil.copy(copied / "run" / ".refinery" / "digests.json", tmp_path / "received.json"))
    arguments = ("--inputs", copied / "in puts", "--outputs", copied / "run", "--only", "inputs", "--only", "outputs")
    code, found = outcome(call, alone, *arguments)
    assert code == 0 and [part for part, _ in found["not_searched"]] == ["inputs", "outputs"]
    assert outcome(call, alone, *arguments, "--only", "recipe")[0] == 8
    plain = json.loads(alone.read_text())
    plain["files"][0]["sha256"] = "0" * 64
    alone.write_text(json.dumps(plain))
    code, _, err = call("verify", alone, *arguments)
    assert code == 3 and "has been changed" in err
    alone.write_text('{"format": "other"}')
    code, _, err = call("verify", alone)
    assert code == 3 and "cannot be read as digests" in err


def test_digests_of_a_run_that_recorded_none(call: Call, tmp_path: Path) -> None:
    run = refine(tmp_path, texts(["some text", "too", "x"]), STEPS, removed_path=tmp_path / "gone.jsonl")
    code, _, err = call("verify", run.work_dir)
    assert code == 3 and "digests: true" in err and "--write" in err
    code, out, _ = call("verify", run.work_dir, "--write")
    assert code == 0 and "after the run" in out and "5 files" in out
    assert call("verify", run.work_dir)[0] == 0
    code, _, err = call("verify", run.work_dir, "--write")
    assert code == 3 and "recorded already" in err
    refine(tmp_path, texts(["some text", "too", "other"]), STEPS)  # its digests would be those of another run
    assert not (run.work_dir / ".refinery" / "digests.json").exists()
    (tmp_path / "in.jsonl").write_text('{"text": "changed"}\n')
    code, _, err = call("verify", run.work_dir, "--write")
    assert code == 3 and "has changed since the run" in err
    assert call("verify", tmp_path / "nothing")[0] == 2
    (tmp_path / "empty").mkdir()
    code, _, err = call("verify", tmp_path / "empty")
    assert code == 3 and "no finished run" in err


def test_a_folder_of_partitions(call: Call, tmp_path: Path) -> None:
    samples = [{"text": "some text", "lang": lang} for lang in ("en", "d/e", None)]
    run = refine(tmp_path, samples, STEPS, partition_by=["lang"], export_path=tmp_path / "out", digests=True)
    code, found = outcome(call, run.work_dir)
    assert code == 0 and {part["part"]: part["files"] for part in found["parts"]}["outputs"] >= 3
    (tmp_path / "out" / "lang=fr").mkdir()
    (tmp_path / "out" / "lang=fr" / "part.jsonl").write_text("{}\n")
    (tmp_path / "out" / "_SUCCESS").write_text("")
    code, found = outcome(call, run.work_dir)
    assert code == 8 and problems(found) == [("outputs", "new", "out/lang=fr/part.jsonl")]


def test_rows_handed_over_have_no_digest_and_that_is_shown(call: Call, tmp_path: Path) -> None:
    import pyarrow as pa

    recipe = {"process": STEPS, "work_dir": str(tmp_path), "export_path": str(tmp_path / "out.jsonl"), "digests": True}
    refinery.run(recipe, dataset=pa.table({"text": ["some text", "x"]}))
    code, out, _ = call("verify", tmp_path)
    assert code == 0 and "no digest of rows that a program has handed over" in out


def test_models_are_found_where_this_machine_has_them(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = tmp_path / "lists" / "stopwords.json"
    lists.parent.mkdir()
    lists.write_text('{"en": ["the", "and"]}')
    steps = [{"stopwords_filter": {"min_ratio": 0}}]
    run = refine(tmp_path, texts(["the text"]), steps, assets=str(lists.parent), digests=True)
    assert outcome(call, run.work_dir)[0] == 0
    shutil.move(lists.parent, tmp_path / "elsewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    code, found = outcome(call, run.work_dir, "--only", "models")
    assert code == 8 and [problem for _, problem, _ in problems(found)] == ["missing"]
    monkeypatch.setenv("REFINERY_ASSETS", str(tmp_path / "elsewhere"))
    assert outcome(call, run.work_dir, "--only", "models")[0] == 0
    (tmp_path / "elsewhere" / "stopwords.json").write_text('{"en": ["the", "or!"]}')
    assert outcome(call, run.work_dir, "--only", "models")[0] == 8
