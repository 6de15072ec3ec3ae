"""Imports the Python files of operators by their paths."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import threading
from pathlib import Path
from types import ModuleType

from refinery.errors import OperatorError

_importing = threading.RLock()


def load_module(path: Path) -> ModuleType:
    """Import an operator's Python file by its path, once."""
    import refinery.kernels  # noqa: F401  it says where numba keeps compiled kernels, before numba asks

    # The same in every process: numba's cache on disk knows a kernel by the name of its module.
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    name = f"refinery_udf_{path.parent.name}_{path.stem}_{digest}"
    with _importing:
        return sys.modules.get(name) or _import(name, path)


def _import(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, Exception):
            raise OperatorError(f"{path}: cannot be imported: {type(error).__name__}: {error}") from error
        raise
    return module
