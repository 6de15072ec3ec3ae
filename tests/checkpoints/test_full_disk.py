"""A disk that is full ends a run with a clear error, and the next one goes on when there is room."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import refinery
from refinery.cli.main import main
from refinery.errors import OutputError
from tests.runs import exported, settings, texts, write_lines

STEPS = [
    {"sql_mapper": {"text": "text || '!'"}},
    {"document_deduplicator": None},
    {"text_length_filter": {"min_len": 3}},
]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of three megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], capture_output=True)
    if mount.returncode:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk(
    tmp_path: Path, small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lines(tmp_path / "in.jsonl", texts(f"{k:05} " + f"{k * k} " * 30 for k in range(6000)))
    recipe = settings(tmp_path, STEPS, work_dir=small / "run", export_path=small / "out.jsonl", shard_size=60_000)
    (tmp_path / "recipe.json").write_text(json.dumps(recipe))
    (small / "ballast").write_bytes(bytes(1_500_000))
    monkeypatch.setattr("sys.argv", ["refinery", "run", str(tmp_path / "recipe.json")])
    with pytest.raises(SystemExit) as ended:
        main()
    said = " ".join(capsys.readouterr().err.split())
    assert ended.value.code == 6 and "cannot be written: No space left on device" in said
    assert "and kept: run the same command again to continue" in said and "Traceback" not in said
    (small / "ballast").unlink()
    subprocess.run(["mount", "-o", "remount,size=40m", str(small)], check=True)
    run = refinery.run(recipe)
    assert run.sql("SELECT sum(reused) > 3 FROM shards").fetchall() == [(True,)] and len(exported(run)) == 6000


@pytest.mark.parametrize(
    "text",
    [
        'Could not write file "a": because of error: No space left on device',
        'Async write failed: {"exception_type":"IO","exception_message":"No space left on device","errno":"28"}',
        'Failed to commit: Could not write file "/a/run.wal": No space left on device',
    ],
)
def test_what_the_database_says_of_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    def full(*_: object) -> None:
        raise duckdb.IOException(text)

    monkeypatch.setattr("refinery.results.whole_tables.write_stats", full)
    write_lines(tmp_path / "in.jsonl", texts(["some text"]))
    with pytest.raises(OutputError, match=r"run: cannot be written: No space left on device\. Free some space"):
        refinery.run(settings(tmp_path, STEPS, work_dir=tmp_path / "run"))
