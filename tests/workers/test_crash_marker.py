"""A run by threads that a crash has ended is followed by one that a crash cannot end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import refinery
from refinery.cli.main import cli
from refinery.workers import crash_marker
from refinery.workers.machine import out_of_memory_kills
from tests.runs import settings, texts, write_lines


def test_after_a_crash_the_next_run_uses_processes(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(f"text {k}" for k in range(30)))
    recipe = settings(tmp_path, ["clean_email_mapper"])
    path, note = tmp_path / "recipe.yaml", tmp_path / "run" / ".refinery" / ".running"
    path.write_text(yaml.safe_dump(recipe), encoding="utf-8")
    refinery.run(recipe)
    with pytest.raises(KeyError), crash_marker.noted(note):
        begun = note.read_text(encoding="utf-8")
        raise KeyError
    note.write_text(f"{begun}Fatal Python error: Segmentation fault\n", encoding="utf-8")
    again = CliRunner().invoke(cli, ["run", str(path)])
    assert again.exit_code == 0, again.output
    printed = " ".join(again.output.split())
    assert "the last run here was ended by a crash (Segmentation fault): workers are processes this time" in printed
    assert refinery.run(recipe).counts.kept == 30


def test_an_end_that_was_meant_is_no_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note = tmp_path / "run" / ".refinery" / ".running"
    assert crash_marker.died(note) == ""
    with crash_marker.noted(note):
        assert note.exists() and crash_marker.died(note) == ""  # as after SIGKILL
    assert not note.exists()
    with pytest.raises(KeyboardInterrupt), crash_marker.noted(note):
        raise KeyboardInterrupt
    assert not note.exists()
    note.write_text("damaged", encoding="utf-8")
    assert crash_marker.died(note) == ""


def test_a_kill_for_want_of_memory_is_known_by_the_kernels_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / ".running"
    monkeypatch.setattr(crash_marker, "out_of_memory_kills", lambda: 5)
    with crash_marker.noted(note):
        written = note.read_text(encoding="utf-8")
    note.write_text(written, encoding="utf-8")
    assert crash_marker.died(note) == ""
    monkeypatch.setattr(crash_marker, "out_of_memory_kills", lambda: 6)
    assert crash_marker.died(note) == "was killed for want of memory"
    note.write_text(json.dumps([5, "another start of the machine"]) + "\n", encoding="utf-8")
    assert crash_marker.died(note) == ""


def test_kills_are_counted_in_the_cgroup_first(tmp_path: Path) -> None:
    write = {
        "proc/self/cgroup": "0::/a/b\n",
        "sys/fs/cgroup/a/b/memory.events": "low 0\noom 3\noom_kill 2\n",
        "proc/vmstat": "pgfault 1\noom_kill 9\n",
    }
    for name, text in write.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert out_of_memory_kills(tmp_path) == 2
    (tmp_path / "sys/fs/cgroup/a/b/memory.events").unlink()
    assert out_of_memory_kills(tmp_path) == 9
