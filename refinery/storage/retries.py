"""Repeat a request to storage that has failed for the moment, after pauses that grow.

A request that is repeated must leave the same as one that is not: objects are put whole, and reading changes nothing.
"""

from __future__ import annotations

import errno
import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from refinery.common.redaction import hide

Result = TypeVar("Result")

# Seconds before each repetition.
_PAUSES = (0.25, 0.5, 1.0, 2.0)
_STATUSES = (408, 425, 429)  # of HTTP, besides those from 500 on
_NETWORK = {
    *(errno.EIO, errno.EBUSY, errno.EAGAIN, errno.ETIMEDOUT, errno.EPIPE, errno.ECONNRESET, errno.ECONNABORTED),
    *(errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN),
    getattr(errno, "EREMOTEIO", errno.EIO),  # as s3fs calls an error of the server; macOS has no such number
}
# Packages whose errors without a status mean that a connection has failed, unless they are errors of a value.
_CLIENTS = ("aiohttp", "httpx", "requests", "urllib3")

_log = logging.getLogger(__name__)


def repeated(fs: Any, work: Callable[[], Result]) -> Result:
    """Result of a call of a driver, repeated after transient errors.

    A driver with an attribute `retries`, such as that of s3://, repeats requests itself and is called once. Raises the
    last error; an error that hid its cause, as OSError that names the cause.
    """
    pauses = () if getattr(fs, "retries", 0) else _PAUSES
    for pause in pauses:
        try:
            return work()
        except Exception as error:
            if not transient(error):
                raise
            _log.warning("storage: %s; once more in %g s", hide(_reason(error)), pause)
            time.sleep(pause)
    try:
        return work()
    except Exception as error:
        if pauses and transient(error):
            raise OSError(f"{_reason(error)}, at each of {len(pauses) + 1} attempts") from error
        raise


def transient(error: BaseException) -> bool:
    """Return whether the same request may succeed a moment later."""
    if isinstance(error, FileNotFoundError):  # the driver of http:// raises it whatever the reason
        return error.__cause__ is not None and transient(error.__cause__)
    status = getattr(error, "status", None) or getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(status, int):
        return status >= 500 or status in _STATUSES
    if isinstance(error, OSError):
        return isinstance(error, (ConnectionError, TimeoutError)) or error.errno in _NETWORK
    package = type(error).__module__.partition(".")[0]
    return package in _CLIENTS and not isinstance(error, ValueError)


def _reason(error: BaseException) -> str:
    cause = error.__cause__ if isinstance(error, FileNotFoundError) and error.__cause__ else error
    return " ".join(str(cause).split()) or type(cause).__name__
