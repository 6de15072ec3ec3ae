"""Contents of a snapshot's files, by which a file that has changed and kept its size is noticed.

A file whose inode, size and times are as they were when it was published has not been written to. Of any other the digest is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from refinery.common.digest import size_and_digest
from refinery.corpus.folder import CorpusFolder
from refinery.corpus.manifest import RECIPE, RESTORE, VIEW, Contents, Manifest
from refinery.corpus.stamps import stamp_of
from refinery.errors import DataError
from refinery.results.digests.hashing import in_threads


def contents_of(path: Path) -> Contents:
    """The contents of a file as they are now. Raises OSError."""
    stamp = stamp_of(str(path))  # before it is read: a later change then shows
    size, digest = size_and_digest(path)
    return Contents(size, digest, stamp)


def contents_after(made: Manifest, last: Manifest | None, place: Callable[[str], Path]) -> dict[str, Contents]:
    """Contents of all files that a new snapshot needs, and of its view and recipe. last: the snapshot before it. place: the present path of a new file, by its name."""
    own = CorpusFolder(Path()).snapshot(made.snapshot)
    known = {} if last is None else last.contents
    fresh = [name for name in made.names if Path(name).parent == own] + [str(own / name) for name in (VIEW, RECIPE)]
    return {name: known[name] for name in made.names if name in known} | {
        name: contents_of(place(name)) for name in fresh
    }


def require_contents(folder: CorpusFolder, made: Manifest) -> Manifest:
    """The manifest of a snapshot whose files are as they were published, with their present stamps. Raises DataError for the first one that is not.

    Files of snapshots of earlier versions of refinery have no digests, and are taken as they are.
    """
    names = [name for name in made.names if name in made.contents]
    now = in_threads(lambda name: _unchanged(folder, made, name), names)
    return replace(made, contents=made.contents | dict(zip(names, now, strict=True)))


def require_recipe(folder: CorpusFolder, made: Manifest) -> Path:
    """The file of a snapshot's recipe, which is as it was published. Raises DataError."""
    path = folder.snapshot(made.snapshot) / RECIPE
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}). {RESTORE}") from error
    if text != made.recipe:
        raise DataError(f"{path}: is not the recipe that snapshot {made.snapshot} was made with. {RESTORE}")
    return path


def _unchanged(folder: CorpusFolder, made: Manifest, name: str) -> Contents:
    known, path = made.contents[name], folder.path(name)
    try:
        if stamp_of(str(path)) == known.stamp:
            return known
        now = contents_of(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}). {RESTORE}") from error
    if (now.size, now.digest) != (known.size, known.digest):
        raise DataError(f"{path}: has other contents than snapshot {made.snapshot} was published with. {RESTORE}")
    return now
