"""The same surroundings on every machine: current folder, code, and the files that the driver has seen.

A task reads what its own machine has at a path. Where that is something else than the driver has there, results would be
of other data, so the task refuses to work.
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
# File systems round times differently.
_SECONDS = 1.0

Stamp = tuple[str, int, float]


def here() -> str:
    """The current folder of the driver, as tasks are told of it."""
    try:
        return os.getcwd()
    except OSError:  # it has been removed
        return ""


def described(functions: Iterable[Function], steps: Iterable[Any], library: Library) -> str:
    """What tasks of a stage must find, as JSON: versions and code of refinery, and digests of the stage's files."""
    return json.dumps({"code": _code(), "files": _files(functions, steps, library)})


def check(text: str) -> None:
    """See that this machine has what is described. Raises OperatorError that names what differs."""
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
    """See that files are here as the driver has seen them. Raises DataError for the first that is not."""
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
    """Work in the driver's current folder, which operators and SQL may name files from.

    Where this machine has no such folder, in an empty one: a name finds nothing then, and no other file of that name.
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
    """Versions of what decides results, and a digest of the operators that come with refinery."""
    whole = hashlib.sha256()
    for folder in ("sql", "udfs"):
        for path in sorted((shipped() / folder).rglob("*")):
            if path.suffix in (".sql", ".py"):
                whole.update(path.read_bytes())
    return versions() | {"operators": whole.hexdigest()}


def _differing(wanted: Mapping[str, str], mine: Mapping[str, str]) -> str:
    """`duckdb 2.0.0 in place of 2.0.1, and other operators`."""
    told = []
    for name in sorted({*wanted, *mine}):
        theirs, ours = wanted.get(name, "none"), mine.get(name, "none")
        if theirs != ours:
            told.append(
                f"other {name} of refinery" if name in ("sources", "operators") else f"{name} {ours}, not {theirs}"
            )
    return " and ".join(told)


def _files(functions: Iterable[Function], steps: Iterable[Any], library: Library) -> dict[str, str]:
    """Digests of the files that operators are in, but for shipped ones, and of those that parameters name."""
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
