"""A run that could read little, or keeps nothing, says so loudly, with the reasons."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import pytest
from click.testing import CliRunner

import refinery
from refinery.cli.main import cli
from refinery.errors import DataError, UnreadableError
from refinery.storage.run_folder import RunDir
from tests.commands import caller
from tests.runs import settings, texts, write_lines

STEPS = [{"text_length_filter": {"min_len": 5}}, {"words_num_filter": {"min_num": 1}}]
BROKEN = ['{"text": null}', '{"text": 3}', "{broken", '{"text": null}']


def prepared(folder: Path, lines: list[Any], steps: Any = STEPS, **keys: Any) -> dict[str, Any]:
    path = write_lines(folder / "in.jsonl", lines)
    return settings(folder, steps, dataset_path=str(path), **keys)


def logged(folder: Path, name: str) -> list[dict[str, Any]]:
    text = (RunDir(folder).log / "run.jsonl").read_text(encoding="utf-8")
    return [found for line in text.splitlines() if (found := json.loads(line))["event"] == name]


def test_no_row_can_be_read(tmp_path: Path) -> None:
    recipe = prepared(tmp_path, BROKEN)
    with pytest.raises(UnreadableError, match="no row could be read, all 4 are in quarantine") as caught:
        refinery.run(recipe)
    assert isinstance(caught.value, DataError) and caught.value.exit_code == 3
    assert "2 not readable: 'text' is null, not a text (first " in str(caught.value)
    database = RunDir(tmp_path / "run").database
    with duckdb.connect(str(database), read_only=True) as con:  # the tables are there and say all
        assert con.execute("SELECT rows_read, rows_kept, rows_quarantined FROM runs").fetchall() == [(4, 0, 4)]
        assert con.execute("SELECT count(*) FROM quarantine WHERE step = 0").fetchall() == [(4,)]
    [alarm] = logged(tmp_path / "run", "unreadable")
    assert alarm["level"] == "ERROR" and (alarm["read"], alarm["unreadable"]) == (4, 4)
    assert alarm["reasons"][0]["rows"] == 2


def holds(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param({"export_path": "out.jsonl"}, marks=pytest.mark.long),
        pytest.param({"export_path": "out.parquet"}, marks=pytest.mark.long),
        {"export_path": "out.jsonl.gz", "export_shard_size": 40},
        pytest.param({"export_path": "out.json", "workers": "processes"}, marks=pytest.mark.long),
    ],
    ids=["jsonl", "parquet", "sharded", "processes"],
)
def test_a_run_that_can_read_no_row_leaves_the_export_as_it_is(tmp_path: Path, keys: dict[str, Any]) -> None:
    results = tmp_path / "results"
    keys = keys | {"export_path": str(results / keys["export_path"]), "work_dir": str(tmp_path / "run")}
    keys["stat_summary"] = {"export": str(results / "statistics")}
    good = prepared(tmp_path, texts(["long enough", "also long enough"] * 9), **keys)
    write_lines(tmp_path / "in.jsonl", BROKEN)
    for _ in range(2):
        with pytest.raises(UnreadableError):
            refinery.run(good)
        assert not holds(results)
    write_lines(tmp_path / "in.jsonl", texts(["long enough", "also long enough"] * 9))
    refinery.run(good)
    before = holds(results)
    assert len(before) >= 3  # the export, statistics of its samples, statistics files
    write_lines(tmp_path / "in.jsonl", BROKEN)
    with pytest.raises(UnreadableError):
        refinery.run(good)
    assert holds(results) == before
    manifest = json.loads(RunDir(tmp_path / "run").manifest.read_text())
    assert (manifest["outputs"], manifest["beside"], manifest["rows"]["quarantined"]) == ([], [], 4)
    refinery.run(good | {"max_quarantined": "100%"})
    assert holds(results) != before
    write_lines(tmp_path / "in.jsonl", texts(["long enough", "also long enough"] * 9))
    refinery.run(good)
    assert holds(results).keys() == before.keys()


def test_a_run_that_can_read_no_row_leaves_the_export_at_a_url(tmp_path: Path) -> None:
    objects = fsspec.filesystem("memory")
    keys = {"export_path": f"memory://{tmp_path.name}/out.jsonl", "work_dir": str(tmp_path / "run")}
    good = prepared(tmp_path, texts(["long enough", "also long enough"]), **keys)
    refinery.run(good)
    before = {path: objects.cat(path) for path in objects.find(f"/{tmp_path.name}")}
    assert len(before) == 2  # the export, statistics of its samples
    write_lines(tmp_path / "in.jsonl", BROKEN)
    with pytest.raises(UnreadableError):
        refinery.run(good)
    assert {path: objects.cat(path) for path in objects.find(f"/{tmp_path.name}")} == before


def test_a_run_that_can_read_no_row_writes_nothing_to_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.json").write_text(json.dumps(prepared(tmp_path, BROKEN, export_path="-")))
    code, out, err = caller(monkeypatch, capsys)("run", "r.json")
    assert (code, out) == (3, "") and "no row could be read" in err


@pytest.mark.parametrize("most", [4, "100%"])
def test_no_row_can_be_read_and_that_is_allowed(tmp_path: Path, most: Any) -> None:
    run = refinery.run(prepared(tmp_path, BROKEN, max_quarantined=most))
    assert run.counts.quarantined == 4 and run.warnings[0].startswith("no row could be read")


def test_most_rows_cannot_be_read(tmp_path: Path) -> None:
    run = refinery.run(prepared(tmp_path, [*texts(["long enough"]), *BROKEN]))
    assert run.counts.kept == 1
    assert run.warnings[0].startswith(
        "4 of 5 rows are in quarantine (4 could not be read): 2 not readable: 'text' is null"
    )
    assert [alarm["level"] for alarm in logged(tmp_path / "run", "unreadable")] == ["WARNING"]


def test_half_of_the_rows_is_not_most(tmp_path: Path) -> None:
    run = refinery.run(prepared(tmp_path, [*texts(["long enough"] * 4), *BROKEN]))
    assert not any("quarantine" in line for line in run.warnings)


def test_nothing_is_left(tmp_path: Path) -> None:
    run = refinery.run(prepared(tmp_path, [*texts(["a", "b", "c", "- - - -"]), "{broken"]))
    assert run.counts.kept == 0
    assert run.warnings[0].startswith("no row is left of 5: 3 by step 1 text_length_filter: text_len below min_len; ")
    assert "1 by step 2 words_num_filter" in run.warnings[0] and "1 not readable" in run.warnings[0]
    [alarm] = logged(tmp_path / "run", "nothing_kept")
    assert [(reason["step"], reason["rows"]) for reason in alarm["reasons"]] == [(1, 3), (0, 1), (2, 1)]


def test_the_input_is_empty(tmp_path: Path) -> None:
    run = refinery.run(prepared(tmp_path, []))
    assert "the input holds no sample" in run.warnings[0]
    assert logged(tmp_path / "run", "no_samples")


def test_the_command_line_says_it_on_standard_error(tmp_path: Path) -> None:
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(prepared(tmp_path, texts(["a"]))))
    for options in ([], ["--quiet"], ["--json"]):
        done = CliRunner().invoke(cli, ["run", str(path), *options])
        assert done.exit_code == 0 and done.stderr.count("warning: no row is left of 1: ") == 1
        assert "warning:" not in done.stdout


def test_an_analysis_of_what_cannot_be_read(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.jsonl", BROKEN)
    done = CliRunner().invoke(cli, ["analyze", str(path), "-o", str(tmp_path / "run")])
    assert isinstance(done.exception, UnreadableError)


def test_refilter_that_leaves_nothing(tmp_path: Path) -> None:
    refinery.run(prepared(tmp_path, texts(["long enough", "also long"])))
    done = CliRunner().invoke(cli, ["refilter", str(tmp_path / "run"), "--set", "process.1.min_len=50"])
    assert done.exit_code == 0 and "warning: no row is left of 2: 2 by step 1" in done.stderr


@pytest.mark.parametrize(
    ("data", "suffix", "reason"),
    [
        (
            '{"text": "hällo world"}\n'.encode("utf-16-le") * 9,
            "jsonl",
            "the file is UTF-16LE. Convert it: iconv -f UTF-16LE",
        ),
        ('{"text": "hello world"}\n'.encode("utf-16-be") * 9, "jsonl", "the file is UTF-16BE"),
        (b'{"text": "a"}\r{"text": "b"}\r' * 9, "jsonl", "lines end in CR without LF"),
        (gzip.compress(gzip.compress(b'{"text": "a"}\n')), "jsonl.gz", "the gzip data holds gzip data. Unpack it"),
        (b"id,text\n1,hello\n2,world\n", "jsonl", "If the file is a table, name it .csv"),
        (b"id\ttext\n1\thello, world\n", "jsonl", "If the file is a table, name it .tsv"),
    ],
    # Gzip data holds the time, and test processes must agree on the names.
    ids=["utf-16-le", "utf-16-be", "cr", "gzip twice", "csv", "tsv"],
)
def test_the_likely_cause_is_named(tmp_path: Path, data: bytes, suffix: str, reason: str) -> None:
    path = tmp_path / f"in.{suffix}"
    path.write_bytes(data)
    with pytest.raises(DataError, match=re.escape(reason)) as caught:
        refinery.run(settings(tmp_path, [{"text_length_filter": {"min_len": 1}}], dataset_path=path))
    assert caught.value.exit_code == 3


def test_no_cause_is_named_where_none_shows(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError) as caught:
        refinery.run(prepared(tmp_path, BROKEN))
    assert "Convert it" not in str(caught.value) and "name it" not in str(caught.value)


def test_a_file_that_is_not_read_to_its_end_is_said_loudly(tmp_path: Path) -> None:
    lines = b"".join(json.dumps({"text": f"some words {k}"}).encode() + b"\n" for k in range(100))
    second = bytearray(gzip.compress(lines))
    second[-6] ^= 1  # of the checksum
    (tmp_path / "bad.jsonl.gz").write_bytes(gzip.compress(lines * 3) + second)
    (tmp_path / "cut.json").write_text(json.dumps([{"text": f"more words {k}"} for k in range(20)])[:-1], "utf-8")
    inputs = [str(tmp_path / "bad.jsonl.gz"), str(tmp_path / "cut.json")]
    recipe = tmp_path / "recipe.json"
    recipe.write_text(json.dumps(settings(tmp_path, STEPS, dataset_path=inputs)), "utf-8")
    done = CliRunner().invoke(cli, ["run", str(recipe)], catch_exceptions=False)
    assert done.exit_code == 0 and (tmp_path / "run" / "out.jsonl").read_bytes().count(b"\n") >= 300
    found = logged(tmp_path / "run", "file_cut_short")
    assert [alarm["level"] for alarm in found] == ["WARNING"] * 2
    said = " ".join(done.stderr.split())
    assert "bad.jsonl.gz could not be read to its end" in said and "gzip -t" in said
    assert "cut.json could not be read to its end" in said and "the array is not closed" in said
