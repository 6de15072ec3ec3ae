"""The Merkle root over digests of files, as RFC 6962 defines it: one number that stands for all files.

Leaves are sorted, so the root does not depend on the order in which files were read, nor on the folders that they are in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class FileDigest:
    """A file of a run. part: what it is for the run. name: relative to the folder of its part. sha256: of its bytes.

    path: absolute, relative to the run folder, or a URL; not covered by the root, since a copy elsewhere is the same file.
    """

    part: str
    name: str
    size: int
    sha256: str
    path: str = ""

    @property
    def leaf(self) -> bytes:
        """The leaf of the tree: `["inputs","docs.jsonl",1158209,"9f86..."]` in ASCII."""
        return json.dumps([self.part, self.name, self.size, self.sha256], separators=(",", ":")).encode("ascii")


def merkle_root(files: Iterable[FileDigest]) -> str:
    """The root over files as 64 hexadecimal digits."""
    leaves = sorted(file.leaf for file in files)
    return _root([hashlib.sha256(b"\0" + leaf).digest() for leaf in leaves]).hex()


def _root(level: Sequence[bytes]) -> bytes:
    """The root over the hashes of leaves: pairs level by level, an odd one moves up, which gives RFC 6962's tree."""
    if not level:
        return hashlib.sha256().digest()
    while len(level) > 1:
        pairs = [hashlib.sha256(b"\1" + level[at] + level[at + 1]).digest() for at in range(0, len(level) - 1, 2)]
        level = [*pairs, *level[len(pairs) * 2 :]]
    return level[0]
