"""State of the reference engine: digests of the kept samples, and the columns of tables; all of it is read by each change."""

from __future__ import annotations

import json
from pathlib import Path

from refinery.common.digest import size_and_digest

# Names of the files.
DIGESTS, SCHEMA = "digests.parquet", "schema.arrow"
_SEAL = "seal.json"


def seal(folder: Path) -> None:
    """Record the contents of the state's files, last of all."""
    (folder / _SEAL).write_text(json.dumps(_contents(folder)), encoding="utf-8")


def differences(folder: Path) -> list[str]:
    """Reasons why a state is not as it was sealed; none if it is."""
    try:
        known = json.loads((folder / _SEAL).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return [f"{folder / _SEAL}: cannot be read ({error})"]
    if known != _contents(folder):
        return [f"{folder}: files of the engine's state are missing, or have changed"]
    return []


def _contents(folder: Path) -> dict[str, list[int | str]]:
    """Size and digest of each file."""
    files = (folder / name for name in (DIGESTS, SCHEMA))
    return {file.name: [*size_and_digest(file)] for file in files if file.is_file()}
