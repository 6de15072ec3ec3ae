"""A store is chosen by the scheme of its URL, in one table; drivers' facts give versions by one list of fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from refinery.storage.local import LocalStore
from refinery.storage.object_versions import version_field, version_fields
from refinery.storage.open import STORES, open_store
from refinery.storage.remote import RemoteStore
from refinery.storage.urls import scheme_of


class KeptStore(LocalStore):
    """A kind of storage of its own."""


def test_schemes_choose_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STORES, "kept", lambda url: KeptStore(tmp_path / url.partition("://")[2]))
    assert type(open_store("kept://here")) is KeptStore
    assert type(open_store(str(tmp_path))) is LocalStore
    assert type(open_store("memory://opened")) is RemoteStore


def test_schemes() -> None:
    assert [scheme_of(place) for place in ("s3://bucket/a", "a/b", "/c:d")] == ["s3", "", ""]


def test_version_fields_by_preference() -> None:
    facts = {"mtime": 5, "ETag": "a", "size": 1, "created": None}
    assert version_fields(facts) == ["a", "5"] and version_field(facts) == "a" and version_field({}) == ""
