"""Imports the Python files of operators by their paths."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import threading
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

from refinery.errors import OperatorError
from refinery.operators.home import is_shipped
from refinery.operators.local_code import Stamp, local_modules, stamp
from refinery.operators.machine_code import drop_stale
from refinery.operators.opened_files import forget
from refinery.operators.user_code import running

_importing = threading.RLock()
# By name of an operator's module: its file and its local modules, as they were at the import.
_made_of: dict[str, dict[Path, Stamp]] = {}


def load_module(path: Path) -> ModuleType:
    """Import an operator's Python file by its path; again only if it or its local modules have changed."""
    import refinery.kernels  # noqa: F401  sets numba's cache folder before numba reads it

    # The same name in every process: numba's cache on disk identifies a kernel by the name of its module.
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    name = f"refinery_udf_{path.parent.name}_{path.stem}_{digest}"
    with _importing:
        if name in sys.modules and _made_of.get(name) == _state(path):
            return sys.modules[name]
        _forget(name, path)
        module = _import(name, path)
        if not is_shipped(path):  # `sys.path` is now known, and no kernel has been called yet
            drop_stale(path, local_modules(path).values())
        _made_of[name] = _state(path)
        return module


def _state(path: Path) -> dict[Path, Stamp]:
    """Stamps of an operator's file and of its local modules, as this process finds them."""
    modules = {} if is_shipped(path) else local_modules(path)
    return {file: stamp(file) for file in (path, *modules.values())}


def _forget(name: str, path: Path) -> None:
    """Unload a changed operator and its local modules, so that they are imported again."""
    if name not in sys.modules:
        return
    del sys.modules[name]
    forget(path)
    importlib.invalidate_caches()
    for module in local_modules(path):
        sys.modules.pop(module, None)


def _import(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    cached = sys.dont_write_bytecode
    # Python compares compiled code with its source by size and second: an edit in the same second would be lost.
    sys.dont_write_bytecode = cached or not is_shipped(path)
    try:
        with nullcontext() if is_shipped(path) else running(path, "the import of the file"):
            spec.loader.exec_module(module)
    except OperatorError:
        del sys.modules[name]
        raise
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, Exception):
            raise OperatorError(f"{path}: cannot be imported: {type(error).__name__}: {error}") from error
        raise
    finally:
        sys.dont_write_bytecode = cached
    return module
