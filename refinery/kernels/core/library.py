"""The library of machine code that the build makes of all kernels, and the choice of the one for this processor.

The library lies beside the sources, and names the sources that it was built from: another version is refused.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from refinery.common.source_files import add_contents, files_below
from refinery.errors import OperatorError
from refinery.kernels.core.signatures import Signature

HOME = Path(__file__).parents[1]
BUILT = HOME / "built"
BUILD_COMMAND = "python -m refinery.kernels.build"
SOURCES_SYMBOL, COMPILER_SYMBOL = "refinery_kernels_sources", "refinery_kernels_compiler"
PYTHON = "python"

# Kinds of x86-64 processors, the best first, and the flags of each, as Linux names them.
_V2 = "cx16 lahf_lm pni popcnt sse4_1 sse4_2 ssse3".split()
_V3 = [*_V2, *"abm avx avx2 bmi1 bmi2 f16c fma movbe xsave".split()]
_V4 = [*_V3, *"avx512bw avx512cd avx512dq avx512f avx512vl".split()]
FLAGS = {"x86-64-v4": _V4, "x86-64-v3": _V3, "x86-64-v2": _V2}


class MissingKernel(OperatorError):
    """A kernel that the library lacks, which was built of some packages or modules alone."""


def setting() -> str:
    """The variable REFINERY_KERNELS: `python`, a kind of processor, or empty for the best kind that is built."""
    return os.environ.get("REFINERY_KERNELS", "")


def in_python() -> bool:
    """Return whether kernels run as plain Python."""
    return setting() == PYTHON


def kinds() -> list[str]:
    """Kinds of processors whose machine code this one runs, the best first."""
    machine = platform.machine().lower()
    if machine not in ("x86_64", "amd64"):
        return [machine]
    flags = _flags()
    return [kind for kind, needed in FLAGS.items() if flags.issuperset(needed)] or ["x86-64"]


def _flags() -> set[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:  # not Linux: all Macs with such a processor that Python 3.11 runs on have these
        return set(_V2)
    return set(next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), []))


def path_of(kind: str, folder: Path = BUILT) -> Path:
    """The library for a kind of processor."""
    return folder / f"kernels-{kind}.{'dylib' if sys.platform == 'darwin' else 'so'}"


@cache
def sources_digest() -> str:
    """Digest of all files that a library is built from."""
    digest = hashlib.sha256()
    add_contents(digest, ((name, path) for name, path in files_below(str(HOME)) if name.endswith(".py")))
    return digest.hexdigest()[:32]


def require_kernels() -> None:
    """Raise OperatorError where kernels cannot run, so that it is known before any sample is read."""
    if not in_python():
        _loaded()


def function(name: str, signature: Signature) -> Callable[..., Any]:
    """The kernel of a name, as `Kernel.name`. Raises MissingKernel if the library lacks it."""
    symbol = symbol_of(name)
    place, library = _loaded()
    try:
        return signature.caller(library[symbol])
    except AttributeError as error:
        raise MissingKernel(f"{place} has no kernel {name}. Build all of them: {BUILD_COMMAND}") from error


def symbol_of(name: str) -> str:
    """Name of a kernel's function in the library."""
    return "refinery_" + name.replace(".", "_")


def compiler() -> str:
    """Versions of the packages that built the kernels of this process; empty where none are built."""
    if in_python():
        return PYTHON
    try:
        return _text(_loaded()[1], COMPILER_SYMBOL)
    except OperatorError:
        return ""


def _text(library: ctypes.CDLL, symbol: str) -> str:
    """A text that the build has put into the library."""
    return ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library, symbol))).decode()


@cache
def _loaded() -> tuple[Path, ctypes.CDLL]:
    """The library for this processor, and its file. Raises OperatorError where none is built of these sources."""
    choice = setting()
    possible = kinds()
    if choice and choice not in possible:
        raise OperatorError(f"REFINERY_KERNELS={choice} is neither {PYTHON} nor a kind of this processor: {possible}")
    place = next((file for kind in possible if choice in ("", kind) and (file := path_of(kind)).is_file()), None)
    if place is None:
        raise OperatorError(f"{BUILT} has no kernels for this processor ({possible[0]}). Build them: {BUILD_COMMAND}")
    library = ctypes.CDLL(str(place))
    if _text(library, SOURCES_SYMBOL) != sources_digest():
        raise OperatorError(f"{place} was built from other sources of kernels. Build it anew: {BUILD_COMMAND}")
    return place, library
