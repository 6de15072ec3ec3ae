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
# Statistics files are many and small: they travel as one archive.
ARCHIVE = OWN / "datatrove" / "stats.tar.xz"


def recorded_results() -> Path:
    """Folder of the recorded results that this test run compares with."""
    named = os.environ.get(VARIABLE)
    return Path(named).absolute() if named else _unpacked_own()


def missing_parts(folder: Path) -> list[str]:
    """Names of the parts of recorded results that a folder lacks; public recipes belong to the larger set alone."""
    wanted = ["data_juicer", "datatrove", *(["hub_recipes"] if os.environ.get(VARIABLE) else [])]
    return [name for name in wanted if not (folder / name).is_dir()]


def _unpacked_own() -> Path:
    """A folder with links to the project's own recorded results and its statistics files, unpacked once."""
    digest = hashlib.sha256(ARCHIVE.read_bytes()).hexdigest()[:16]
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
    for path in ARCHIVE.parent.iterdir():
        if path != ARCHIVE:
            (made / "datatrove" / path.name).symlink_to(path)
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(made / "datatrove", filter="data")
    try:
        made.rename(target)
    except OSError:  # another process was first
        shutil.rmtree(made)
