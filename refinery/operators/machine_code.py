"""Folders of numba's cached machine code of shipped operators.

numba takes cached code for that of a kernel whose file has the same size and time, so the folder's name is a digest of the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from refinery.kernels.core.cache import CACHE

_ROOT = CACHE / "numba"


@contextmanager
def cached_apart(operator: Path) -> Iterator[None]:
    """Name numba's folder for the machine code of a shipped operator that is imported in the body."""
    source = operator.read_bytes()
    # Most of them only speak of numba, whose import takes a third of a second.
    settings = _settings() if b"\nfrom numba import" in source else None
    if settings is None:
        yield
        return
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(_ROOT / hashlib.sha256(source).hexdigest()[:16])
    try:
        yield
    finally:
        settings.CACHE_DIR = before


def _settings() -> Any:
    """numba's settings, whose attributes are made at import; None where it is not installed."""
    with suppress(ImportError):
        from numba import config

        return config
    return None
