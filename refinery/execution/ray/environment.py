"""The same environment on every machine: current folder, code, and the files that the driver has seen.

A task reads a path on its own machine. If the machine has another file there than the driver, results would be of other
data, so the task refuses to work.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from refinery.checkpoints.keys import versions
from refinery.common.paths import CONTENTS
from refinery.errors import DataError, OperatorError
from refinery.io.model import Shard
from refinery.operators import Function, Library, shipped
from refinery.operators.assets import digest_of
from refinery.storage.urls import is_url

_CURE = "Give all machines the same files under the same paths, on a shared file system"
# Tolerance for times of change, which file systems round differently.
_SECONDS = 1.0

Stamp = tuple[str, int, float]


def here() -> str:
    """The current folder; "" if it has been removed. The driver passes its own to tasks."""
    try:
        return os.getcwd()
    except OSError:  # the folder has been removed
        return ""


def described(
    functions: Iterable[Function], steps: Iterable[Any], library: Library, readers: Iterable[str] = ()
) -> str:
    """Requirements of a stage's tasks, as JSON: versions and code of refinery, and digests of the stage's files.

    readers: files of users' input formats.
    """
    files = _files(functions, steps, library) | {path: _digest(path) for path in sorted(readers)}
    return json.dumps({"code": _code(), "files": files})


def check(text: str) -> None:
    """Check that this machine meets the requirements. Raises OperatorError that names the differences."""
    wanted = json.loads(text)
    mine = _code()
    if wanted["code"] != mine:
        what = _differing(wanted["code"], mine)
        raise OperatorError(f"the machine {socket.gethostname()} has {what}. Install the same on every machine")
    for path, digest in wanted["files"].items():
        if _digest(path) != digest:
            there = "another file or folder" if os.path.exists(path) else "nothing"
            raise OperatorError(f"{path}: the machine {socket.gethostname()} has {there} there. {_CURE}")


def stamps(shard: Shard) -> list[Stamp]:
    """Size and time of change of a shard's files in the input, as this machine sees them."""
    read = shard.part is None or shard.part.source is None
    paths = [source.path for source in shard.sources if source.table is None and not is_url(source.path)]
    return [_stamp(path) for path in paths] if read else []


def check_files(seen: Sequence[Stamp]) -> None:
    """Check that files here are as the driver has seen them. Raises DataError for the first that differs."""
    for path, size, modified in seen:
        _, size_here, modified_here = _stamp(path)
        if size_here != size or abs(modified_here - modified) > _SECONDS:
            there = f"{size_here:,} bytes" if size_here >= 0 else "nothing"
            what = (
                f"the machine {socket.gethostname()} has {there} of another time there, where the run was started it is"
            )
            raise DataError(f"{path}: {what} {size:,} bytes. {_CURE}; it must not change during the run")


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


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return path, -1, 0.0
    return path, found.st_size, found.st_mtime


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
    paths = {str(function.path) for function in functions if not function.path.is_relative_to(shipped())}
    for step in steps:
        for name, param in library.operators[step.name].params.items():
            value = step.params.get(name)
            if param.type in CONTENTS and isinstance(value, str) and value:
                paths.add(value)
    return {path: _digest(path) for path in sorted(paths)}


def _digest(path: str) -> str:
    return hashlib.sha256(json.dumps(digest_of(path)).encode()).hexdigest()


@cache
def _nowhere() -> str:
    return tempfile.mkdtemp(prefix="refinery-nowhere-")
