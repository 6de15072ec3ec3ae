"""Digests of a state's files, by the pieces that a change reads alone: the row groups of a Parquet file, and what stands behind them.

So a change checks what it reads, and no more, whatever the size of the corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from refinery.common.digest import Digest
from refinery.common.lazy import pq


class DamagedState(Exception):
    """A file of a state has other contents than it was written with."""


@dataclass(frozen=True)
class Seal:
    """Digests of a file. ends: of its pieces, in bytes; the last one is its size. digests: of each piece."""

    ends: tuple[int, ...]
    digests: tuple[str, ...]

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.ends[-1]


class Seals:
    """Seals of the files in a folder. known: by name; changes with the files."""

    def __init__(self, folder: Path, known: dict[str, Seal]) -> None:
        self._folder, self._known = folder, known
        self._checked: set[tuple[str, int]] = set()

    def set(self, path: Path) -> None:
        """Seal a file that was just written."""
        self.drop(path)
        ends = _ends(path)
        self._known[self._name(path)] = Seal(ends, tuple(_digests(path, ends, range(len(ends)))))

    def drop(self, path: Path) -> None:
        """Forget a file that is removed or renamed."""
        name = self._name(path)
        self._known.pop(name, None)
        self._checked = {one for one in self._checked if one[0] != name}

    def require(self, path: Path, groups: Iterable[int] | None = None) -> None:
        """Check row groups of a file and what stands behind them, once; None: all of it. Raises DamagedState."""
        name = self._name(path)
        seal = self._known.get(name)
        if seal is None:
            raise DamagedState(f"{path}: is no file of the state")
        last = len(seal.ends) - 1
        wanted = range(last + 1) if groups is None else [*groups, last]
        pieces = [piece for piece in wanted if (name, piece) not in self._checked]
        if _digests(path, seal.ends, pieces) != [seal.digests[piece] for piece in pieces]:
            raise DamagedState(f"{path}: has other contents than it was written with")
        self._checked |= {(name, piece) for piece in pieces}

    def differences(self) -> Iterator[str]:
        """Yield a reason for each file that is not as it was sealed."""
        for name in self._known:
            try:
                self.require(self._folder / name)
            except (DamagedState, OSError) as error:
                yield str(error)

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._folder))


def _ends(path: Path) -> tuple[int, ...]:
    """The end of each row group, which is the start of the next one, and that of the file. Files have no dictionaries."""
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    starts = [group.column(0).data_page_offset for group in groups]
    columns = [groups[-1].column(at) for at in range(groups[-1].num_columns)]
    return *starts[1:], columns[-1].data_page_offset + columns[-1].total_compressed_size, path.stat().st_size


def _digests(path: Path, ends: Sequence[int], pieces: Iterable[int]) -> list[str]:
    """Digests of pieces of a file; the last one is read up to the file's end. Raises OSError."""
    digests = []
    with path.open("rb") as file:
        for piece in pieces:
            start = ends[piece - 1] if piece else 0
            file.seek(start)
            digest = Digest()
            digest.update(file.read(-1 if piece == len(ends) - 1 else ends[piece] - start))
            digests.append(digest.hexdigest())
    return digests
