"""Folders of numba's cached machine code of operators.

numba takes cached code for that of a kernel whose file has the same size and time. Functions and numbers that the
kernel uses from other files are part of the machine code all the same.
"""

from __future__ import annotations

import atexit
import hashlib
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from refinery.common.running import is_running
from refinery.kernels.core.cache import CACHE, name_prefix, own_name
from refinery.operators.home import is_shipped
from refinery.operators.local_code import local_modules

_ROOT = CACHE / "numba"


@contextmanager
def cached_apart(operator: Path) -> Iterator[None]:
    """Name numba's folder for the machine code of an operator that is imported in the body.

    A shipped operator has a folder by its contents. What code of a user depends on is known to nobody, so each import
    has a folder of its own; it stays numba's, because functions of the user may compile others when they are called.
    """
    shipped = is_shipped(operator)
    settings = _settings() if _uses_numba(operator, shipped) else None
    if settings is None:
        yield
        return
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(_of_shipped(operator) if shipped else _of_import())
    try:
        yield
    finally:
        if shipped:
            settings.CACHE_DIR = before


def _settings() -> Any:
    """numba's settings, whose attributes are made at import; None where it is not installed."""
    with suppress(ImportError):
        from numba import config

        return config
    return None


def _uses_numba(operator: Path, shipped: bool) -> bool:
    if shipped:  # most of them only speak of numba, whose import takes a third of a second
        return b"\nfrom numba import" in operator.read_bytes()
    if "numba" in sys.modules:
        return True
    files = [operator, *local_modules(operator).values()]
    return any(b"numba" in file.read_bytes() for file in files if file.is_file())


def _of_shipped(operator: Path) -> Path:
    return _ROOT / hashlib.sha256(operator.read_bytes()).hexdigest()[:16]


def _of_import() -> Path:
    """A folder that exists for as long as this process, once numba has made it."""
    _tidy()
    folder = _ROOT / own_name()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _tidy() -> None:
    """Remove the folders of this machine's processes that have ended."""
    for folder in _ROOT.glob(f"{name_prefix()}*"):
        owner = folder.name.removeprefix(name_prefix()).partition("-")[0]
        with suppress(ValueError):
            if not is_running(int(owner)):
                shutil.rmtree(folder, ignore_errors=True)
