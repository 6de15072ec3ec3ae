"""Files of a folder or a glob pattern: walking, entries that are not files, names that are never data."""

from __future__ import annotations

import glob
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from refinery.common.paths import printable
from refinery.errors import DataError, did_you_mean

# Files that other tools leave beside data; they hold no samples.
_MARKERS = {"dataset_info.json", "state.json", "dataset_dict.json", "dataset_infos.json", "Thumbs.db"}
_PAPERS = ("README", "LICENSE")
_ODD = {
    stat.S_ISFIFO: "a named pipe",
    stat.S_ISSOCK: "a socket",
    stat.S_ISBLK: "a device",
    stat.S_ISCHR: "a device",
}


def files_of(path: str) -> tuple[list[str], bool]:
    """Everything but folders below a folder or matching a pattern; and whether the path is a folder."""
    if os.path.isdir(path):
        return sorted(_walk(path)), True
    if os.path.exists(path):
        raise DataError(f"{path}: neither a file nor a folder, but {odd_kind(path) or 'something else'}")
    if not glob.has_magic(path):
        raise DataError(_missing(path))
    matches = sorted(glob.glob(path, recursive=True))
    if not matches:
        raise DataError(f"{path}: no file matches the pattern")
    files = [match for match in matches if not os.path.isdir(match)]
    if "**" not in path:  # with `**` the entries below a folder match by themselves
        files = sorted(files + [name for match in matches if os.path.isdir(match) for name in _walk(match)])
    return files, False


def _walk(folder: str) -> Iterator[str]:
    """Entries below a folder that are not folders; links are followed, but no folder is entered twice."""
    seen = set()
    for root, folders, files in os.walk(folder, followlinks=True, onerror=_unreadable):
        real = os.path.realpath(root)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        yield from (os.path.join(root, name) for name in files)


def _unreadable(error: OSError) -> None:
    raise DataError(f"{error.filename}: the folder cannot be read ({error.strerror})") from error


def odd_kind(path: str) -> str | None:
    """The reason why an entry cannot be read as a file, found without opening it; None where it can."""
    if printable(path) != path:
        return "a name that is not UTF-8, which no table can hold; rename it"
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        target = f" to {os.readlink(path)}" if os.path.islink(path) else ""
        return f"a link{target}, which is not there" if target else "gone by now"
    except OSError as error:
        return f"not accessible ({error.strerror})"
    if stat.S_ISREG(mode):
        return None if os.access(path, os.R_OK) else "a file without permission to read it"
    return next((what for test, what in _ODD.items() if test(mode)), "no regular file")


def _missing(path: str) -> str:
    """Message about a missing path: the first part that does not exist, and its likely spelling."""
    if os.path.islink(path):
        return f"{path}: {odd_kind(path)}"
    parent, name = Path(path).absolute().parent, Path(path).name
    while not parent.is_dir() and parent != parent.parent:
        parent, name = parent.parent, parent.name
    try:
        known = os.listdir(parent)
    except OSError as error:
        return f"{path}: {parent} cannot be listed ({error.strerror})"
    place = "" if parent == Path(path).absolute().parent else f": {parent} has no {name!r}"
    return f"{path}: no such file or folder{place}{did_you_mean(name, known)}"


def base_of(place: str, folder: bool) -> str:
    """The folder below which names are looked at; of a pattern, the parts before the first wildcard."""
    if folder:
        return place.rstrip("/")
    parts = place.split("/")
    first = next((k for k, part in enumerate(parts) if glob.has_magic(part)), len(parts) - 1)
    return "/".join(parts[:first])


def below(base: str, path: str) -> tuple[str, ...]:
    """The parts of a path below a base."""
    rest = path[len(base) :] if path.startswith(base) else path
    return tuple(part for part in rest.split("/") if part)


def is_never_data(parts: tuple[str, ...], pattern: str = "") -> bool:
    """Return whether a file's name, or the name of a folder above it, marks it as no data.

    pattern: the pattern that found the file; names that the pattern spells out (`_raw`, `README*`) count as data.
    """
    meant = [part for part in pattern.split("/") if part]
    hidden = any(part[0] in "._" and not any(word[0] == part[0] for word in meant) for part in parts)
    papers = any(_is_paper(parts[-1], paper) and not any(paper in word for word in meant) for paper in _PAPERS)
    return hidden or papers or parts[-1] in _MARKERS


def _is_paper(name: str, paper: str) -> bool:
    return name.startswith(paper) or name.partition(".")[0].upper() == paper


def of_one_format(
    files: Sequence[tuple[str, str]],
    size_of: Callable[[str], int],
    skipped: Counter[str],
    family: Callable[[str], str],
) -> list[tuple[str, str]]:
    """Files with their formats, only those of the most frequent format (in a tie, the format with most bytes).

    skipped: receives the numbers of the other files. family: one name for formats that are read alike.
    """
    counts = Counter(family(kind) for _, kind in files)
    if len(counts) < 2:
        return list(files)
    most = [kind for kind, count in counts.items() if count == max(counts.values())]
    sizes: Counter[str] = Counter()
    for path, kind in files:
        sizes[family(kind)] += size_of(path) if len(most) > 1 else 0
    chosen = max(sorted(most), key=sizes.__getitem__)
    for kind, count in counts.items():
        if kind != chosen:
            skipped[
                f"{kind} (most are {chosen}, and a folder is read as one format; name the others to read them)"
            ] += count
    return [(path, kind) for path, kind in files if family(kind) == chosen]
