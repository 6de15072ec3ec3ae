"""Open URLs with the drivers of fsspec."""

from __future__ import annotations

from typing import Any

from refinery.errors import DataError

# Version fields of an object, in order of preference.
_VERSIONS = ("ETag", "etag", "md5Hash", "LastModified", "updated", "last_modified", "mtime", "created")
_STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def is_url(place: str) -> bool:
    """True if a place is not simply a path of this machine."""
    return "://" in place


def scheme_of(place: str) -> str:
    """The scheme of a URL, such as `s3`; "" for a path of this machine."""
    return place.partition("://")[0] if is_url(place) else ""


def version_field(info: dict[str, Any]) -> str:
    """The first field of a driver's facts about an object that changes with it; "" without any."""
    return next(iter(version_fields(info)), "")


def version_fields(info: dict[str, Any]) -> list[str]:
    """All fields of a driver's facts about an object that change with it, in order of preference."""
    return [str(info[field]) for field in _VERSIONS if info.get(field)]


def is_stdout(place: str) -> bool:
    """True if a place is the standard output of the command."""
    return place in _STANDARD_OUTPUT


def filesystem(url: str, options: dict[str, Any] | None = None) -> tuple[Any, str]:
    """The file system of a URL, and the path in it. Raises DataError that names the package to install."""
    scheme = scheme_of(url)
    try:
        import fsspec
    except ImportError:
        cure = "pip install 'refinery[remote]'"
        raise DataError(f"{url}: {scheme}:// needs fsspec, which the extra brings: {cure}") from None
    try:
        fs, path = fsspec.url_to_fs(url, **(options or {}))
    except ImportError as error:
        raise DataError(
            f"{url}: there is no driver for {scheme}:// ({said(error)}). pip install 'refinery[remote]' brings that of s3://"
        ) from None
    except ValueError as error:
        raise DataError(f"{url}: {said(error)}") from None
    return fs, path.rstrip("/")


def said(error: BaseException) -> str:
    """An error of a driver in one line."""
    return " ".join(str(error).split()) or type(error).__name__
