"""The work of a build: modules are compiled on all processors, then linked."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from refinery.kernels.build.compile import Refused, object_files
from refinery.kernels.build.link import link
from refinery.kernels.build.modules import digest_of, entries, groups, modules
from refinery.kernels.core.library import path_of, sources_digest


def build(kinds: Sequence[str], names: Sequence[str], folder: Path) -> None:
    """Build the library of some packages or modules for each kind of processor.

    Raises Refused, NoLinker or CalledProcessError.
    """
    sources = sources_digest()  # before they are read: a file that is changed meanwhile makes the library outdated
    places = {(kind, module): _objects(folder, kind, module) for kind in kinds for module in modules(names)}
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
    return folder / "objects" / kind / _name(module, kind)


def _name(module: str, kind: str) -> str:
    return f"{module}-{digest_of(module, kind)}"


def _compile_all(missing: dict[str, dict[str, Path]]) -> None:
    """Compile modules on all processors. missing: by module and kind, the folder to fill."""
    together = groups(list(missing), _cores())
    # numba makes and keeps millions of objects: to look through them again and again takes a fifth of the time.
    setting: dict[str, Any] = {"initializer": gc.set_threshold, "initargs": (500_000,)}
    processes = max(1, min(_cores(), len(together)))
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), **setting) as pool:
        tasks = {pool.submit(_compile, {name: missing[name] for name in group}): len(group) for group in together}
        done = 0
        try:
            for task in as_completed(tasks):
                task.result()
                done += tasks[task]
                print(f"compiled {done} of {len(missing)} modules with kernels", flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _compile(places: dict[str, dict[str, Path]]) -> None:
    """Compile the kernels of modules for some kinds. Each folder is complete or not there. Raises Refused."""
    for module, folders in places.items():
        code = {entry.name: object_files(entry, list(folders)) for entry in entries(module)}
        for number, (kind, place) in enumerate(folders.items()):
            if place.name != _name(module, kind):
                raise Refused(f"{module}: its sources were changed while it was built. Build again")
            _write({name: objects[number] for name, objects in code.items()}, place, module)


def _write(code: dict[str, bytes], place: Path, module: str) -> None:
    for outdated in place.parent.glob(f"{module}-*"):
        shutil.rmtree(outdated)
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=place.parent))
    for name, content in code.items():
        (draft / f"{name}.o").write_bytes(content)
    draft.rename(place)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
