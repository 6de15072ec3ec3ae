"""Places of files: paths of this machine, URLs and the standard output."""

from __future__ import annotations

import os
from collections.abc import Callable

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


def real_places() -> Callable[[str], str]:
    """A function like `real_place` for many files: what the name of a folder stands for is looked up once."""
    folders: dict[str, str] = {}

    def real(place: str) -> str:
        folder, name = os.path.split(place)
        if is_url(place) or name in ("", ".", "..") or place.startswith("~") or os.path.islink(place):
            return real_place(place)
        if folder not in folders:
            folders[folder] = os.path.realpath(folder or ".")
        return os.path.join(folders[folder], name)

    return real


def is_stdout(place: str) -> bool:
    """True if a place is the standard output of the command."""
    return place in _STANDARD_OUTPUT
