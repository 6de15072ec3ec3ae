"""Paths that the system does not take are refused with the path, wherever a run or a report writes."""

from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.errors import OutputError
from refinery.inspect.report.page import report
from tests.runs import settings, texts, write_lines

STEPS = [{"text_length_filter": {"min_len": 1}}]
LONG = "x" * 300


def odd_paths(folder: Path) -> list[str]:
    (folder / "loop").symlink_to("loop")
    return [str(folder / name) for name in ("loop", LONG, "in.jsonl/x", f"{LONG}/x", "loop/x")]


@pytest.mark.parametrize("key", ["export_path", "work_dir", "stat_summary", "temp_dir"])
def test_odd_paths_of_a_recipe(tmp_path: Path, key: str) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["a"]))
    for path in [*odd_paths(tmp_path), *([str(tmp_path / f"{LONG[:230]}.jsonl")] if key == "export_path" else [])]:
        keys: dict[str, Any] = {key: {"export": path} if key == "stat_summary" else path}
        given = settings(tmp_path, STEPS) | keys
        with pytest.raises(OutputError, match="cannot be written") as caught:
            refinery.run(given)
        assert path in str(caught.value)


def test_odd_paths_of_a_report(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["a"]))
    refinery.run(settings(tmp_path, ["clean_email_mapper"]))  # no statistics, so nothing to draw
    for path in odd_paths(tmp_path):
        with pytest.raises(OutputError, match="cannot be written"):
            report(tmp_path / "run", path)


@pytest.mark.parametrize("name", ["mine", "recipe.yaml"])
def test_a_folder_of_the_run_s_name_that_no_run_has_made_stays(tmp_path: Path, name: str) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["a"]))
    mine = tmp_path / "run" / ".refinery" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(OutputError, match="holds files that no run has written"):
        refinery.run(settings(tmp_path, STEPS))
    assert mine.read_text() == "mine"
