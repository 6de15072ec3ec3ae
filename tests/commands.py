"""Commands of `refinery` in this process: exit code, and everything that is printed."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from refinery.cli.main import main
from refinery.common import redaction


def command(*arguments: str, folder: Path | None = None, **environment: str) -> tuple[int, str]:
    """Exit code of a command in a folder, and what it prints; it knows no secrets of commands before it."""
    printed, code = io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(printed):
        patch.setattr(sys, "argv", ["refinery", *arguments])
        patch.setattr(redaction, "_known", set())
        for name, value in environment.items():
            patch.setenv(name, value)
        if folder:
            patch.chdir(folder)
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return code, printed.getvalue()
