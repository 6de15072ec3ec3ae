"""Paths: made absolute on reading, shortened on printing."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

# Types of parameters that name files. A run reads a `file`, a `folder` and `files`, whose contents affect results; a
# `path`, also a URL, is a place where an operator stores its own data.
CONTENTS = ("file", "folder", "files")
TYPES = (*CONTENTS, "path")
# Key of the path of a file of `files` that has settings of its own.
PATH = "path"


def paths_in(value: Any) -> list[str]:
    """Paths of a value of a type of CONTENTS.

    `files` are a path, a list of paths, or a mapping of names to paths or to mappings with the key `path`.
    """
    paths: list[str] = []

    def note(path: str) -> str:
        paths.append(path)
        return path

    with_paths(value, note)
    return [path for path in paths if path]


def with_paths(value: Any, change: Callable[[str], Any]) -> Any:
    """The value of a parameter that names files, each path changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, (list, tuple)):
        return tuple(with_paths(item, change) for item in value)
    if isinstance(value, Mapping):
        return {name: _with_path(item, change) for name, item in value.items()}
    return value


def _with_path(item: Any, change: Callable[[str], Any]) -> Any:
    if isinstance(item, Mapping):
        return {**item, PATH: with_paths(item.get(PATH), change)}
    return with_paths(item, change)


def absolute(path: str, pattern: bool = False) -> str:
    """Return the absolute path; a relative path is below the current folder. URLs stay as they are.

    `~` is the home folder. `..` is resolved as the system does it, after links. pattern: `*`, `?` and `[` of the path
    are wildcards, so those of the folder before it are escaped.
    """
    path = local(path)
    if not path or "://" in path:
        return path
    head, rest = _cut(os.path.expanduser(path))
    if head == "" and rest.startswith("/"):
        return rest
    folder = _real(head)
    if folder is None:
        return path
    return os.path.join(glob.escape(folder) if pattern else folder, rest) if rest else folder


def local(path: str) -> str:
    """The path of a local URL (`file:///data/x`); any other text unchanged."""
    return path.removeprefix("file://") if path.startswith("file:///") else path


def absolute_input(path: str) -> str:
    """`absolute` for a file, folder or pattern; an existing path is no pattern."""
    path = local(path)
    return absolute(path, glob.has_magic(path) and not os.path.lexists(os.path.expanduser(path)))


def shorter(text: str) -> str:
    """A text to print, with paths below the current folder made relative."""
    folder = _real("")
    if folder is None or folder == "/":
        return text
    return re.sub(rf"(?<![^\s'\"(\[{{,:=]){re.escape(folder)}/(?=[^\s/])", "", text)


def printable(text: str) -> str:
    """A path or text for printing, with bytes that are not UTF-8 as escapes."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _cut(path: str) -> tuple[str, str]:
    """Split a path after its last `..`; without `..`, drop any `.` at its beginning."""
    parts = path.split("/")
    if ".." in parts:
        last = len(parts) - 1 - parts[::-1].index("..")
        return "/".join(parts[: last + 1]), "/".join(parts[last + 1 :])
    while parts and parts[0] == ".":
        parts = parts[1:]
        while len(parts) > 1 and parts[0] == "":
            parts = parts[1:]
    return "", "/".join(parts)


def _real(head: str) -> str | None:
    """The folder with links resolved; the current folder for ''. None if it no longer exists."""
    try:
        return os.path.realpath(head) if head else os.getcwd()
    except OSError:
        return None
