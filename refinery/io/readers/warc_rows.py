"""Samples of a web archive: the responses of servers, decoded, and the texts of conversion records (WET)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.io.batch import RAW_LIMIT, BadSample, Batch
from refinery.io.conform import conform
from refinery.io.limits import ReadLimits
from refinery.io.model import Source
from refinery.io.readers.charsets import page_of
from refinery.io.readers.http_body import BadBody, decoded
from refinery.io.readers.passed_over import pass_over
from refinery.io.readers.payload_types import is_text, media_type, payload_type
from refinery.io.readers.warc_archive import place_of, records_of
from refinery.io.readers.warc_text import MOST_HEADER, Damage, Record
from refinery.kernels.core.arrow import of_records

COLUMNS = pa.schema(
    [
        ("text", pa.string()),
        ("id", pa.string()),
        ("url", pa.string()),
        ("date", pa.string()),
        ("record_type", pa.string()),
        ("status", pa.int64()),
        ("content_type", pa.string()),
        ("payload_type", pa.string()),
        ("payload_digest", pa.string()),
        ("charset", pa.string()),
        ("charset_declared", pa.string()),
        ("charset_detected", pa.string()),
        ("replaced", pa.int64()),
        ("truncated", pa.string()),
    ]
)
_READ = (b"response", b"conversion")
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([^;\"'\s]+)", re.IGNORECASE)
_STATUS = re.compile(rb"(HTTP/\d|ICY[ \r\n])")


class _Unreadable(ValueError):
    """A whole record whose payload cannot be read."""


def read_records(source: Source, start: int, end: int, schema: pa.Schema, limits: ReadLimits) -> Iterator[Batch]:
    """Batches of the samples in the records of a file that begin in [start, end); line numbers are those of records."""
    pending = _Pending(source, schema)
    for at, item in records_of(source, start, end, limits.line):
        pending.add(at, item, limits.line)
        if pending.size >= limits.batch_bytes or pending.count >= limits.rows:
            yield pending.batch()
    if pending.count:
        yield pending.batch()


class _Pending:
    """Samples for the next batch. size: bytes of their texts."""

    def __init__(self, source: Source, schema: pa.Schema) -> None:
        self._source, self._schema = source, schema
        self._seen = self._records = 0
        self._start()

    def _start(self) -> None:
        self._samples: list[dict[str, Any]] = []
        self._rows: list[int] = []
        self._lines: list[int] = []
        self._bad: list[BadSample] = []
        self.size = 0

    @property
    def count(self) -> int:
        """Samples since the last batch, good and bad."""
        return len(self._rows) + len(self._bad)

    def add(self, at: int, item: Record | Damage, most: int) -> None:
        """Take a record: a sample, one that cannot be read, or one that is passed over."""
        self._records += 1
        if isinstance(item, Damage):
            self._add_bad(item.raw, f"{item.reason}; {place_of(self._source, at, item.at)}")
            return
        kind = item.fields.get(b"warc-type", b"").lower()
        if kind not in _READ:
            pass_over(f"{_text(kind) or 'no type'} records")
            return
        try:
            sample = sample_of(item, _text(kind), most)
        except _Unreadable as error:
            named = _text(item.fields.get(b"warc-record-id", b""))
            raw = (item.head + item.block)[:RAW_LIMIT]
            self._add_bad(raw, f"{error}; record {named} {place_of(self._source, at, item.at)}")
            return
        self._samples.append(sample)
        self._rows.append(self._seen)
        self._lines.append(self._records)
        self._seen += 1
        self.size += len(sample["text"])

    def _add_bad(self, raw: bytes, error: str) -> None:
        self._bad.append(BadSample(self._seen, self._records, raw, error))
        self._seen += 1

    def batch(self) -> Batch:
        """The samples since the last batch."""
        table = conform(of_records(self._samples, COLUMNS), self._schema, self._source.path, self._source.partitions)
        rows, lines, bad = np.array(self._rows, np.int64), np.array(self._lines, np.int64), self._bad
        self._start()
        return Batch(False, table, rows, lines, bad, self._records)


def sample_of(record: Record, kind: str, most: int) -> dict[str, Any]:
    """The sample of a record. Raises _Unreadable."""
    fields = record.fields
    sample: dict[str, Any] = {
        "id": _field(fields, b"warc-record-id"),
        "url": (_field(fields, b"warc-target-uri") or "").strip("<>") or None,
        "date": _field(fields, b"warc-date"),
        "record_type": kind,
        "status": None,
        "content_type": media_type(_field(fields, b"content-type")),
        "payload_digest": _field(fields, b"warc-payload-digest"),
        "truncated": _field(fields, b"warc-truncated") or ("segment" if b"warc-segment-number" in fields else None),
    }
    payload, header = record.block, _field(fields, b"content-type")
    if kind == "response" and (media_type(header) or "").startswith("application/http"):
        payload, header = _response(record, sample, most)
    sample["payload_type"] = payload_type(
        payload, media_type(_field(fields, b"warc-identified-payload-type")), media_type(header)
    )
    return sample | _decoded(payload, header)


def _decoded(payload: bytes, header: str | None) -> dict[str, Any]:
    """The columns of the text; a payload that is no text has an empty one and no charset."""
    if not is_text(payload, media_type(header)):
        nothing = dict.fromkeys(("charset", "charset_declared", "charset_detected", "replaced"))
        return {"text": "", **nothing}
    match = _CHARSET.search(header or "")
    page = page_of(payload, match[1] if match else None)
    return {
        "text": page.text,
        "charset": page.charset,
        "charset_declared": page.declared,
        "charset_detected": page.detected,
        "replaced": page.replaced,
    }


def _response(record: Record, sample: dict[str, Any], most: int) -> tuple[bytes, str | None]:
    """The body of an HTTP response without its codings, and its Content-Type; adds what the header says to the sample."""
    from fastwarc.warc import WarcRecord

    if not _STATUS.match(record.block):
        raise _Unreadable(f"its block is no HTTP response, but begins with {record.block[:20]!r}")
    head = record.head if record.head.endswith(b"\r\n\r\n") else re.sub(rb"\r?\n", b"\r\n", record.head)
    try:
        parsed = WarcRecord.from_bytes(head + record.block + b"\r\n\r\n")
        parsed.parse_http(auto_decode="none", max_header_len=MOST_HEADER, quirks_mode=True)
        body = parsed.reader.read()
    except OSError as error:
        raise _Unreadable(f"its HTTP header cannot be read ({str(error)[:200]})") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Rust, which is no Exception
            raise
        raise _Unreadable(f"its HTTP header cannot be read ({str(error)[:200]})") from error
    http = parsed.http_headers
    if http is None:
        raise _Unreadable("its header makes it no HTTP response")
    values: dict[str, list[str]] = {}
    for name, value in http.items():
        values.setdefault(name.lower(), []).append(value)
    sample["status"] = http.status_code
    header = values.get("content-type", [None])[0]
    sample["content_type"] = media_type(header)
    transfer, content = (
        ",".join(values.get(name, [])).split(",") for name in ("transfer-encoding", "content-encoding")
    )
    try:
        body, whole = decoded(body, transfer, content, most)
    except BadBody as error:
        raise _Unreadable(str(error)) from error
    sample["truncated"] = sample["truncated"] or (None if whole else "body")
    return body, header


def _field(fields: Mapping[bytes, bytes], name: bytes) -> str | None:
    return _text(fields[name]) if name in fields else None


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
