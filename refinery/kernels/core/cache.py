"""Cache folder of compiled kernels, one per version of the kernel sources.

numba does not notice a change in a function that a kernel calls, so the folder's name holds a digest of all sources.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from refinery.common.cache_folder import cache_root
from refinery.common.source_files import add_contents, files_below


def own_name() -> str:
    """A new name for a folder of this process."""
    return f"{name_prefix()}{os.getpid()}-{os.urandom(8).hex()}"


def name_prefix() -> str:
    """The beginning of such names of all processes of this machine; the number of the process follows."""
    return f"process-{os.uname().nodename}-"


def _sources_digest() -> str:
    digest = hashlib.sha256()
    files = files_below(str(Path(__file__).parent.parent))
    add_contents(digest, ((name, path) for name, path in files if name.endswith(".py")))
    return digest.hexdigest()[:16]


def _made(folder: Path) -> Path:
    with suppress(OSError):  # without it, everything is computed
        folder.mkdir(exist_ok=True)
    return folder


SOURCES = _sources_digest()
SHIPPED = Path(__file__).parent.parent / "compiled"  # machine code of a wheel
CACHE = _made(cache_root() / f"kernels-{SOURCES}")
