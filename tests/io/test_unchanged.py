"""An input that changes while a run reads it: what was read would be parts of several files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import refinery
from refinery.errors import DataError
from tests.runs import operator_folder, settings, texts, write_lines

DEEDS = {
    "shorten": "os.truncate({path!r}, 40)",
    "remove": "os.path.exists({path!r}) and os.remove({path!r})",
    "replace": "os.path.exists({other!r}) and os.replace({other!r}, {path!r})",
    "lengthen": "open({path!r}, 'a').write('{{}}')",
}


def recipe(folder: Path, deed: str) -> dict[str, object]:
    """Of a run whose operator does something to the file that is read."""
    path = write_lines(folder / "in.jsonl", texts(f"text {k}" for k in range(20)))
    other = write_lines(folder / "other.jsonl", texts(f"another text {k}" for k in range(20)))
    os.utime(path, ns=(0, 0))
    body = DEEDS[deed].format(path=str(path), other=str(other))
    operators = operator_folder(folder / "operators", **{deed: f"{body}\nreturn None"})
    return settings(folder, [f"{deed}_mapper"], operators=str(operators), workers="threads")


@pytest.mark.parametrize(
    ("deed", "message"),
    [("shorten", "is shorter than it was"), ("remove", "is gone"), ("replace", "is another file")],
)
def test_a_file_that_is_not_the_same_any_more_ends_the_run(tmp_path: Path, deed: str, message: str) -> None:
    with pytest.raises(DataError, match=f"in.jsonl: {message}"):
        refinery.run(recipe(tmp_path, deed))
    assert not (tmp_path / "run" / "out.jsonl").exists() and not (tmp_path / "run" / "refinery.duckdb").exists()


def test_what_is_added_meanwhile_is_told_of(tmp_path: Path) -> None:
    run = refinery.run(recipe(tmp_path, "lengthen"))
    assert run.counts.kept == 20
    assert [note for note in run.warnings if "was written to while the run read it" in note]
