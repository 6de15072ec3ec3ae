"""numba's cached machine code of user kernels, dropped when its sources have changed.

numba checks only the file of a kernel. Functions and numbers that the kernel uses from other files are part of the
machine code all the same.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any


def drop_stale(operator: Path, modules: Collection[Path]) -> None:
    """Remove numba's cache of an operator and its modules, unless they are unchanged since the last call.

    Data files beside the operator count by size and time.
    """
    texts = {path: path.read_bytes() for path in sorted({operator, *modules}) if path.is_file()}
    if not any(b"jit" in text for text in texts.values()):
        return
    from refinery.kernels.core.cache import CACHE

    whole = hashlib.sha256()
    for path, text in texts.items():
        whole.update(f"{path}\0{hashlib.sha256(text).hexdigest()}\n".encode())
    for path in sorted(operator.parent.iterdir()):
        if path.is_file() and path not in texts:
            status = path.stat()
            whole.update(f"{path.name}\0{status.st_size} {status.st_mtime_ns}\n".encode())
    note = CACHE / "own" / hashlib.sha256(str(operator.resolve()).encode()).hexdigest()[:32]
    if not note.is_file() or note.read_text() != whole.hexdigest():
        _drop({path.parent for path in texts})
        _write(note, whole.hexdigest())


def _drop(folders: Collection[Path]) -> None:
    """Remove numba's cache files of all code in the folders."""
    from numba.core import caching, config

    settings: Any = config  # its attributes are made at import
    for folder in folders:
        place = caching._CacheLocator.get_suitable_cache_subpath(str(folder / "any.py"))
        for file in Path(settings.CACHE_DIR, place).glob("*.nb[ci]"):
            file.unlink(missing_ok=True)  # numba has made the folder by now, and expects it to exist


def _write(note: Path, text: str) -> None:
    note.parent.mkdir(parents=True, exist_ok=True)
    aside = note.with_suffix(f".{os.getpid()}.tmp")
    aside.write_text(text)
    os.replace(aside, note)
