"""Imports the Python files of operators by their paths."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import threading
from contextlib import nullcontext
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from refinery.errors import OperatorError
from refinery.operators.home import is_shipped
from refinery.operators.local_code import local_modules
from refinery.operators.machine_code import cached_apart
from refinery.operators.opened_files import forget
from refinery.operators.source_modules import SourceLoader, find_sources, forget_changed, forget_modules
from refinery.operators.user_code import running

_importing = threading.RLock()
# Files of users' operators that are imported, by the names of their modules.
_of_users: dict[str, Path] = {}


def load_module(path: Path) -> ModuleType:
    """Import an operator's Python file by its path; that of a user anew after `forget_users`."""
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    name = f"refinery_udf_{path.parent.name}_{path.stem}_{digest}"
    with _importing:
        return sys.modules.get(name) or _import(name, path)


def forget_users() -> None:
    """Unload the operators of users with the modules that they import.

    Each run imports them anew, as a new process would: they may have changed, and whatever they have read.
    """
    with _importing:
        for name, path in _of_users.items():
            sys.modules.pop(name, None)
            forget(path)
        if _of_users:
            forget_modules()
        _of_users.clear()


def _import(name: str, path: Path) -> ModuleType:
    shipped = is_shipped(path)
    loader = (SourceFileLoader if shipped else SourceLoader)(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if not shipped:
        _prepare(name, path)
    try:
        with cached_apart(path), nullcontext() if shipped else running(path, "the import of the file"):
            loader.exec_module(module)
    except OperatorError:
        del sys.modules[name]
        raise
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, Exception):
            raise OperatorError(f"{path}: cannot be imported: {type(error).__name__}: {error}") from error
        raise
    return module


def _prepare(name: str, path: Path) -> None:
    """Have what the file of a user imports taken from its sources as they are now."""
    _of_users[name] = path
    find_sources()
    forget_changed(local_modules(path).items())
