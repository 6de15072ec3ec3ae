"""Files that are damaged, gone or of another format: read up to the damage, or refused with file and cure."""

import bz2
import gzip
import json
import lzma
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from refinery.errors import DataError
from refinery.io.readers.read import read
from refinery.io.sources import cut, find
from tests.io.hostile.everything import GOOD, read_all


@pytest.mark.parametrize("codec", ["gzip", "zstd", "bzip2", "xz"])
@pytest.mark.parametrize("cut_off", [1, 200])
def test_what_stands_before_the_damage_is_read(tmp_path: Path, codec: str, cut_off: int) -> None:
    rng = np.random.default_rng(1)
    lines = [json.dumps({"text": str(rng.integers(1 << 60, size=20).tolist())}) for _ in range(2000)]
    text = "\n".join(lines).encode()
    own = {"bzip2": lambda: bz2.compress(text, 1), "xz": lambda: lzma.compress(text)}.get(codec)
    whole = own() if own else pa.Codec(codec).compress(text, asbytes=True)
    path = tmp_path / {"gzip": "a.jsonl.gz", "zstd": "a.jsonl.zst", "bzip2": "a.jsonl.bz2", "xz": "a.jsonl.xz"}[codec]
    path.write_bytes(whole[:-cut_off])
    good, [bad] = read_all(path)
    assert [json.dumps(sample) for sample in good] == lines[: len(good)]
    assert len(good) > (1990 if codec == "gzip" else 1000 if codec != "bzip2" or cut_off == 1 else 700)
    assert bad.line == len(good) + 1 and bad.error.startswith("the compressed data is damaged after ")


@pytest.mark.parametrize("junk", [b"junk", b"\0" * 100 + b"x", b"x" + b"\0" * 100, b"\x1f\x8b" + b"\0" * 20])
def test_junk_after_compressed_data_is_reported(tmp_path: Path, junk: bytes) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(GOOD[0] + b"\n") + junk)
    good, [bad] = read_all(tmp_path / "a.jsonl.gz")
    assert good == [{"text": "one"}] and "damaged after 16 bytes" in bad.error
    assert "Copy or download the file again; `gzip -t` tests it" in bad.error


ZEROS = [
    (1 << 30, 1),
    (1 << 30, 3 << 20),
    (1000, 100),
    (1 << 30, 2),
    (1 << 30, 100),
    (1000, 1),
    (1000, 2),
    (1000, 3 << 20),
]


@pytest.mark.parametrize(
    ("size", "zeros"), [pytest.param(*case, marks=pytest.mark.long if at > 2 else ()) for at, case in enumerate(ZEROS)]
)
def test_zeros_after_gzip_data_are_passed_over(tmp_path: Path, zeros: int, size: int) -> None:
    rows = b"".join(b'{"text": "%d"}\n' % k for k in range(5000))
    packed = gzip.compress(rows[: len(rows) // 2]) + gzip.compress(rows[len(rows) // 2 :])
    (tmp_path / "a.jsonl.gz").write_bytes(packed + bytes(zeros))
    good, bad = read_all(tmp_path / "a.jsonl.gz", size)
    assert [row["text"] for row in good] == [str(k) for k in range(5000)] and bad == []
    damaged = bytearray(packed)
    damaged[-6] ^= 1  # of the checksum
    (tmp_path / "a.jsonl.gz").write_bytes(bytes(damaged) + bytes(zeros))
    good, [error] = read_all(tmp_path / "a.jsonl.gz", size)
    assert len(good) > 2400 and "incorrect data check" in error.error and "gzip -t" in error.error


def frame(content: bytes) -> bytes:
    return pa.Codec("zstd").compress(content, asbytes=True)


SKIPPED = (0x184D2A53).to_bytes(4, "little") + (5).to_bytes(4, "little") + b"hello"


def test_zstd_of_many_frames_is_read(tmp_path: Path) -> None:
    one, two = frame(GOOD[0] + b"\n"), frame(GOOD[1] + b"\n")
    stream = pa.BufferOutputStream()
    with pa.CompressedOutputStream(stream, "zstd") as packer:  # a frame that does not know its size
        packer.write(GOOD[1] + b"\n")
    unknown = stream.getvalue().to_pybytes()
    whole = [SKIPPED + one + two, one + SKIPPED + two, one + two + SKIPPED, SKIPPED * 2 + one + SKIPPED + unknown]
    for content in (*whole, one + frame(b"") + two, SKIPPED + frame(GOOD[0] + b"\n" + GOOD[1] + b"\n")):
        for name in ("a.jsonl.zst", "a.jsonl"):
            (tmp_path / name).write_bytes(content)
            assert read_all(tmp_path / name) == ([{"text": "one"}, {"text": "two"}], [])
    (tmp_path / "a.jsonl.zst").write_bytes(one + b"junk")
    good, [bad] = read_all(tmp_path / "a.jsonl.zst")
    assert good == [{"text": "one"}] and "zstd -t" in bad.error


@pytest.mark.parametrize("dictionary", [True, False])
def test_a_page_with_a_wrong_checksum_is_refused(tmp_path: Path, dictionary: bool) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"text": [f"word{k % 7}" for k in range(100)]})
    pq.write_table(table, path, write_page_checksum=True, compression="none", use_dictionary=dictionary)
    assert len(read_all(path)[0]) == 100
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"word3") + 4] ^= 1
    path.write_bytes(bytes(raw))
    with pytest.raises(DataError, match=r"a\.parquet: reading failed after row \d+: .*CRC.*copy or download it again"):
        read_all(path)


def test_a_damaged_start_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(GOOD[0])[:9] + b"\xff" * 50)
    with pytest.raises(DataError, match=r"a\.jsonl\.gz: the compressed data is damaged after 0 bytes"):
        read_all(tmp_path / "a.jsonl.gz")


def test_a_damaged_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": [f"{k}" * 50 for k in range(10_000)]}), path, row_group_size=1000)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2 : len(raw) // 2 + 2000] = b"\xff" * 2000
    path.write_bytes(bytes(raw))
    with pytest.raises(DataError, match=r"a\.parquet: reading failed after row \d+"):
        read_all(path)


def test_a_file_that_vanishes_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(GOOD[0])
    [shard] = cut(find([path])[0])
    path.unlink()
    with pytest.raises(DataError, match=r"a\.jsonl: No such file"):
        list(read(shard))


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"PAR1....PAR1", "holds Parquet, not jsonl. Rename it to .parquet"),
        (b"ARROW1\0\0", "holds Arrow, not jsonl. Rename it to .arrow"),
        (b"PK\x03\x04..", "holds zip, not jsonl. Unpack it first"),
    ],
)
def test_another_format_under_the_name_of_lines_is_refused(tmp_path: Path, head: bytes, said: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(head)
    with pytest.raises(DataError, match=said):
        find([tmp_path / "a.jsonl"])
