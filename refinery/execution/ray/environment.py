"""The same environment on every machine: current folder, code, files beside the input, and the folders that all machines share.

A task reads a path on its own machine. If the machine has another file there than the driver, results would be of other
data, so the task refuses to work. In a shared folder each machine reads what the driver has written, and writes itself: else a folder
of the same path on a machine's own disk would take the files of tasks, and the run would fail after its first stage.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from refinery.checkpoints.keys import versions
from refinery.common.paths import CONTENTS, paths_in
from refinery.errors import OperatorError, OutputError
from refinery.io.input_files import CURE
from refinery.io.side_files import changed
from refinery.operators import Function, Library, shipped
from refinery.operators.assets import digest_of
from refinery.operators.versions import installed, libraries, libraries_of_shipped
from refinery.storage.open import open_store
from refinery.storage.urls import is_url


def here() -> str:
    """The current folder; "" if it has been removed. The driver passes its own to tasks."""
    try:
        return os.getcwd()
    except OSError:  # the folder has been removed
        return ""


def described(
    functions: Iterable[Function],
    steps: Iterable[Any],
    library: Library,
    readers: Iterable[str] = (),
    beside: Mapping[str, str] | None = None,
    places: Iterable[SharedPlace] = (),
) -> str:
    """Requirements of a run's tasks, as JSON: versions and code of refinery, digests of files, folders that are shared.

    readers: files of users' input formats. beside: digests of the files that results depend on, by name.
    """
    functions, steps, readers = list(functions), list(steps), sorted(readers)
    files = _files(functions, steps, library) | {path: _digest(path) for path in readers}
    needed = _libraries([*_own(functions), *readers], steps)
    plain = {"code": _code(), "libraries": needed, "files": files, "beside": dict(beside or {})}
    return json.dumps({**plain, "places": list(places)})


@lru_cache(maxsize=8)
def check_once(text: str) -> None:
    """As `check`, once in a process."""
    check(text)


def check(text: str) -> None:
    """Check that this machine meets the requirements; none are met by any. Raises OperatorError that names the differences."""
    if not text:
        return
    wanted = json.loads(text)
    machine, mine = f"the machine {socket.gethostname()}", _code() | installed(wanted["libraries"])
    if (needed := wanted["code"] | wanted["libraries"]) != mine:
        what = _differing(needed, mine)
        raise OperatorError(f"{machine} has {what}. Install the same on every machine")
    different = [path for path, digest in wanted["files"].items() if _digest(path) != digest]
    for path in (*different, *changed(wanted["beside"])):
        there = "another file or folder" if os.path.exists(path) else "nothing"
        raise OperatorError(f"{path}: {machine} has {there} there. {CURE}")
    for place in wanted["places"]:
        require_shared(SharedPlace(*place))


@contextmanager
def standing_in(folder: str) -> Iterator[None]:
    """Work in the driver's current folder, because operators and SQL may have relative paths.

    If this machine has no such folder, work in an empty one, so that a path does not find another file.
    """
    before = here()
    try:
        os.chdir(folder)
    except OSError:
        os.chdir(_nowhere())
    try:
        yield
    finally:
        with suppress(OSError):
            os.chdir(before or os.sep)


@cache
def _code() -> dict[str, str]:
    """Versions of the software that results depend on, and a digest of the operators shipped with refinery."""
    whole = hashlib.sha256()
    for folder in ("sql", "udfs"):
        for path in sorted((shipped() / folder).rglob("*")):
            if path.suffix in (".sql", ".py"):
                whole.update(path.read_bytes())
    return versions() | {"operators": whole.hexdigest()}


def _differing(wanted: Mapping[str, str], mine: Mapping[str, str]) -> str:
    """Text of the differences, such as `duckdb 2.0.0, not 2.0.1 and other operators of refinery`."""
    differences = []
    for name in sorted({*wanted, *mine}):
        theirs, ours = wanted.get(name, "none"), mine.get(name, "none")
        if theirs != ours:
            differences.append(
                f"other {name} of refinery" if name in ("sources", "operators") else f"{name} {ours}, not {theirs}"
            )
    return " and ".join(differences)


def _files(functions: Iterable[Function], steps: Iterable[Any], library: Library) -> dict[str, str]:
    """Digests of the files of operators, except shipped ones, and of the files that parameters name."""
    paths = set(_own(functions))
    for step in steps:
        for name, param in library.operators[step.name].params.items():
            if param.type in CONTENTS:
                paths.update(paths_in(step.params.get(name)))
    return {path: _digest(path) for path in sorted(paths)}


def _own(functions: Iterable[Function]) -> list[str]:
    """Files of users' functions."""
    return sorted({str(function.path) for function in functions if not function.path.is_relative_to(shipped())})


def _libraries(files: Iterable[str], steps: Iterable[Any]) -> dict[str, str]:
    """Versions of packages that code of users imports, or that shipped operators of these steps alone call."""
    versions: dict[str, str] = {}
    for path in files:
        versions |= libraries(Path(path)) if path.endswith(".py") else {}
    for step in steps:
        versions |= libraries_of_shipped(step.name)
    return versions


def _digest(path: str) -> str:
    return hashlib.sha256(json.dumps(digest_of(path)).encode()).hexdigest()


@cache
def _nowhere() -> str:
    return tempfile.mkdtemp(prefix="refinery-nowhere-")


_CURE = (
    "Put it on a file system that all machines have mounted under the same path, or use a URL such as s3://bucket/run"
)
# Seconds in which a file of another machine must appear, and between two looks: network file systems remember what was not there.
PATIENCE, _PAUSE = 5.0, 0.2
# First part of the names of the files; runs tidy the folder that they are in.
_NAME = ".scratch/shared"


class SharedPlace(NamedTuple):
    """A folder or URL. key: of the recipe, for messages. nonce: what the driver has written there."""

    key: str
    url: str
    nonce: str

    @property
    def own_file(self) -> str:
        """Name of the driver's file."""
        return f"{_NAME}-{self.nonce}"

    def file_of(self, machine: str) -> str:
        """Name of the file of a machine."""
        return f"{_NAME}-{self.nonce}-{machine}"


@contextmanager
def shared_place(key: str, url: str, nonce: str) -> Iterator[SharedPlace]:
    """Write the driver's file to a place; it is removed at the end. Raises OSError."""
    place = SharedPlace(key, url, nonce)
    store = open_store(url)
    store.write_text(place.own_file, nonce)
    try:
        yield place
    finally:
        with suppress(OSError):
            store.discard(place.own_file)


@contextmanager
def shared_folder(key: str, folder: str, nonce: str) -> Iterator[SharedPlace]:
    """As `shared_place`, for a folder in which nothing may be left; it is removed if it was not there before."""
    there = os.path.isdir(folder)
    try:
        with shared_place(key, folder, nonce) as place:
            yield place
    finally:
        open_store(folder).tidy()
        if not there:
            with suppress(OSError):
                os.rmdir(folder)


def require_shared(place: SharedPlace) -> None:
    """Check that this machine sees the driver's file. Raises OutputError."""
    if _appears(place.url, place.own_file, place.nonce):
        return
    there = is_url(place.url) or os.path.isdir(place.url)
    what = "has another folder there than the machine of the driver" if there else "has no such folder"
    raise OutputError(f"{place.key}: {place.url}: the machine {socket.gethostname()} {what}. {_CURE}")


def write_here(place: SharedPlace, machine: str) -> None:
    """Write a file of this machine. Raises OutputError if that is impossible."""
    try:
        open_store(place.url).write_text(place.file_of(machine), place.nonce)
    except OSError as error:
        what = f"the machine {socket.gethostname()} cannot write there: {error.strerror or error}"
        raise OutputError(f"{place.key}: {place.url}: {what}") from error


def has_arrived(place: SharedPlace, machine: str) -> bool:
    """Return whether the file of a machine is seen here, and remove it."""
    name = place.file_of(machine)
    arrived = _appears(place.url, name, place.nonce)
    with suppress(OSError):
        open_store(place.url).discard(name)
    return arrived


def lost(place: SharedPlace, machine: str) -> OutputError:
    """The error for a machine whose file the driver does not see."""
    return OutputError(
        f"{place.key}: {place.url}: a file that the machine {machine} writes there is not visible here. {_CURE}"
    )


def _appears(url: str, name: str, text: str) -> bool:
    """Return whether a file has the text, now or within PATIENCE."""
    end = time.monotonic() + PATIENCE
    while not _reads(lambda: open_store(url).read_text(name), text):
        if time.monotonic() >= end:
            return False
        time.sleep(_PAUSE)
    return True


def _reads(read: Callable[[], str], text: str) -> bool:
    try:
        return read() == text
    except (OSError, UnicodeDecodeError):
        return False
