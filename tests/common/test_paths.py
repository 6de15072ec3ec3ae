"""Paths made absolute as the system would read them, and shown shorter."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest

from refinery.common.paths import absolute, absolute_input, shorter


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.jsonl", "{here}/a.jsonl"),
        ("./a.jsonl", "{here}/a.jsonl"),
        (".//a/./b", "{here}/a/./b"),
        (".", "{here}"),
        ("./", "{here}"),
        ("data/", "{here}/data/"),
        ("../a", "{above}/a"),
        ("..", "{above}"),
        ("a/../b", "{here}/b"),
        ("/x/../y", "/y"),
        ("~/x", "{home}/x"),
        ("/x/y", "/x/y"),
        ("s3://bucket/../x", "s3://bucket/../x"),
        ("", ""),
    ],
)
def test_absolute(path: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/of-mine")
    assert absolute(path) == expected.format(here=tmp_path, above=tmp_path.parent, home="/home/of-mine")
    assert absolute(absolute(path)) == absolute(path)


def test_two_dots_behind_a_link_are_what_the_system_takes_them_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "far" / "folder").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "link").symlink_to(tmp_path / "far" / "folder")
    (tmp_path / "far" / "in.jsonl").touch()
    monkeypatch.chdir(tmp_path / "here")
    found = absolute("link/../in.jsonl")
    assert found == str(tmp_path / "far" / "in.jsonl") and os.path.samefile(found, "link/../in.jsonl")


def test_a_folder_whose_name_looks_like_a_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "run [1]"
    here.mkdir()
    (here / "a.jsonl").touch()
    (here / "b [2].jsonl").touch()
    monkeypatch.chdir(here)
    assert glob.glob(absolute_input("a.*")) == [str(here / "a.jsonl")]
    assert absolute_input("b [2].jsonl") == str(here / "b [2].jsonl")
    assert absolute_input("missing.jsonl") == str(here / "missing.jsonl")


def test_a_current_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert absolute("a.jsonl") == "a.jsonl" and absolute("/x") == "/x" and shorter("/x/y") == "/x/y"


def test_shorter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = str(tmp_path)
    assert shorter(f"{here}/a.jsonl:3: no such file, see {here}/b or '{here}/c'") == (
        "a.jsonl:3: no such file, see b or 'c'"
    )
    for same in (f"/other{here}/a", f"{here}-2/a", f"{here}", f"{here}/", f"s3://bucket{here}/a"):
        assert shorter(same) == same
    monkeypatch.chdir("/")
    assert shorter("/etc/x") == "/etc/x"
