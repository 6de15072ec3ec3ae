"""Removing one file of a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from refinery.storage.open import open_store


@pytest.mark.parametrize("kind", ["memory", "local"])
def test_one_file_goes_and_no_other(tmp_path: Path, kind: str) -> None:
    store = open_store("memory://discarding/x" if kind == "memory" else str(tmp_path))
    for name in ("a.jsonl", "a.jsonl.old"):
        store.write_text(name, name)
    store.discard("a.jsonl")
    store.discard("never")
    assert store.names() == ["a.jsonl.old"] and store.read_text("a.jsonl.old") == "a.jsonl.old"
    aside = store.scratch() / "new"
    aside.write_text("put")
    store.put(aside, "b")
    assert aside.read_text() == "put" and store.read_text("b") == "put"
