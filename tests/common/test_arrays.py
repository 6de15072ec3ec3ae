"""Files of numpy arrays."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from refinery.common.arrays import read_array, read_arrays, write_arrays


def test_shapes_types_and_values_come_back(tmp_path: Path) -> None:
    arrays = [
        np.zeros((2, 0), np.int64),
        np.arange(6).reshape(2, 3),
        np.arange(12, dtype=np.int32).reshape(3, 4)[:, ::2],
        np.array([True, False]),
        np.array([[True], [False], [True]]),
        np.zeros((0, 3), bool),
        np.arange(5, dtype=np.uint8),
    ]
    write_arrays(tmp_path / "file", *arrays)
    for array, back in zip(arrays, read_arrays(tmp_path / "file", len(arrays)), strict=True):
        assert back.shape == array.shape
        assert back.dtype == array.dtype
        assert (back == array).all()
        assert back.flags.writeable


def test_other_files_are_refused(tmp_path: Path) -> None:
    write_arrays(tmp_path / "two", np.arange(3), np.arange(4))
    with pytest.raises(ValueError, match="more than 1 arrays"):
        read_array(tmp_path / "two")
    with pytest.raises(ValueError, match="not a file of 3 arrays"):
        read_arrays(tmp_path / "two", 3)
    (tmp_path / "cut").write_bytes((tmp_path / "two").read_bytes()[:-7])
    with pytest.raises(ValueError, match="not a file of 2 arrays"):
        read_arrays(tmp_path / "cut", 2)
    (tmp_path / "text").write_text("not a file of arrays, but of words, of which there are enough\n")
    with pytest.raises(ValueError):
        read_array(tmp_path / "text")
    with pytest.raises(OSError):
        read_array(tmp_path / "missing")


def test_many_threads_read_at_a_time(tmp_path: Path) -> None:
    write_arrays(tmp_path / "file", np.arange(1000))
    with ThreadPoolExecutor(16) as threads:
        for array in threads.map(lambda _: read_array(tmp_path / "file"), range(2000)):
            assert array.sum() == 499500
