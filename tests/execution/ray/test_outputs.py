"""Partitioned exports and removed samples of a cluster are those of a run on this machine, in folders and at URLs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.api import Run
from refinery.storage.open import open_store
from tests.execution.ray.runs import in_parts, on_ray, samples
from tests.runs import rows, settings, write_lines
from tests.s3 import make_bucket
from tests.sampling import sampled

STEPS: list[Any] = [
    "clean_email_mapper",
    {"words_num_filter": {"min_num": 5}},
    "document_deduplicator",
    {"document_line_deduplicator": {"frequency_threshold": 20}},
    {"text_length_filter": {"min_len": 60}},
]
KEYS: dict[str, Any] = {
    "shard_size": 20_000,
    "np": 2,
    "partition_by": {"source": "meta.source", "long": "text_len > 200"},
    "export_type": "jsonl",
    "export_fields": {"*": True, "text": "content"},
    "repeat_by": "1 + length(text) % 3",
    "removed_partition_by": ["step", "meta.source"],
}


def local(folder: Path, name: str, steps: Any = STEPS, **keys: Any) -> Run:
    """The run on this machine, in `folder/<name>`."""
    return refinery.run(settings(folder, steps, **KEYS | {"work_dir": folder / name} | keys))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.jsonl"))}


def objects(url: str) -> dict[str, bytes]:
    store = open_store(url)
    return {name: Path(store.fetch(name)).read_bytes() for name in sorted(store.names())}


@pytest.mark.parametrize("parts", sampled([True, False]))
def test_folders_of_a_cluster(tmp_path: Path, driver: Any, monkeypatch: pytest.MonkeyPatch, parts: bool) -> None:
    write_lines(tmp_path / "in.jsonl", samples(120))
    here = local(tmp_path, "a", export_path=tmp_path / "a/kept", removed_path=tmp_path / "a/removed")
    if parts:
        in_parts(monkeypatch)
    there = on_ray(
        tmp_path, STEPS, **KEYS | {"export_path": tmp_path / "b/kept", "removed_path": tmp_path / "b/removed"}
    )
    assert files(tmp_path / "a/kept") and files(tmp_path / "a/kept") == files(tmp_path / "b/kept")
    assert files(tmp_path / "a/removed") and files(tmp_path / "a/removed") == files(tmp_path / "b/removed")
    assert rows(here, "ledger") == rows(there, "ledger")


def test_folders_at_urls(tmp_path: Path, storage: str) -> None:
    write_lines(tmp_path / "in.jsonl", samples(60))
    local(tmp_path, "a", export_path=tmp_path / "a/kept", removed_path=tmp_path / "a/removed")
    url = make_bucket("outputs")
    keys = {"export_path": f"{url}/kept", "removed_path": f"{url}/removed"}
    local(tmp_path, "remote", **keys)
    assert objects(f"{url}/kept") == files(tmp_path / "a/kept")
    assert objects(f"{url}/removed") == files(tmp_path / "a/removed")
    # Objects of an earlier run do not stay.
    local(tmp_path, "remote", STEPS[:3], **keys | {"partition_by": {"source": "meta.source"}})
    assert {name.split("/")[0] for name in objects(f"{url}/removed")} == {"removed_by=03_document_deduplicator"}
    assert sorted(objects(f"{url}/kept")) == [f"source={k}/part.jsonl" for k in range(3)]


def test_repeats_of_a_cluster(tmp_path: Path, driver: Any) -> None:
    write_lines(tmp_path / "in.jsonl", samples(60))
    keys = {"shard_size": 20_000, "np": 2, "repeat_by": "1 + length(text) % 3", "export_type": "jsonl"}
    here = refinery.run(
        settings(tmp_path, STEPS, **keys, export_path=tmp_path / "a/kept.jsonl", work_dir=tmp_path / "a")
    )
    there = on_ray(tmp_path, STEPS, **keys, export_path=tmp_path / "b/kept")
    parts = b"".join(Path(path).read_bytes() for path in there.outputs)
    assert here.repeats == there.repeats > 0
    assert parts == Path(here.outputs[0]).read_bytes()
