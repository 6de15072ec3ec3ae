"""Output of the commands of docs/deciding.md; tests/test_doc_blocks.py runs all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import caller
from tests.conftest import ROOT
from tests.test_docs import commands

PAGE = ROOT / "docs" / "deciding.md"


@pytest.mark.parametrize("heading", ["Compare two runs", "Analyze"])
def test_the_commands_of_a_section(
    heading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    call = caller(monkeypatch, capsys)
    listed = [arguments for arguments in commands(PAGE, heading) if "--html" not in arguments]  # on another run
    assert len(listed) == 3
    for arguments in listed:
        code, out, err = call(*arguments)
        assert code == 0, f"{arguments}\n{err}"
        if "--json" in arguments:
            assert {row["group"] for row in json.loads(out)["statistics"]} == {"summary", "length(text) > 1000"}
        if arguments[0] == "diff":
            assert "words_num_filter  min_num: 5 → 60" in out and "only by A" in out
