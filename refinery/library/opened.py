"""Files that operators' code opens for reading, as Python's audit events say it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_active = threading.local()
_installing = threading.Lock()
_installed = False
# Absolute paths of the files by the operator's own; since it was imported, for it may keep what it has read.
_opened: dict[Path, set[str]] = {}


def opened_by(operator: Path) -> tuple[str, ...]:
    """Files that the code of an operator has opened in this process."""
    return tuple(_opened.get(operator, set()).copy())


def forget(operator: Path) -> None:
    """Nothing is left of what an operator has read: it is imported anew."""
    _opened.pop(operator, None)


@contextmanager
def noted(operator: Path) -> Iterator[None]:
    """Note what this thread opens for reading meanwhile, as a file of an operator.

    Files that native libraries open themselves are not noted.
    """
    _install()
    before = getattr(_active, "found", None)
    _active.found = _opened.setdefault(operator, set())
    try:
        yield
    finally:
        _active.found = before


def _install() -> None:
    """Have Python call the hook in this process, once: it cannot be removed."""
    global _installed
    with _installing:
        if not _installed:
            sys.addaudithook(_hook)
            _installed = True


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and (found := getattr(_active, "found", None)) is not None:
        path, mode, flags = arguments
        writes = isinstance(flags, int) and flags & os.O_ACCMODE == os.O_WRONLY
        if isinstance(path, (str, bytes, os.PathLike)) and not writes and not (mode or "").startswith(("w", "x", "a")):
            found.add(os.path.abspath(os.fsdecode(path)))
