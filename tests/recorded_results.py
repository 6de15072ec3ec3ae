"""Folders of the peers' recorded results: those of this project's texts, and the larger set that a variable names."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
OWN = ROOT / "tests" / "conformance" / "own"
VARIABLE = "REFINERY_CONFORMANCE"
# Files that are many and alike travel as archives: folder that they are unpacked to, and the archive.
ARCHIVES = {"datatrove": OWN / "datatrove" / "stats.tar.xz", ".": OWN / "web.tar.xz"}


def recorded_results() -> Path:
    """Folder of the recorded results that this test run compares with."""
    named = os.environ.get(VARIABLE)
    return Path(named).absolute() if named else _unpacked_own()


def web_results() -> Path:
    """Folder of the recorded results of the web's peers."""
    found = recorded_results()
    return (found.parent if os.environ.get(VARIABLE) else found) / "web"


def missing_parts(folder: Path) -> list[str]:
    """Names of the parts of recorded results that a folder lacks; public recipes belong to the larger set alone."""
    wanted = ["data_juicer", "datatrove", *(["hub_recipes"] if os.environ.get(VARIABLE) else [])]
    return [name for name in wanted if not (folder / name).is_dir()]


def _unpacked_own() -> Path:
    """A folder with links to the project's own recorded results and the files of its archives, unpacked once."""
    names = "\n".join(sorted(path.name for path in (OWN / "datatrove").iterdir()))
    archives = b"".join(path.read_bytes() for path in ARCHIVES.values())
    digest = hashlib.sha256(archives + names.encode()).hexdigest()[:16]
    target = ROOT / ".pytest_cache" / f"recorded-{digest}"
    if not target.is_dir():
        _unpack(target)
    return target


def _unpack(target: Path) -> None:
    """Make the folder under another name, so that it appears whole; test processes start at the same time."""
    target.parent.mkdir(exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=target.parent))
    (made / "data_juicer").symlink_to(OWN / "data_juicer")
    (made / "datatrove").mkdir()
    for path in (OWN / "datatrove").iterdir():
        if path not in ARCHIVES.values():
            (made / "datatrove" / path.name).symlink_to(path)
    for folder, archive in ARCHIVES.items():
        with tarfile.open(archive) as files:
            files.extractall(made / folder, filter="data")
    try:
        made.rename(target)
    except OSError:  # another process was first
        shutil.rmtree(made)
