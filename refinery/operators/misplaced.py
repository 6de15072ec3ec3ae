"""Operators in folders where they are not looked for: in a user's folder itself, or below a name like `mapper/`."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from refinery.operators.model import KINDS
from refinery.operators.reader_files import FOLDER

FOLDERS = (*KINDS, "features", "matchers", FOLDER)
_LISTED = f"{', '.join(f'{name}/' for name in FOLDERS[:-1])} or {FOLDERS[-1]}/"
# The beginning of a header, in Python and in SQL.
_HEADER = re.compile(rb"^(OPERATOR|FEATURE)\s*(:[^=\n]*)?=\s*(\{|dict\()|\A\s*/\*---", re.MULTILINE)


def problem_with(folder: Path) -> str:
    """Reason why operators of a user's folder would not be found, with the cure; empty if there is none."""
    if not folder.is_dir():
        what = "a file" if folder.exists() else "no such folder of operators"
        return f"{what}. Name a folder that has operators below {_LISTED}"
    for file in _operators_in(folder):
        if folder.name in FOLDERS:
            return f"holds operators of one kind ({file.name}). Name the folder above: {folder.parent}"
        return _cure(f"{file.name} is in no folder of a kind", f"{folder.name}/{_kind_of(file)}/{file.name}")
    names = _folders_in(folder)
    for name in names:
        [meant] = difflib.get_close_matches(name.lower(), FOLDERS, 1, 0.8) or [""]
        if name not in FOLDERS and meant:
            for file in _operators_in(folder / name):
                return _cure(f"{name}/{file.name} is not looked for", f"{meant}/{file.name}")
    return "" if {*names} & {*FOLDERS} else f"has no operators: they are looked for below {_LISTED}"


def _cure(what: str, place: str) -> str:
    return f"{what}. Move it to {place}, or begin its name with _ if it is no operator of its own"


def _kind_of(file: Path) -> str:
    """The folder for an operator, by the end of its name."""
    return next((folder for folder, kind in KINDS.items() if file.stem.endswith(f"_{kind}")), "mappers")


def _operators_in(folder: Path) -> Iterator[Path]:
    """Files directly in a folder that have a header of an operator or a feature."""
    for name in _names(folder):
        file = folder / name
        if file.suffix in (".py", ".sql") and not name.startswith("_"):
            with suppress(OSError):
                if _HEADER.search(file.read_bytes()):
                    yield file


def _folders_in(folder: Path) -> list[str]:
    return [name for name in _names(folder) if (folder / name).is_dir()]


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
