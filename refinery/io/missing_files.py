"""Places of inputs that lead nowhere: links without a target, folders that cannot be read."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator

from refinery.common.paths import printable
from refinery.errors import DataError
from refinery.io.folders import base_of, below, is_never_data, odd_kind

# A file's suffix, unlike a version (`v1.0`) or a partition (`lang=de`), which folders have.
_SUFFIX = re.compile(r"[^=]*\.[A-Za-z][A-Za-z0-9]*")
# Number of entries that a message names.
_NAMED = 5


def leads_nowhere(path: str) -> bool:
    """True for a link that cannot be followed: behind it could be a folder of data."""
    if not os.path.islink(path):
        return False
    try:
        os.stat(path)
    except OSError:
        return True
    return False


def may_be_folder(path: str) -> bool:
    """True if a name without a file's suffix leads nowhere, like a partition on a volume that is not mounted."""
    return not _SUFFIX.fullmatch(os.path.basename(path)) and leads_nowhere(path)


def refuse_pattern(pattern: str) -> None:
    """Check that all folders that a pattern matches can be entered. Raises DataError naming the others.

    `glob` skips such entries silently. Costs one more listing of the same folders.
    """
    if glob.has_magic(pattern) and not os.path.exists(pattern):
        refuse(pattern, sorted(set(_astray(pattern))))


def refuse(place: str, paths: Iterable[str]) -> None:
    """Raise DataError for entries of a folder or pattern that cannot be read."""
    odd = [f"{printable(path)} is {odd_kind(path) or 'a folder without permission to read it'}" for path in paths]
    if odd:
        raise DataError(
            f"{printable(place)}: cannot be read as a whole: {named(odd)}. Remove or mend it, or mount its target"
        )


def oddities(paths: Iterable[str]) -> str:
    """Note about skipped entries that are not files; empty without any."""
    odd = [f"{printable(path)} is {kind}" for path in paths if (kind := odd_kind(path)) is not None]
    return named(odd) if odd else ""


def named(items: list[str]) -> str:
    """The first of several items, and the number of further ones."""
    more = f" and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
    return "; ".join(items[:_NAMED]) + more


def _astray(pattern: str) -> Iterator[str]:
    parts, base = pattern.split("/"), base_of(pattern, False)
    if _locked(base):
        yield base
    for place, part in enumerate(parts):
        until = "/".join(parts[: place + 1])
        last, deep = place == len(parts) - 1, "**" in parts[: place + 1]
        if len(until) <= len(base) or (last and not deep):
            continue
        for path in glob.iglob(until, recursive=True):
            if is_never_data(below(base, path) or (part,), pattern):
                continue
            lost = not last and (may_be_folder(path) if part == "**" else leads_nowhere(path))
            if lost or _locked(path):
                yield path


def _locked(path: str) -> bool:
    return os.path.isdir(path) and not os.access(path, os.R_OK | os.X_OK)
