"""Folder of tables that kernels read, such as classes of code points; one for each version of the kernels' sources."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from refinery.common.cache_folder import cache_root
from refinery.kernels.core.library import sources_digest


def _made(folder: Path) -> Path:
    with suppress(OSError):  # without it, everything is computed
        folder.mkdir(exist_ok=True)
    return folder


CACHE = _made(cache_root() / f"kernels-{sources_digest()[:16]}")
