"""Joins a Ray cluster, or starts one on this machine; an address that does not answer is an error within seconds."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from refinery.common.extras import lacks
from refinery.errors import OperatorError
from refinery.execution.ray.authentication import CURE, is_refused
from refinery.execution.ray.cluster_watch import ClusterWatch, servers_of, watched
from refinery.execution.ray.temporary import cleaned_after, temporary
from refinery.planning.shard_cut import Capacity

_SECONDS = 5.0
_CURES = "Start one with `ray start --head`, name one with ray_address: host:port, or set ray_address: local"
# Variable that Ray reads for the address `auto`.
_VARIABLE = "RAY_ADDRESS"


# The first bytes of HTTP/2 from a client, with empty settings; the kind of the frame with which a server answers.
_SETTINGS = b"\x04"
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + _SETTINGS + b"\0" * 5


class Address(NamedTuple):
    """Address of a cluster. name: where it comes from, for messages."""

    address: str
    name: str


def _place_of(address: str) -> Address:
    """The address that counts: for `auto`, that of the environment if there is one."""
    known = os.environ.get(_VARIABLE, "").strip()
    if address != "auto" or known in ("", "auto"):
        return Address(address, f"ray_address: {address}")
    return Address(known, f"{_VARIABLE}={known} in the environment, which counts for ray_address: auto")


@dataclass(frozen=True)
class ClusterConnection:
    """A cluster with this process as driver. temporary: a folder for this run's temporary files, on every machine.

    dispatchers: actors that submit tasks, see `handing`; none before they are needed.
    """

    ray: Any
    temporary: Path
    dispatchers: list[Any] = field(default_factory=list)
    watch: ClusterWatch | None = None
    _boards: list[Any] = field(default_factory=list)
    _required: list[str] = field(default_factory=list)
    _counted: list[tuple[float, int]] = field(default_factory=list)

    @property
    def requirements(self) -> str:
        """Requirements of every machine, see `environment`; "" before `require`."""
        return self._required[-1] if self._required else ""

    def require(self, requirements: str) -> None:
        """Have each machine meet the requirements before its first task."""
        self._required[:] = [requirements]

    @property
    def board(self) -> Any:
        """The actor that gets reports of tasks; None before `report_to`."""
        return self._boards[-1] if self._boards else None

    def report_to(self, board: Any) -> None:
        """Have tasks report what they use to an actor."""
        self._boards[:] = [board]

    def cores(self) -> int:
        """Number of processors of all machines in the cluster, as of a second ago at most; at least 1."""
        now = time.monotonic()
        if not self._counted or now - self._counted[0][0] > 1:
            self._counted[:] = [(now, max(1, int(self.ray.cluster_resources().get("CPU", 1))))]
        return self._counted[0][1]

    def machines(self) -> list[dict[str, float]]:
        """Resources of each live machine."""
        return [node["Resources"] for node in self.ray.nodes() if node["Alive"]]


@contextmanager
def joined(address: str, work_dir: str, cores: int) -> Iterator[ClusterConnection]:
    """Join a Ray cluster as driver.

    address: `auto`, `local` (with `cores` processors), `host:port` or `ray://host:port`.

    A process that is a driver already keeps its cluster. The temporary folder is `{work_dir}/.tmp/{Ray's job id}` if
    work_dir is a path, and is always removed afterwards. Raises OperatorError if there is no cluster or no Ray.
    """
    ray, place = _imported(), _place_of(address)
    address, ours = place.address, not ray.is_initialized()
    with watched(own=ours and address == "local") as watch:
        if ours:
            _join(ray, place, cores)
        try:
            with _connected(ray, address, work_dir, watch) as connection:
                yield connection
        finally:
            watch.stop()  # what ends from now on is not lost
            if ours:
                ray.shutdown()


@contextmanager
def _connected(ray: Any, address: str, work_dir: str, watch: ClusterWatch) -> Iterator[ClusterConnection]:
    """The connection of a cluster that this process is a driver of."""
    if address != "local":
        watch.add(servers_of(ray, address))
    outlives = cleaned_after if address != "local" else _not_cleaned  # a cluster of this run ends with it
    with temporary(work_dir, ray.get_runtime_context().get_job_id()) as folder, outlives(ray, folder):
        connection = ClusterConnection(ray, folder, watch=watch)
        try:
            yield connection
        finally:
            for dispatcher in connection.dispatchers:
                ray.kill(dispatcher)


@contextmanager
def measured(address: str, workers: int) -> Iterator[Capacity]:
    """Join the cluster at an address and return its size; `joined` finds the process a driver then.

    workers: processors of a cluster that the run starts for itself, which is not started before. Raises OperatorError.
    """
    ray = _imported()
    place = _place_of(address)
    ours = not ray.is_initialized() and place.address != "local"
    if ours:
        _join(ray, place, workers)
    try:
        if not ray.is_initialized():
            yield Capacity(workers, 1)
            return
        yield _capacity(ray)
    finally:
        if ours:
            ray.shutdown()


def _capacity(ray: Any) -> Capacity:
    """The cluster's size now, or the size that its autoscaler may give it where that is larger."""
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    cores, most = int(ray.cluster_resources().get("CPU", 1)), _most_cores()
    return Capacity(max(1, cores, most), max(1, len(nodes)), grows=most > cores)


def _most_cores() -> int:
    """Cores of all nodes that an autoscaler may start; 0 if none has reported its configuration, or sets no limit."""
    try:
        from ray._private.state import state

        most = int((state.get_max_resources_from_cluster_config() or {}).get("CPU", 0))
    except Exception:  # Ray's client and older versions of Ray cannot be asked
        return 0
    return most if most < sys.maxsize else 0


@contextmanager
def _not_cleaned(ray: Any, folder: Path) -> Iterator[None]:
    yield


def _imported() -> Any:
    try:
        import ray
    except ImportError as error:
        raise OperatorError(lacks("executor_type: ray", "ray", error)) from None
    return ray


def _join(ray: Any, place: Address, cores: int) -> None:
    options: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if place.address == "local":
        options |= {"num_cpus": cores, "include_dashboard": False}
    elif (resolved := _resolved(place.address)) is not None:
        _knock(place, resolved)
        _show_token(place, resolved)
    try:
        ray.init(address=place.address, **options)
    except Exception as error:
        if place.address == "auto" and isinstance(error, ConnectionError):
            raise OperatorError(f"{place.name}: no Ray cluster runs on this machine. {_CURES}") from None
        reason = " ".join(str(error).split()).rstrip(".")
        raise OperatorError(f"{place.name}: cannot be joined: {reason}. {_cure(error)}") from error


def _cure(error: Exception) -> str:
    """Cure of an error with which Ray does not let this process join."""
    text = f"{type(error).__name__} {error}".lower()
    if "version mismatch" in text:
        return "Start refinery with the Python and the Ray of the cluster"
    if "token" in text or "authenti" in text:
        return CURE
    return _CURES


def _resolved(address: str) -> str | None:
    """host:port of the cluster; None for `auto` where Ray has noted no cluster of this machine, and looks for one by itself.

    The note is the file that the documentation of `ray.init` names.
    """
    if address.startswith("ray://"):
        return address.removeprefix("ray://").split("/")[0]
    if address != "auto":
        return address
    folder = Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()) / "ray"
    try:
        return (folder / "ray_current_cluster").read_text("utf-8").strip() or None
    except OSError:
        return None


def _knock(place: Address, resolved: str) -> None:
    """Check that the address answers, because Ray itself would try for minutes."""
    host, _, port = resolved.rpartition(":")
    if not host or not port.isdigit():
        known = "auto, local, host:port or ray://host:port"
        raise OperatorError(f"{place.name}: {resolved!r} is no address; it is one of {known}")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _SECONDS) as server:
            alien = "RAY_USE_TLS" not in os.environ and _is_alien(server)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OperatorError(f"{place.name}: {resolved} does not answer: {reason}. {_CURES}") from None
    if alien:
        raise OperatorError(f"{place.name}: the server at {resolved} is no Ray cluster. {_CURES}")


def _show_token(place: Address, resolved: str) -> None:
    """Check that the head lets this process in. For `auto`, Ray itself finds the token; its client checks it by itself."""
    if place.address != "auto" and not place.address.startswith("ray://") and "RAY_USE_TLS" not in os.environ:
        if is_refused(resolved):
            raise OperatorError(f"{place.name}: the cluster does not let this process in. {CURE}")


def _is_alien(server: socket.socket) -> bool:
    """Return whether a server certainly does not speak HTTP/2, as Ray's do; a silent one may."""
    try:
        server.sendall(_GREETING)
        answer = b""
        while len(answer) < 4 and (more := server.recv(4 - len(answer))):
            answer += more
    except TimeoutError:
        return False
    except OSError:
        return True
    return answer[3:] != _SETTINGS
