"""The command line called in this process, in a folder of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refinery.cli import main

Call = Callable[..., tuple[int, str, str]]


def caller(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """A function that runs `refinery` with arguments: exit code, what stands on stdout, what on stderr."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["refinery", *map(str, arguments)])
        code: object = 0
        try:
            main.main()
        except SystemExit as end:
            code = end.code
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return (code if isinstance(code, int) else 0 if code is None else 1), out, err

    return run


def outcome_of(call: Call, *arguments: str | Path) -> Any:
    """The JSON output of a command."""
    code, out, err = call(*arguments, "--json")
    assert code == 0, err
    assert out.count("\n") == 1
    return json.loads(out)
