"""What runs on the machines of the cluster: functions that are given text and answer text.

A process keeps its worker for the next shard of the same stage, so DuckDB is opened, functions are registered and models
are loaded once for each.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import duckdb

from refinery.engine.local import keep_memory
from refinery.engine.wire import from_json, to_json
from refinery.engine.worker import Worker
from refinery.errors import RefineryError
from refinery.store import Store

Limits = tuple[str, str | None, str]

_kept: tuple[Limits, Worker] | None = None


def run_shard(program: str, limits: Limits, shard: str, task: str, share: int) -> str:
    """Run one shard; see `Worker.run`. limits: a name for the program, memory, the folder to spill to.

    share: by what the batch is divided, after memory has run out. The answer is that of `answered`.
    """
    return answered(partial(_run, program, limits, shard, task, share))


def _run(program: str, limits: Limits, shard: str, task: str, share: int) -> str:
    told = from_json(task)
    worker = _worker(program, limits)
    try:
        return to_json(worker.run(from_json(shard), replace(told, batch_bytes=max(1, told.batch_bytes // share))))
    finally:
        forget(told.store)


def _worker(program: str, limits: Limits) -> Worker:
    global _kept
    if _kept is None or _kept[0] != limits:
        if _kept is not None:
            _kept[1].close()
        else:
            keep_memory()
        _kept = None
        _, memory, spill = limits
        _kept = limits, Worker(from_json(program), memory, spill)
    return _kept[1]


def call(name: str, *arguments: Any) -> str:
    """Call a function of this package, `module:name`; the answer is that of `answered`."""
    module, _, function = name.partition(":")
    found: Callable[..., str] = getattr(importlib.import_module(module), function)
    return answered(partial(found, *arguments))


def forget(url: str) -> None:
    """Remove copies of objects that were made for one task."""
    from refinery.store.remote import RemoteStore

    store = Store.open(url)
    if isinstance(store, RemoteStore):
        store.forget()


def answered(work: Callable[[], str]) -> str:
    """What the work gives, or what the driver shall raise, as JSON: {"ok": ...} or {"error": ..., "message": ...}.

    Errors that are mistakes of refinery itself are left to Ray, with their trace.
    """
    try:
        return json.dumps({"ok": work()})
    except (MemoryError, duckdb.OutOfMemoryException) as error:
        return _error("memory", str(error) or "no more can be had")
    except RefineryError as error:
        return _error(type(error).__name__, str(error))
    except OSError as error:
        return _error("os", error.strerror or str(error), number=error.errno, file=str(error.filename or ""))
    except duckdb.Error as error:
        return _error("duckdb", str(error))


def _error(kind: str, message: str, **more: Any) -> str:
    return json.dumps({"error": kind, "message": message, **more})
