"""Linking of object files to one shared library, by a C compiler or by `ziglang` from the package index."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import llvmlite.binding as llvm

from refinery.common.packages import installed_version
from refinery.kernels.build.compile import target
from refinery.kernels.core.library import COMPILER_SYMBOL, SOURCES_SYMBOL


class NoLinker(Exception):
    """This computer has nothing that links."""


def linker() -> list[str]:
    """The command that links. Raises NoLinker."""
    named = os.environ.get("CC")
    if named:
        return named.split()
    for compiler in ("cc", "gcc", "clang"):
        if shutil.which(compiler):
            return [compiler]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise NoLinker("no C compiler links the kernels. Install one (cc), or the package: pip install ziglang")


def link(objects: Sequence[Path], library: Path, kind: str, sources: str) -> None:
    """Link object files to a library, which is complete or not there.

    sources: digest of what it is built from, which the library names. Raises NoLinker, and CalledProcessError with the
    linker's message.
    """
    library.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        name = Path(folder) / "texts.o"
        compiler = " ".join(f"{package} {installed_version(package)}" for package in ("llvmlite", "numba"))
        name.write_bytes(_texts(kind, {SOURCES_SYMBOL: sources, COMPILER_SYMBOL: compiler}))
        draft = Path(folder) / library.name
        command = [*linker(), "-shared", "-s", "-o", str(draft), str(name), *map(str, objects), "-lm"]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        draft.replace(library)


def _texts(kind: str, texts: Mapping[str, str]) -> bytes:
    """Object file with texts, by their names."""
    lines = [f'@{name} = constant [{len(text) + 1} x i8] c"{text}\\00"' for name, text in texts.items()]
    module = llvm.parse_assembly("\n".join(lines))
    machine = target(kind)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return bytes(machine.emit_object(module))
