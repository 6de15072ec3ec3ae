"""The work of a build: modules are compiled on all processors, then linked."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from refinery.kernels.build.compile import object_files
from refinery.kernels.build.link import link
from refinery.kernels.build.modules import digest_of, entries, modules, size_of
from refinery.kernels.core.library import path_of, sources_digest


def build(kinds: Sequence[str], packages: Sequence[str], folder: Path) -> None:
    """Build the library for each kind of processor. Raises Refused, NoLinker or CalledProcessError."""
    sources = sources_digest()  # before they are read: a file that is changed meanwhile makes the library outdated
    places = {(kind, module): _objects(folder, kind, module) for kind in kinds for module in modules(packages)}
    missing: dict[str, dict[str, Path]] = {}
    for (kind, module), place in places.items():
        if not place.is_dir():
            missing.setdefault(module, {})[kind] = place
    _compile_all(missing)
    for kind in kinds:
        folders = [place for (of, _), place in places.items() if of == kind]
        link(sorted(file for place in folders for file in place.glob("*.o")), path_of(kind, folder), kind, sources)


def _objects(folder: Path, kind: str, module: str) -> Path:
    """Folder of the object files of a module."""
    return folder / "objects" / kind / f"{module}-{digest_of(module, kind)}"


def _compile_all(missing: dict[str, dict[str, Path]]) -> None:
    """Compile modules on all processors, those that take longest first. missing: by module and kind, the folder to fill."""
    order = sorted(missing, key=size_of, reverse=True)
    with ProcessPoolExecutor(max(1, min(_cores(), len(order))), mp_context=get_context("spawn")) as pool:
        tasks = [pool.submit(_compile, module, missing[module]) for module in order]
        try:
            for done, task in enumerate(as_completed(tasks), 1):
                task.result()
                _show(done, len(tasks))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _compile(module: str, places: dict[str, Path]) -> None:
    """Compile the kernels of a module for some kinds. Each folder is complete or not there. Raises Refused."""
    code = {entry.name: object_files(entry, list(places)) for entry in entries(module)}
    for number, place in enumerate(places.values()):
        for outdated in place.parent.glob(f"{module}-*"):
            shutil.rmtree(outdated)
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=place.parent))
        for name, objects in code.items():
            (draft / f"{name}.o").write_bytes(objects[number])
        draft.rename(place)


def _show(done: int, total: int) -> None:
    """Print progress: on a terminal in one line, else every ten modules."""
    line = f"compiled {done} of {total} modules with kernels"
    if sys.stdout.isatty():
        print(f"\r{line}", end="\n" if done == total else "", flush=True)
    elif done == total or done % 10 == 0:
        print(line, flush=True)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
