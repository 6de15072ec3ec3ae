"""Numba kernels and the Arrow plumbing around them.

Kernels work on UTF-8 bytes and offsets, release the GIL and are cached on disk. The cache lives in a folder of its
own per version of the sources, because numba does not notice when a function that a kernel calls has changed.

The modules are imported when the first name of theirs is asked for, as in `kernels.text.lines.count_lines`: numba takes a
fifth of a second, and commands that look at stored numbers need none of it.
"""

import hashlib
import importlib
import os
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refinery.kernels.core import blocks as blocks
    from refinery.kernels.core import digest as digest
    from refinery.kernels.dedup import unionfind as unionfind
    from refinery.kernels.json import jsoncheck as jsoncheck
    from refinery.kernels.json import jsonsplice as jsonsplice
    from refinery.kernels.json import jsontext as jsontext
    from refinery.kernels.stats import moment_sums as moment_sums
    from refinery.kernels.stats import moments as moments
    from refinery.kernels.text import lines as lines
else:

    def __getattr__(name: str) -> ModuleType:
        if (Path(__file__).parent / f"{name}.py").is_file():
            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def cache_root() -> Path:
    """Folder of everything that can be rebuilt: `$REFINERY_CACHE_DIR`, else the user's cache folder."""
    base = os.environ.get("REFINERY_CACHE_DIR")
    if base:
        return Path(base)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "refinery"


def _sources_digest() -> str:
    digest = hashlib.sha256()
    home = Path(__file__).parent
    for path in sorted(home.rglob("*.py")):
        digest.update(f"{path.relative_to(home)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _usable(folder: Path) -> Path:
    """`folder` when it can be written to, else a folder of this user's under the temporary directory."""
    import tempfile

    for candidate in (folder, Path(tempfile.gettempdir()) / f"refinery-{os.getuid() if hasattr(os, 'getuid') else 0}"):
        try:
            candidate.mkdir(parents=True, exist_ok=True)
            if os.access(candidate, os.W_OK):
                return candidate
        except OSError:
            continue
    return folder


CACHE = _usable(cache_root() / f"kernels-{_sources_digest()}")

# numba reads this when it is first imported; this package is imported before it.
os.environ.setdefault("NUMBA_CACHE_DIR", str(CACHE / "numba"))


def cold() -> bool:
    """Whether no kernel has been compiled yet on this machine for these sources."""
    return not any((CACHE / "numba").rglob("*.nbc"))
