"""Errors of the operating system name the file that they are about, as an input or as an output."""

from __future__ import annotations

from pathlib import Path

import pytest

from refinery.errors import DataError, OutputError
from refinery.results.disk_space import explained


@pytest.mark.parametrize("name", ["in.jsonl", "lib/z.zip", "lib/z.zip/zm.py"])
def test_an_error_over_an_input_is_not_one_of_the_output(tmp_path: Path, name: str) -> None:
    inputs = (str(tmp_path / "in.jsonl"), str(tmp_path / "lib" / "z.zip"))
    with pytest.raises(DataError, match=f"{name}: cannot be read: Not a directory"), explained("run", inputs):
        raise NotADirectoryError(20, "Not a directory", str(tmp_path / name))


@pytest.mark.parametrize("name", ["run/out.jsonl", "in.jsonl.tmp", None])
def test_any_other_is(tmp_path: Path, name: str | None) -> None:
    with pytest.raises(OutputError, match="run: cannot be written"), explained("run", (str(tmp_path / "in.jsonl"),)):
        raise PermissionError(13, "Permission denied", str(tmp_path / name) if name else None)
