"""The recorded archive and pages: the same payloads as warcio's, the same texts as datatrove's, each page in its true charset."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from refinery.io.readers.charsets import detect, page_of
from tests.conformance.web_cases import WEB
from tests.io.hostile.everything import read_all
from tests.recorded_results import VARIABLE

pytestmark = [
    pytest.mark.recorded,
    pytest.mark.skipif(VARIABLE not in os.environ, reason="needs the larger set of recorded results"),
]
# Records of datatrove's that are no samples here, and the reason.
NOT_READ = {"truncated: the file ends within this record": "it is quarantined"}


def folder() -> Path:
    return WEB / "pages"


def recorded(name: str) -> Any:
    return json.loads((folder() / name).read_text(encoding="utf-8"))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def test_records_of_the_archive() -> None:
    good, [bad] = read_all(folder() / "sample.warc.gz")
    samples = {sample["id"]: sample for sample in good}
    index = {record["record_id"]: record for record in recorded("sample.warc.index.json")["records"]}
    wanted = [key for key, record in index.items() if record["type"] in ("response", "conversion")]
    assert [*samples] == wanted[:-1] and f"at byte {index[wanted[-1]]['offset']}" in bad.error
    by_warcio, by_fastwarc = (
        {one["record_id"]: one for one in recorded("sample.warc.read.json")[peer]} for peer in ("warcio", "fastwarc")
    )
    for key, sample in samples.items():
        if sample["charset"]:
            assert digest(sample["text"].encode(sample["charset"])) == by_warcio[key]["payload_sha256"]
        assert sample["url"] == by_fastwarc[key]["url"] and sample["date"] == by_warcio[key]["date"]
        assert str(sample["status"] or "") == by_warcio[key].get("status", "")


def test_documents_of_datatrove() -> None:
    samples = {sample["id"]: sample for sample in read_all(folder() / "sample.warc.gz")[0]}
    notes = {record["record_id"]: record["note"] for record in recorded("sample.warc.index.json")["records"]}
    for item in recorded("sample.warc.datatrove.json"):
        document, sample = item["document"], samples.get(item["record_id"])
        if document is None or notes[item["record_id"]] in NOT_READ:
            continue
        assert sample is not None
        assert (len(sample["text"]), digest(sample["text"].encode())) == (document["chars"], document["sha256"])


def test_charsets_of_pages() -> None:
    found = {one["id"]: one for one in map(json.loads, (folder() / "encoding.jsonl").read_text().splitlines())}
    for page in map(json.loads, (folder() / "pages.jsonl").read_text(encoding="utf-8").split("\n")[:-1]):
        data = (folder() / page["file"]).read_bytes()
        _, _, charset = page["content_type"].partition("charset=")
        read = page_of(data, charset or None)
        assert (read.text, read.replaced) == (data.decode(page["encoding"]), 0), page["id"]
        assert detect(data) == found[page["id"]]["resiliparse.detect_encoding"], page["id"]
