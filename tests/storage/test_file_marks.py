"""Marks of files that runs and tracers have written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from refinery.storage.file_marks import is_growing, mark, mark_growing, marked, state_of

pytestmark = pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this system has no attributes of files")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "out.jsonl"
    path.write_text("{}\n")
    try:
        os.setxattr(path, "user.test", b"1")
    except OSError:
        pytest.skip("this file system has no attributes")
    return path


def test_a_mark_holds_the_state_of_its_file(path: Path) -> None:
    state = state_of(path)
    assert state is not None and marked(path) is None
    mark(path, state)
    assert marked(path) == state == state_of(path)
    path.write_text("{}\n{}\n")
    assert marked(path) == state != state_of(path)


def test_a_file_to_which_tracers_append(path: Path) -> None:
    assert not is_growing(path)
    mark_growing(path)
    assert is_growing(path) and marked(path) is None


@pytest.mark.parametrize("text", [b"", b"no JSON", b"[1]", b"{}", b'["a", "b"]'])
def test_other_attributes_are_no_marks(path: Path, text: bytes) -> None:
    os.setxattr(path, "user.refinery", text)
    assert marked(path) is None and not is_growing(path)


def test_a_missing_file_has_no_mark(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    mark(missing, (1, 2))
    mark_growing(missing)
    assert (state_of(missing), marked(missing)) == (None, None)
