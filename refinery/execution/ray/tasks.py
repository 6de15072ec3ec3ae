"""Functions that run on the machines of the cluster; arguments and answers are text.

A process keeps its worker for the next shard of the same stage, so it opens DuckDB, registers functions and loads models
once per stage.
"""

from __future__ import annotations

import atexit
import importlib
import json
import logging
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.common.lazy import duckdb
from refinery.compiler.program import Program
from refinery.errors import RefineryError
from refinery.execution.ray.environment import check_once, standing_in
from refinery.execution.ray.reports import COUNTED, OF_TASKS, reporting
from refinery.io.input_files import FileFacts, check_files
from refinery.io.model import Shard
from refinery.monitoring.log import processes_log_to
from refinery.operators.processes import import_anew
from refinery.storage.open import open_store
from refinery.storage.store import Store
from refinery.workers.backends import must_run_apart
from refinery.workers.process_guard import STUCK, ending
from refinery.workers.process_runner import ProcessRunner, ProcessSettings
from refinery.workers.serialization import from_json, spooled, to_json
from refinery.workers.tasks import Task
from refinery.workers.worker import Worker

Limits = tuple[str, str | None, str]
# The driver's current folder, and the requirements of every machine; see `environment`.
Around = tuple[str, str]

_kept: tuple[tuple[Around, Limits], Worker] | None = None
# Name of the program whose child processes are kept.
_code = ""


def run_shard(
    around: Around,
    program: str,
    limits: Limits,
    shard: str,
    seen: Sequence[FileFacts],
    task: str,
    share: int,
    careful: bool,
    timeout: float | None,
    board: Any = None,
) -> str:
    """Run one shard; see `Worker.run`. limits: a name for the program, memory, the folder to spill to.

    seen: the shard's files as the driver sees them. share: divisor of the batch size, after memory has run out. careful:
    run in a child process, as code of users, and code that may hang, always is, so that only the row is lost that ends the process or takes more than `timeout` seconds.
    board: the actor that gets reports, see `reporting`.
    Returns the text of `answered`.
    """
    original = from_json(task)
    smaller = _divided(original, share)

    def work() -> str:
        check_files(seen)
        piece = from_json(shard)
        if careful or timeout is not None or must_run_apart(_program(program), [piece]):
            return _apart(around, program, limits, piece, smaller, timeout)
        return _run(around, program, limits, piece, smaller)

    try:
        what = original.folder, from_json(shard).index, limits[2]
        with standing_in(around[0]), reporting(board, *what):
            return answered(work)
    finally:
        forget(original.store)


def _divided(task: Task, share: int) -> Task:
    """The task with batches of fewer bytes and rows, because an operator's memory may depend on either."""
    size, rows = max(1, task.batch_bytes // share), max(1, task.batch_rows // share)
    return replace(task, batch_bytes=size, batch_rows=rows)


def _run(around: Around, program: str, limits: Limits, shard: Shard, task: Task) -> str:
    return to_json(_worker(around, program, limits).run(shard, task))


def _apart(around: Around, program: str, limits: Limits, shard: Shard, task: Task, timeout: float | None) -> str:
    """Run a shard as `_run` does, in a child process, which is kept for the next shard."""
    global _code
    check_once(around[1])
    if _code != limits[0]:
        import_anew()
        _code = limits[0]
    _, memory, spill = limits
    spool = partial(_spool, open_store(task.store))
    log = _log_of_children()
    processes_log_to(log.parent)
    try:
        with closing(ProcessRunner(_program(program), 1, memory, spill, ProcessSettings(1, timeout), spool)) as runner:
            [result] = runner.run([shard], lambda _: task)
    finally:
        _pass_on(log)
    COUNTED.passed(result.rows, result.bytes)
    return to_json(result)


@lru_cache(maxsize=1)
def _log_of_children() -> Path:
    """The file that the child processes of this process log to, which goes with it."""
    folder = tempfile.mkdtemp(prefix="refinery-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder) / "run.jsonl"


def _pass_on(log: Path) -> None:
    """Log what child processes have logged, as this process's own, and empty their file."""
    with suppress(OSError):  # the log only
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        os.truncate(log, 0)
        for line in lines:
            with suppress(ValueError, KeyError, TypeError):  # half a line
                record = json.loads(line)
                level = logging.getLevelNamesMapping().get(record["level"], logging.INFO)
                logging.getLogger(record["logger"]).log(level, "%s", record["message"])


@lru_cache(maxsize=1)
def _program(text: str) -> Program:
    """The program of a stage, the same object for all its shards."""
    program: Program = from_json(text)
    return program


def _spool(store: Store, table: pa.Table) -> str:
    """A file with a table in memory, for the child process."""
    return spooled(table, store.scratch() / "table.arrow")


def _worker(around: Around, program: str, limits: Limits) -> Worker:
    global _kept
    if _kept is None or _kept[0] != (around, limits):
        check_once(around[1])
        if _kept is not None:
            _kept[1].close()
        else:
            ending(lambda _: os._exit(STUCK))
        _kept = None
        _, memory, spill = limits
        _kept = (around, limits), Worker(_program(program), memory, spill, observer=COUNTED)
    return _kept[1]


def call(folder: str, name: str, requirements: str, board: Any, *arguments: Any) -> str:
    """Call a function of this package, `module:name`, in the driver's current folder; return the text of `answered`.

    requirements: of every machine, see `environment`. board: the actor that gets reports, or None.
    """
    module, _, function = name.partition(":")
    task: Callable[..., str] = getattr(importlib.import_module(module), function)

    def work() -> str:
        check_once(requirements)
        return task(*arguments)

    with standing_in(folder), OF_TASKS.task(board):
        return answered(work)


def forget(url: str) -> None:
    """Remove copies of objects that were made for one task."""
    open_store(url).forget()


def answered(work: Callable[[], str]) -> str:
    """The result of the work, or the error for the driver, as JSON: {"ok": ...} or {"error": ..., "message": ...}.

    Errors in refinery itself are left to Ray, which adds the traceback.
    """
    try:
        return json.dumps({"ok": work()})
    except (MemoryError, duckdb.OutOfMemoryException) as error:
        return _error("memory", str(error) or "no more can be had")
    except RefineryError as error:
        return _error(type(error).__name__, str(error))
    except OSError as error:
        reason = _placed(error.strerror or str(error))
        return _error("os", reason, number=error.errno, file=str(error.filename or ""))
    except duckdb.IOException as error:
        return _error("duckdb io", _placed(str(error)))
    except duckdb.Error as error:
        return _error("duckdb", str(error))


def _placed(reason: str) -> str:
    """The reason of an error of a disk, with the machine that it is on."""
    first, _, rest = reason.partition("\n")
    return f"{first}, on the machine {socket.gethostname()}" + (f"\n{rest}" if rest else "")


def _error(kind: str, message: str, **more: Any) -> str:
    return json.dumps({"error": kind, "message": message, **more})
