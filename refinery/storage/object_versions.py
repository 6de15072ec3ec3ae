"""Versions of objects, by the facts of a driver."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from refinery.storage.urls import scheme_of

# Version fields of an object in a store, in order of preference. Lists of owned objects hold them: the order stays.
_VERSIONS = ("ETag", "etag", "md5Hash", "LastModified", "updated", "last_modified", "mtime", "created")
# Version fields of an input: digests of its contents, wherever it is (S3's tag counts as one); tags of this object
# alone; or else the time of its last change.
_OF_CONTENTS = ("md5Hash", "sha256", "blob_id")
_OF_OBJECT = ("ETag", "etag", "generation")
_OF_TIME = ("LastModified", "Last-Modified", "last_modified", "mtime", "updated", "created")


def version_field(info: dict[str, Any]) -> str:
    """The first field of a driver's facts about an object that changes with it; "" without any."""
    return next(iter(version_fields(info)), "")


def version_fields(info: dict[str, Any]) -> list[str]:
    """All fields of a driver's facts about an object that change with it, in order of preference."""
    return [str(info[field]) for field in _VERSIONS if info.get(field)]


def version_of(info: dict[str, Any], url: str) -> str:
    """The version of an object by the driver's facts, which changes with the object; "" without any.

    Times begin with `t:`, and tags that are valid for one object only with `o:`.
    """
    s3 = scheme_of(url) in ("s3", "s3a")
    for field in (*_OF_CONTENTS, *_OF_OBJECT):
        if info.get(field):
            plain = str(info[field]).strip('"')
            return plain if s3 or field in _OF_CONTENTS else f"o:{plain}"
    for field in _OF_TIME:
        value = info.get(field)
        if isinstance(value, datetime):
            return f"t:{int(value.timestamp())}"
        if value:
            return f"t:{int(value)}" if isinstance(value, (int, float)) else f"t:{value}"
    return ""


def changed_at(version: str) -> int:
    """Time of the last change (ns) of an object, by its version; 0 if the version follows from contents or a tag."""
    if not version:
        return 1 << 62  # without a version the object may have changed just now
    return int(version[2:]) * 1_000_000_000 if version[:2] == "t:" and version[2:].isdigit() else 0
