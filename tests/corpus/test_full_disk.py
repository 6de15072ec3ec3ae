"""A disk that is full at any moment of a change leaves the corpus as it was, and says what to do; the next change works."""

from __future__ import annotations

import errno
import os
import random
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from refinery.corpus import levels, merging, publish
from refinery.corpus.corpus import Corpus
from refinery.corpus.folder import CorpusFolder
from refinery.corpus.incremental import results, segments
from refinery.corpus.verification import verify
from refinery.errors import OutputError
from tests.corpus.living import Living, near_copies

STEPS = ["document_deduplicator", {"document_line_deduplicator": {"frequency_threshold": 3}}]
SYSTEM = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a/file")
DATABASE = duckdb.IOException('Could not write file "a/file": No space left on device')
COMMIT = duckdb.TransactionException('Failed to commit: Could not write file "a/file.wal": No space left on device')
# Functions that write, with an error of theirs.
MOMENTS: list[tuple[Any, str, Exception]] = [
    (segments, "_write", SYSTEM),
    (results, "written", SYSTEM),
    (publish.Publication, "_write", DATABASE),
    (merging._Merger, "_one", COMMIT),
    (publish, "write", SYSTEM),
    (CorpusFolder, "point", SYSTEM),
]


def raising(error: Exception) -> Callable[..., None]:
    def stop(*_: object, **__: object) -> None:
        raise error

    return stop


def test_a_full_disk_leaves_the_corpus_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "EACH", 2)  # the second change merges files of the first
    living = Living(tmp_path, STEPS)
    living.add(near_copies(random.Random(1), 8, 0))
    before, rows = living.kept(), near_copies(random.Random(2), 6, 100)
    for owner, name, error in MOMENTS:
        withdrawals = [lambda: living.withdraw_ids({1, 2})] if owner is publish else []
        for change in (lambda: living.add(rows), *withdrawals):
            with monkeypatch.context() as patch:
                patch.setattr(owner, name, raising(error))
                parts = [list(part) for part in living.parts]
                with pytest.raises(OutputError, match="No space left on device.*The corpus is as it was. Free some"):
                    change()
            living.parts = parts
        assert living.kept() == before, name
    living.add(rows)
    assert any("merged" in file.path for file in Corpus(living.place).manifest.additions)
    living.withdraw_ids({1, 2})
    living.require_promise()
    assert verify(CorpusFolder(living.place)).differences == ()


def test_a_small_disk(tmp_path: Path) -> None:
    """Copies of the input, the state and the snapshot on a disk that has room for the first add alone."""
    place = tmp_path / "corpus"
    place.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True)
    if mount.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        living = Living(tmp_path, STEPS)
        living.settings = replace(living.settings, copy=True)
        living.add(near_copies(random.Random(1), 8, 0))
        before, rows = living.kept(), near_copies(random.Random(2), 400, 100)
        with pytest.raises(OutputError, match="cannot be changed: No space left on device"):
            for more in range(20):
                before = living.kept()
                living.add([row | {"id": row["id"] + 1000 * more} for row in rows])
        living.parts.pop()
        assert living.kept() == before
        subprocess.run(["mount", "-o", "remount,size=40m", str(place)], check=True)
        living.add([row | {"id": -row["id"]} for row in rows])
        living.require_promise()
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
