"""Commands of `refinery` in this process: exit code, and what is printed."""

from __future__ import annotations

import gc
import io
import json
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from refinery.cli.main import main
from refinery.common import redaction

Call = Callable[..., tuple[int, str, str]]


def exit_code(patch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    """Run `refinery` with arguments, as its script does. Garbage collection of this process is as before afterwards."""
    patch.setattr(sys, "argv", ["refinery", *map(str, arguments)])
    collection = gc.get_threshold()
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        gc.unfreeze()
        gc.set_threshold(*collection)
    return 0


def caller(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """A function that runs `refinery` with arguments: exit code, what stands on stdout, what on stderr."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        code = exit_code(monkeypatch, *arguments)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


def outcome_of(call: Call, *arguments: str | Path) -> Any:
    """The JSON output of a command."""
    code, out, err = call(*arguments, "--json")
    assert code == 0, err
    assert out.count("\n") == 1
    return json.loads(out)


def command(*arguments: str, folder: Path | None = None, **environment: str) -> tuple[int, str]:
    """Exit code of a command in a folder, and what it prints; it knows no secrets of commands before it."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(printed):
        patch.setattr(redaction, "_known", set())
        for name, value in environment.items():
            patch.setenv(name, value)
        if folder:
            patch.chdir(folder)
        return exit_code(patch, *arguments), printed.getvalue()
