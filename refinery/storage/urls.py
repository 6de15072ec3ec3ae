"""Places of files: paths of this machine, URLs and the standard output."""

from __future__ import annotations

import os

_STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def is_url(place: str) -> bool:
    """True if a place is not simply a path of this machine."""
    return "://" in place


def scheme_of(place: str) -> str:
    """The scheme of a URL, such as `s3`; "" for a path of this machine."""
    return place.partition("://")[0] if is_url(place) else ""


def real_place(place: str) -> str:
    """The real path, or the URL, which identifies a file or folder."""
    return place if is_url(place) else os.path.realpath(os.path.expanduser(place))


def is_stdout(place: str) -> bool:
    """True if a place is the standard output of the command."""
    return place in _STANDARD_OUTPUT
