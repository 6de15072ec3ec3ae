"""Machine code of kernels: object files that come with the package or lie in the user's cache, and their loading.

An object file is for one kernel, one version of all kernels' sources and one kind of processor. It needs LLVM's loader
(llvmlite) alone, so a run whose kernels are compiled never imports numba.
"""

import ctypes
import hashlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from llvmlite import binding

from refinery.common.packages import installed_version
from refinery.kernels.core.cache import CACHE, SHIPPED, SOURCES

# Kinds of processors that a wheel has machine code for, the best first, and the features that each kind needs.
_V3 = "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 sse4.2 ssse3 xsave".split()
KINDS = {
    "x86-64-v4": [*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"],
    "x86-64-v3": _V3,
    "generic": [],
}
_OK, _NONE = 0, -2  # what machine code of numba returns after a result, and after none

_lock = threading.Lock()
_loaded: list[Any] = []  # engines, which own the code


class MachineCode:
    """Function of loaded machine code.

    address: of the function. results: names of the types of its results, `["void"]` for none. room: integers that it
    writes.
    """

    def __init__(self, address: int, results: Sequence[str]) -> None:
        # ctypes releases the interpreter's lock during the call.
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(address)
        self.results = list(results)
        self._room: Any = None

    def __call__(self, values: list[int]) -> list[int]:
        """The results' bits, as signed integers. Raises RuntimeError when the kernel fails."""
        if self._room is None:
            self._room = ctypes.c_int64 * max(len(values), len(self.results))
        numbers = self._room(*values)
        status = self._call(ctypes.addressof(numbers))
        if status not in (_OK, _NONE):
            raise RuntimeError(f"machine code of a kernel ended with status {status}")
        return numbers[: len(self.results)]


def load(name: str) -> MachineCode | None:
    """Load the machine code of a kernel. name: of its module and function. None where no file has it."""
    for folder in _folders():
        try:
            content = (folder / f"{name}.o").read_bytes()
        except OSError:
            continue
        if found := _checked(content):
            return _link(*found)
    return None


def is_known(name: str) -> bool:
    """True if there is an object file of a kernel."""
    return any((folder / f"{name}.o").is_file() for folder in _folders())


def store(name: str, folder: Path, symbol: str, results: list[str], code: bytes) -> None:
    """Write the object file of a kernel, at once or not at all."""
    head = json.dumps({"symbol": symbol, "results": results, "digest": hashlib.sha256(code).hexdigest()})
    _write(folder / f"{name}.o", head.encode() + b"\n" + code)


def copies() -> dict[str, bytes]:
    """The object files that this computer has compiled, for computers with a processor of the same kind."""
    folder = user_folder()
    names = sorted(folder.glob("*.o")) if folder.is_dir() else []
    return {f"{SOURCES}/{folder.name}/{path.name}": path.read_bytes() for path in names}


def adopt(files: Mapping[str, bytes]) -> None:
    """Store the `copies` of another computer, as far as they are for this one's sources and processor."""
    folder = user_folder()
    for name, content in files.items():
        if name == f"{SOURCES}/{folder.name}/{(place := folder / Path(name).name).name}" and not place.is_file():
            if _checked(content):
                _write(place, content)


def _write(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_suffix(f".{os.getpid()}.{threading.get_ident()}.tmp")
    draft.write_bytes(content)
    draft.replace(place)


def _checked(content: bytes) -> tuple[str, list[str], bytes] | None:
    """Symbol, results and code of a file, None for a damaged one."""
    head, _, code = content.partition(b"\n")
    try:
        said = json.loads(head)
        symbol, results, digest = said["symbol"], said["results"], said["digest"]
    except (ValueError, KeyError, TypeError):
        return None
    return (symbol, results, code) if digest == hashlib.sha256(code).hexdigest() else None


def _link(symbol: str, results: list[str], code: bytes) -> MachineCode:
    with _lock:
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _machine())
        engine.add_object_file(binding.ObjectFileRef.from_data(code))
        engine.finalize_object()
        _loaded.append(engine)
        return MachineCode(engine.get_function_address(symbol), results)


def _machine() -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_default_triple().create_target_machine(jit=True)


@lru_cache(maxsize=1)
def user_folder() -> Path:
    """Folder of the machine code that this computer compiles for its own processor."""
    return CACHE / "code" / hashlib.sha256(_processor().encode()).hexdigest()[:16]


def shipped_folder(kind: str, home: Path = SHIPPED) -> Path:
    """Folder for machine code of a kind of processor. home: of all kinds, in the package."""
    return home / SOURCES / binding.get_default_triple() / kind


@lru_cache(maxsize=1)
def _folders() -> list[Path]:
    has = binding.get_host_cpu_features()
    kinds = [kind for kind, needed in KINDS.items() if all(has.get(feature) for feature in needed)]
    return [user_folder(), *(shipped_folder(kind) for kind in kinds)]


def _processor() -> str:
    features = binding.get_host_cpu_features()
    versions = [installed_version(library) for library in ("numba", "llvmlite")]
    asked = {name: value for name, value in os.environ.items() if name.startswith("NUMBA_CPU")}
    return f"{binding.get_default_triple()} {binding.get_host_cpu_name()} {sorted(features.items())} {sorted(asked.items())} {versions}"
