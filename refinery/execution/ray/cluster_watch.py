"""Ends a run whose cluster is lost, with a message: Ray itself would end the process later, without one.

The driver depends on two servers: Ray's process on its own machine (the raylet), and the head's (the GCS), which may come back
within a minute where Ray is set up so.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from refinery.workers import process_guard

# Seconds between two looks, and for an answer.
_EVERY = 1.0
# Seconds without an answer after which a server is lost: of this machine, and of the head, whose return Ray awaits for 60.
OWN, HEAD = 2.0, 45.0

_RAYLET, _GCS = "Ray's process on this machine, the raylet,", "the head of the Ray cluster, its GCS,"
_OWN = ((_RAYLET, "raylet"), (_GCS, "gcs_server"))
_CURE = "The same command continues once there is a cluster again"


class Server(NamedTuple):
    """A server that the driver cannot do without. name: in messages. patience: seconds without an answer, at most.

    process: name of its process, where this one starts it; host and port are not known then.
    """

    name: str
    host: str
    port: int
    patience: float
    process: str = ""


class ClusterWatch:
    """Thread that looks whether the servers answer. hears: called with the reason, before the process ends."""

    def __init__(self, servers: Sequence[Server] = (), answers: Callable[[Server], bool] | None = None) -> None:
        """answers: returns whether a server answers."""
        self.hears: list[Callable[[str], None]] = []
        self._servers, self._answers = list(servers), answers or _answers
        self._heard = dict.fromkeys(servers, time.monotonic())
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look_on, name="cluster", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def add(self, servers: Sequence[Server]) -> None:
        """Look at further servers."""
        self._heard |= dict.fromkeys(servers, time.monotonic())
        self._servers += servers

    def stop(self) -> None:
        """Look no more."""
        self._end.set()

    def lost(self, now: float) -> Server | None:
        """A server that has not answered for too long, as of a time of `time.monotonic`; None if all are well."""
        for server in list(self._servers):
            if self._answers(server):
                self._heard[server] = now
            elif now - self._heard[server] >= server.patience:
                return server
        return None

    def _look_on(self) -> None:
        while not self._end.wait(_EVERY):
            server = self.lost(time.monotonic())
            if server is not None and not self._end.is_set():
                self.give_up(server)
                return

    def give_up(self, server: Server) -> None:
        """Tell everybody, and end the process if it is a command."""
        where = f" ({server.host}:{server.port})" if server.host else ""
        reason = f"{server.name}{where} does not answer any more. {_CURE}"
        for hear in self.hears:
            with suppress(Exception):  # the message to the person matters more
                hear(reason)
        process_guard.give_up(reason)


class OwnProcesses:
    """Processes of a cluster that this one starts, by their names; before they are there, they are taken to answer."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def answers(self, server: Server) -> bool:
        """Return whether the process of a server lives."""
        import psutil

        if server.process not in self._known:
            children = psutil.Process().children(recursive=True)
            process = next((child for child in children if _is_named(child, server.process)), None)
            if process is None:
                return True
            self._known[server.process] = process
        with suppress(psutil.Error):  # it is gone
            return bool(self._known[server.process].status() != psutil.STATUS_ZOMBIE)
        return False


@contextmanager
def watched(own: bool) -> Iterator[ClusterWatch]:
    """Watch a cluster until the end of the context. own: this process is about to start it, for this run alone."""
    servers = [Server(name, "", 0, 0.0, process) for name, process in _OWN] if own else []
    watch = ClusterWatch(servers, OwnProcesses().answers if own else None)
    if own:
        watch.hears.append(_end_children)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()


def servers_of(ray: Any, address: str) -> list[Server]:
    """The servers of a cluster that was joined; none where Ray's client stands between, which raises errors of its own."""
    servers: list[Server] = []
    if address.startswith("ray://"):
        return servers
    context = ray.get_runtime_context()
    with suppress(Exception):  # other versions of Ray: the run goes on unwatched
        node = next(node for node in ray.nodes() if node["NodeID"] == context.get_node_id())
        servers.append(Server(_RAYLET, node["NodeManagerAddress"], int(node["NodeManagerPort"]), OWN))
        host, _, port = context.gcs_address.rpartition(":")
        servers.append(Server(_GCS, host.strip("[]"), int(port), HEAD))
    return servers


def _is_named(process: Any, name: str) -> bool:
    import psutil

    with suppress(psutil.Error):
        return bool(process.name() == name)
    return False


def _answers(server: Server) -> bool:
    try:
        socket.create_connection((server.host, server.port), _EVERY).close()
    except OSError:
        return False
    return True


def _end_children(reason: str) -> None:
    """End the processes that this one has started: what is left of its own cluster."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            child.kill()
