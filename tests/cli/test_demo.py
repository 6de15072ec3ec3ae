"""`refinery demo`: the bundled recipe and its documents, copied into the current folder and run."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Call


def test_the_demo_runs_in_any_folder_and_is_repeated_as_a_recipe(folder: Path, call: Call) -> None:
    first = call("demo")
    assert first.code == 0 and "524 rows read = 423 kept + 89 removed + 12 quarantined" in first.out
    assert "refinery run web_sample.yaml" in first.err
    kept = Path("outputs/web_sample/web_sample.jsonl").read_bytes()
    again = call("run", "web_sample.yaml", "--json")
    assert json.loads(again.out)["rows"]["kept"] == 423
    assert Path("outputs/web_sample/web_sample.jsonl").read_bytes() == kept
    assert call("demo").code == 0  # the same files


def test_the_demo_overwrites_no_file(folder: Path, call: Call) -> None:
    Path("web_sample.yaml").write_text("mine", encoding="utf-8")
    done = call("demo")
    assert done.code == 6 and "web_sample.yaml: exists" in done.err
    assert Path("web_sample.yaml").read_text(encoding="utf-8") == "mine"
    assert not Path("web_sample.jsonl").exists()
