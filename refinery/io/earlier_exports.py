"""Files of an input that are exports of earlier runs: read again beside other files, their samples count twice."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from refinery.storage.run_folder import RunDir

_NAMED = 3


def note_on_exports(place: str, paths: Sequence[str]) -> str | None:
    """Note on the files that runs have exported, as the run folders beside them list; None if there are none, or no others."""
    listed = {folder: _exports(folder) for folder in {os.path.dirname(path) for path in paths}}
    beside = [(path, exports) for path in paths if (exports := listed[os.path.dirname(path)])]
    exported = [path for path, exports in beside if os.path.realpath(path) in exports]
    if not exported or len(exported) == len(paths):
        return None
    names = ", ".join(exported[:_NAMED]) + (f" and {len(exported) - _NAMED:,} more" if len(exported) > _NAMED else "")
    verb = "is an export" if len(exported) == 1 else "are exports"
    cure = "If that is not meant, write exports to another folder, or name the files of the input"
    return f"{place}: {names} {verb} of an earlier run, read together with {len(paths) - len(exported):,} other files. {cure}"


def _exports(folder: str) -> set[str]:
    """The exports of the run whose folder it is; none for other folders."""
    try:
        manifest = json.loads(RunDir(Path(folder)).manifest.read_text(encoding="utf-8"))
        return {os.path.realpath(item["path"]) for item in manifest["outputs"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
