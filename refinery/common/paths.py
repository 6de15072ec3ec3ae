"""Paths as a person writes them: made absolute where they are read, shown shorter where they are printed."""

from __future__ import annotations

import glob
import os
import re

# Types of parameters that name files. A run reads a `file` and a `folder`, whose contents decide results; a `path`, also
# a URL, is a place where an operator keeps something of its own.
CONTENTS = ("file", "folder")
TYPES = (*CONTENTS, "path")


def absolute(path: str, pattern: bool = False) -> str:
    """The path from the root of the file system: relative ones are below the current folder. URLs stay as they are.

    `~` is the home folder. `..` is resolved as the system does it, behind a link. pattern: `*`, `?` and `[` of the path
    stand for other characters, so those of the folder before it are escaped.
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
    """The path that a URL of this machine stands for (`file:///data/x`); any other text as it is."""
    return path.removeprefix("file://") if path.startswith("file:///") else path


def absolute_input(path: str) -> str:
    """`absolute` for a file, folder or pattern; what exists is no pattern."""
    path = local(path)
    return absolute(path, glob.has_magic(path) and not os.path.lexists(os.path.expanduser(path)))


def shorter(text: str) -> str:
    """A text to print, with paths below the current folder as seen from there."""
    folder = _real("")
    if folder is None or folder == "/":
        return text
    return re.sub(rf"(?<![^\s'\"(\[{{,:=]){re.escape(folder)}/(?=[^\s/])", "", text)


def printable(text: str) -> str:
    """A path or text as it can be printed: bytes that are not UTF-8 as escapes."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _cut(path: str) -> tuple[str, str]:
    """The path up to its last `..`, and what is below that; a `.` at its beginning says nothing."""
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
    """The folder that a path begins with, its links followed; the current one for ''. None: there is none any more."""
    try:
        return os.path.realpath(head) if head else os.getcwd()
    except OSError:
        return None
