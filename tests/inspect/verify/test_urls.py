"""`refinery verify` and `refinery card` where inputs and exports are objects at URLs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import refinery
from tests.commands import Call, caller
from tests.runs import settings, texts, write_lines
from tests.s3 import make_bucket, s3_server


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with s3_server():
        yield make_bucket("verified")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


def test_objects_are_downloaded_and_compared(call: Call, bucket: str, tmp_path: Path) -> None:
    import s3fs

    fs = s3fs.S3FileSystem(skip_instance_cache=True)
    local = write_lines(tmp_path / "a.jsonl", texts(["some text", "other text", "x"]))
    fs.put(str(local), f"{bucket}/in/a.jsonl")
    fs.put(str(local), f"{bucket}/in/b.jsonl")
    keys = {"dataset_path": f"{bucket}/in", "export_path": f"{bucket}/out/kept.jsonl", "work_dir": tmp_path / "run"}
    run = refinery.run(settings(tmp_path, [{"text_length_filter": {"min_len": 3}}], **keys, digests=True))
    code, out, err = call("verify", run.work_dir)
    assert code == 0, out + err
    files = json.loads((tmp_path / "run" / ".refinery" / "digests.json").read_text())["files"]
    assert [file["name"] for file in files if file["part"] == "inputs"] == ["a.jsonl", "b.jsonl"]
    code, out, err = call("card", run.work_dir, "--format", "markdown", "--out", "-")
    assert code == 0 and "Not measured: the export is at a URL" in out
    assert call("card", run.work_dir)[0] == 0
    card = json.loads((tmp_path / "run" / "card" / "croissant.json").read_text())
    recorded = {file["name"]: file["sha256"] for file in files if file["part"] == "outputs"}
    assert [file["sha256"] for file in card["distribution"]] == [recorded["kept.jsonl"]]
    assert card["distribution"][0]["contentUrl"] == f"{bucket}/out/kept.jsonl"
    with fs.open(f"{bucket}/out/kept.jsonl", "wb") as file:
        file.write(b'{"text": "forged"}\n')
    with fs.open(f"{bucket}/in/c.jsonl", "wb") as file:
        file.write(b'{"text": "new"}\n')
    fs.rm(f"{bucket}/in/b.jsonl")
    code, out, _ = call("verify", run.work_dir, "--json")
    problems = [(one["part"], one["problem"], one["name"]) for one in json.loads(out)["problems"]]
    assert code == 8
    assert problems == [
        ("inputs", "missing", "b.jsonl"),
        ("inputs", "new", "c.jsonl"),
        ("outputs", "differs", "kept.jsonl"),
    ]
