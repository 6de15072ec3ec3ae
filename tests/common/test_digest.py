"""Digests of bytes."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import xxhash

from refinery.common.digest import Digest, digest_of_file, digest_of_stream, size_and_digest

DATA = bytes(range(256)) * 5000


def digest_of(*pieces: bytes) -> str:
    digest = Digest()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def test_the_digest_is_that_of_xxh3() -> None:
    assert digest_of(DATA) == xxhash.xxh3_128_hexdigest(DATA)
    assert digest_of() == "99aa06d3014798d86001c324468d497f"  # of no bytes, as the specification has it


@pytest.mark.parametrize("size", [1, 63, 64, 65, 4096, 1 << 20])
def test_pieces_do_not_matter(size: int) -> None:
    assert digest_of(*(DATA[at : at + size] for at in range(0, len(DATA), max(size, 997)))) == digest_of(
        b"".join(DATA[at : at + size] for at in range(0, len(DATA), max(size, 997)))
    )


def test_buffers_of_all_kinds() -> None:
    numbers = np.arange(1000, dtype=np.int64)
    digests = [Digest() for _ in range(3)]
    for digest, buffer in zip(digests, (numbers, numbers.tobytes(), pa.py_buffer(numbers.tobytes())), strict=True):
        digest.update(buffer)
    assert {(digest.size, digest.hexdigest()) for digest in digests} == {(8000, digest_of(numbers.tobytes()))}


def test_files_and_their_parts(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(DATA)
    assert size_and_digest(path) == (len(DATA), digest_of(DATA))
    assert digest_of_file(path, 100, 1000).hexdigest() == digest_of(DATA[100:1000])
    assert digest_of_file(path, len(DATA) - 5, len(DATA) + 100).hexdigest() == digest_of(DATA[-5:])
    assert digest_of_stream(io.BytesIO(DATA), room=bytearray(7)).hexdigest() == digest_of(DATA)
    with pytest.raises(FileNotFoundError):
        digest_of_file(tmp_path / "missing")
