"""The server of the page: on this machine only, until Ctrl-C."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from refinery.common.extras import lacks
from refinery.errors import OperatorError, OutputError
from refinery.explore.run import ExploredRun

_HOST = "127.0.0.1"


def serve(folder: Path, others: Sequence[Path], port: int, started: Callable[[str], None]) -> None:
    """Serve the page of a run until Ctrl-C.

    port: 0 for a free one. started: gets the page's address, with its token. Raises OperatorError without the packages
    of the extra, DataError if the folder has no finished run, OutputError if the port is taken.
    """
    try:
        import uvicorn

        from refinery.explore.app import make_app
    except ImportError as error:
        raise OperatorError(lacks("refinery explore", "explore", error)) from error
    token = secrets.token_urlsafe(24)
    with closing(ExploredRun(folder, others)) as run, closing(_socket(port)) as listener:
        port = listener.getsockname()[1]
        app = make_app(run, token, f"refinery_{port}")
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, lifespan="off"))
        started(f"http://{_HOST}:{port}/?token={token}")
        try:
            server.run(sockets=[listener])
        except KeyboardInterrupt:
            pass  # the normal end: uvicorn has closed its connections and raises the signal again


def _socket(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_HOST, port))
    except OSError as error:
        listener.close()
        raise OutputError(f"port {port} cannot be used: {error.strerror}. Name another --port") from None
    return listener
