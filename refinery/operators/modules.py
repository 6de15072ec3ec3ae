"""Imports the Python files of operators by their paths."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import threading
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from refinery.errors import OperatorError
from refinery.operators.home import is_shipped
from refinery.operators.opened_files import running
from refinery.operators.source_modules import SourceLoader, find_sources
from refinery.operators.user_process import is_worker

_importing = threading.RLock()


def load_module(path: Path) -> ModuleType:
    """Import an operator's Python file by its path; that of a user only in a worker process, once in each."""
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    name = f"refinery_udf_{path.parent.name}_{path.stem}_{digest}"
    with _importing:
        return sys.modules.get(name) or _import(name, path)


def _import(name: str, path: Path) -> ModuleType:
    shipped = is_shipped(path)
    assert shipped or is_worker(), f"{path}: code of a user is imported by worker processes alone"
    loader = (SourceFileLoader if shipped else SourceLoader)(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        if shipped:
            loader.exec_module(module)
        else:
            find_sources()
            with running(path, "the import of the file"):
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
