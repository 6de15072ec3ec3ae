"""The root over digests of files: the tree of RFC 6962, independent of order and place."""

from __future__ import annotations

import hashlib
import random

from refinery.results.digests.merkle import FileDigest, merkle_root


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def tree(leaves: list[bytes]) -> bytes:
    """The definition in RFC 6962, section 2.1."""
    if len(leaves) < 2:
        return sha256(b"\0" + leaves[0]) if leaves else sha256(b"")
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return sha256(b"\1" + tree(leaves[:split]) + tree(leaves[split:]))


def files(count: int) -> list[FileDigest]:
    return [
        FileDigest("inputs", f"é{at}\udcff.jsonl", at, hashlib.sha256(bytes([at])).hexdigest()) for at in range(count)
    ]


def test_the_root_is_that_of_rfc_6962() -> None:
    for count in range(40):
        leaves = sorted(file.leaf for file in files(count))
        assert merkle_root(files(count)) == tree(leaves).hex()


def test_order_and_place_do_not_count_but_everything_else_does() -> None:
    some = files(7)
    root = merkle_root(some)
    shuffled = random.Random(7).sample(some, 7)
    assert merkle_root(FileDigest(f.part, f.name, f.size, f.sha256, f"/elsewhere/{f.name}") for f in shuffled) == root
    first = some[0]
    for other in (
        FileDigest("outputs", first.name, first.size, first.sha256),
        FileDigest(first.part, "other", first.size, first.sha256),
        FileDigest(first.part, first.name, first.size + 1, first.sha256),
        FileDigest(first.part, first.name, first.size, "0" * 64),
    ):
        assert merkle_root([other, *some[1:]]) != root
    assert merkle_root(some[1:]) != root
