"""Cache folder of compiled kernels, one per version of the kernel sources.

numba does not notice a change in a function that a kernel calls, so the folder's name holds a digest of all sources.
"""

import hashlib
import os
from pathlib import Path

from refinery.common.source_files import add_contents, files_below


def cache_root() -> Path:
    """Folder of all rebuildable files: `$REFINERY_CACHE_DIR`, else the user's cache folder."""
    base = os.environ.get("REFINERY_CACHE_DIR")
    if base:
        return Path(base)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "refinery"


def _sources_digest() -> str:
    digest = hashlib.sha256()
    files = files_below(str(Path(__file__).parent.parent))
    add_contents(digest, ((name, path) for name, path in files if name.endswith(".py")))
    return digest.hexdigest()[:16]


def _usable(folder: Path) -> Path:
    """`folder` when it is writable, else a folder of this user under the temporary directory."""
    import tempfile

    for candidate in (folder, Path(tempfile.gettempdir()) / f"refinery-{os.getuid() if hasattr(os, 'getuid') else 0}"):
        try:
            candidate.mkdir(parents=True, exist_ok=True)
            if os.access(candidate, os.W_OK):
                return candidate
        except OSError:
            continue
    return folder


SOURCES = _sources_digest()
SHIPPED = Path(__file__).parent.parent / "compiled"  # machine code of a wheel
CACHE = _usable(cache_root() / f"kernels-{SOURCES}")
