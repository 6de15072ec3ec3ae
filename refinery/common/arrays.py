"""Files of numpy arrays, as Arrow tensors.

Not .npy: `numpy.load` reads a header with `ast.literal_eval`, and CPython 3.11 counts the depth of such trees for all
threads together, so that two threads which read files at a time can end in "AST constructor recursion depth mismatch".
"""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pyarrow.ipc


def write_arrays(path: str | os.PathLike[str], *arrays: np.ndarray) -> None:
    """Write arrays of numbers or booleans, of any shapes and types, one after another.

    Arrow has no tensors of booleans and writes bytes for them, so a first tensor says which arrays are booleans.
    """
    booleans = np.array([array.dtype == bool for array in arrays], np.uint8)
    with pa.OSFile(os.fspath(path), "wb") as file:
        for array in (booleans, *arrays):
            pa.ipc.write_tensor(pa.Tensor.from_numpy(np.ascontiguousarray(array)), file)


def read_arrays(path: str | os.PathLike[str], count: int) -> list[np.ndarray]:
    """Read the `count` arrays of a file.

    Raises OSError for a missing file, ValueError for one that does not hold `count` arrays and nothing else.
    """
    with pa.OSFile(os.fspath(path)) as file:
        return _arrays(file, path, count, copied=True)


def mapped_arrays(path: str | os.PathLike[str], count: int) -> list[np.ndarray]:
    """The `count` arrays of a file, mapped into memory: processes that map it share its pages. They cannot be written.

    The file may be removed meanwhile, but not changed. Raises as `read_arrays`.
    """
    return _arrays(pa.memory_map(os.fspath(path)), path, count, copied=False)


def _arrays(file: pa.NativeFile, path: str | os.PathLike[str], count: int, copied: bool) -> list[np.ndarray]:
    try:
        booleans, *arrays = [pa.ipc.read_tensor(file).to_numpy() for _ in range(count + 1)]
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"not a file of {count} arrays: {os.fspath(path)}") from error
    if file.tell() != file.size():
        raise ValueError(f"more than {count} arrays: {os.fspath(path)}")
    if booleans.dtype != np.uint8 or booleans.shape != (count,):
        raise ValueError(f"not a file of {count} arrays: {os.fspath(path)}")
    arrays = [array.copy() for array in arrays] if copied else arrays
    return [array.view(bool) if boolean else array for array, boolean in zip(arrays, booleans, strict=True)]


def read_array(path: str | os.PathLike[str]) -> np.ndarray:
    """Read the array of a file that holds one."""
    return read_arrays(path, 1)[0]
