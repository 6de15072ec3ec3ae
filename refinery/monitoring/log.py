"""The log of a run, in two forms: `run.log` as text, `run.jsonl` with one event on each line.

Both are handlers of Python's `logging`, on the root logger while the run lasts, so they also record the logging of
Python operators. Records are short, and appended with one write each, so several processes can share the files.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from refinery.common.redaction import hide

# A longer log is put aside when a run begins, in place of the one put aside before.
_LARGEST = 10 << 20
_LONGEST = 4000
# Characters that could move a terminal's cursor.
_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_of_worker: list[logging.Handler] = []  # of a worker process
_folders: list[Path] = []  # of the log of this process's run, at most one

# Libraries whose INFO records are noise in the log of a run.
_TALKATIVE = ("sqlglot",)

logger = logging.getLogger("refinery.run")


def event(name: str, message: str, level: int = logging.INFO, numbers: bool = False, **fields: Any) -> None:
    """Log an event. name: `shard`, `stage`, ...; fields: plain data, for the JSON form.

    numbers: message and fields have numbers alone, among which no credential is looked for; there is such a line for each shard.
    """
    logger.log(level, "%s", message, extra={"event": name, "fields": fields, "numbers": numbers})


class _Text(logging.Formatter):
    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """Format the time as ISO 8601 in UTC."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))

    def format(self, record: logging.LogRecord) -> str:
        """`2026-01-31T12:00:00Z INFO refinery.run: stage 1 begins`; later lines, such as a traceback, are indented."""
        text = _hidden(record, super().format(record))[:_LONGEST].rstrip()
        return _UNSEEN.sub(lambda match: repr(match[0])[1:-1], text).replace("\n", "\n    ")


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """One object on one line: at, level, logger, event, message, then the event's own fields."""
        entry: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "event": getattr(record, "event", "message"),
            "message": record.getMessage()[:_LONGEST],
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)[-_LONGEST:]
        return _hidden(record, json.dumps(entry, ensure_ascii=False, default=str))


def _hidden(record: logging.LogRecord, text: str) -> str:
    return text if getattr(record, "numbers", False) else hide(text)


def attach(folder: Path) -> list[logging.Handler]:
    """Start logging of this process to the files in `folder`; `detach` ends it."""
    text = _handler(folder / "run.log", _Text("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handlers = [text, _handler(folder / "run.jsonl", _Json())]
    root = logging.getLogger()
    for handler in handlers:
        root.addHandler(handler)
    return handlers


def _handler(path: Path, formatter: logging.Formatter) -> logging.Handler:
    handler = logging.FileHandler(path, mode="a", encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(formatter)
    handler.setLevel(logging.INFO)
    handler.addFilter(is_worth_it)
    return handler


def is_worth_it(record: logging.LogRecord) -> bool:
    """Return whether to log a record: all of refinery and of user operators, only warnings of installed libraries."""
    return record.levelno >= logging.WARNING or "site-packages" not in record.pathname


def detach(handlers: list[logging.Handler]) -> None:
    """Remove the handlers and close their files."""
    for handler in handlers:
        logging.getLogger().removeHandler(handler)
        handler.close()


def folder_of_log() -> str:
    """Absolute folder of the log of this process's run, for its worker processes; "" without a run."""
    return str(_folders[0].absolute()) if _folders else ""


def processes_log_to(folder: Path) -> None:
    """Name the folder that worker processes of this process log to, where no run of its own does."""
    _folders[:] = [folder]


def log_to(folder: str) -> None:
    """Let a worker process log to the folder of the run that it works for from now on; "" to no folder."""
    detach(_of_worker)
    _of_worker.clear()
    with suppress(OSError):  # the log only
        _of_worker.extend(attach(Path(folder)) if folder else ())
        logging.getLogger().setLevel(logging.INFO)


@contextmanager
def logged(folder: Path) -> Iterator[None]:
    """Log to `folder` while the run lasts. An unwritable folder costs the log, never the run."""
    root = logging.getLogger()
    level, raising = root.level, logging.raiseExceptions
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _put_aside(folder)
        handlers = attach(folder)
    except OSError:
        yield
        return
    root.setLevel(min(level, logging.INFO) if level else logging.INFO)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    _folders[:] = [folder]
    logging.raiseExceptions = False  # a full disk ends the run anyway; logging errors would fill the terminal
    try:
        yield
    finally:
        _folders.clear()
        root.setLevel(level)
        detach(handlers)
        logging.raiseExceptions = raising


def _put_aside(folder: Path) -> None:
    for name in ("run.log", "run.jsonl"):
        path = folder / name
        if path.exists() and path.stat().st_size > _LARGEST:
            os.replace(path, folder / f"{name}.1")
