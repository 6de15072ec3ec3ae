"""Matrices in model files of fastText, and the reading of such a file from its start to its end."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

CENTROIDS = 256  # of each part of a row


class ModelFileError(ValueError):
    """A model file is damaged or of a kind that refinery does not read; the message says how."""


class OtherModel(ModelFileError):
    """A sound model that refinery does not read; the message names the cure."""


class Reader:
    """A place in the bytes of a file that moves on with each reading. Raises ModelFileError behind the end."""

    def __init__(self, data: np.ndarray) -> None:
        self.data = data
        self.at = 0

    def need(self, size: int) -> None:
        """Raise ModelFileError if fewer bytes are left."""
        if size < 0 or size > len(self.data) - self.at:
            raise ModelFileError(f"it is cut off: {len(self.data)} bytes in place of {self.at + size} or more")

    def take(self, kind: str, count: int) -> np.ndarray:
        """The next numbers, without a copy."""
        start, size = self.at, np.dtype(kind).itemsize * count
        self.need(size)
        self.at += size
        return self.data[start : self.at].view(kind)

    def number(self, kind: str) -> Any:
        """The next number, of a format of the module `struct`."""
        return struct.unpack(kind, self.take("u1", struct.calcsize(kind)).tobytes())[0]

    def end(self) -> None:
        """Raise ModelFileError if anything follows."""
        if self.at != len(self.data):
            raise ModelFileError(f"{len(self.data) - self.at} bytes follow its end")


class Dense:
    """Rows of float32. shape: rows, columns. at: place of the first row in the file."""

    def __init__(self, source: Reader) -> None:
        self.shape = _shape(source)
        self.at = source.at
        self._values = source.take("<f4", self.shape[0] * self.shape[1])

    def values(self) -> np.ndarray:
        """The numbers, without a copy."""
        return self._values.reshape(self.shape)


class Quantized:
    """Rows of codes, one for each part of a row, which stand for one of 256 centroids of the part.

    shape: rows, columns. parts: codes of a row. at, norms_at: places of codes and of codes of norms (0: all are 1).
    centroids: float32, of all parts. norms: float32, by their code.
    """

    def __init__(self, source: Reader) -> None:
        has_norms = bool(source.number("<B"))
        self.shape = _shape(source)
        size = source.number("<i")
        self.at = source.at
        codes = source.take("u1", size)
        self.parts, self.width, self.centroids = _quantizer(source, self.shape[1])
        if size != self.shape[0] * self.parts:
            raise ModelFileError(f"it has {size} codes for {self.shape[0]} rows of {self.parts}")
        self._codes = codes.reshape(self.shape[0], self.parts)
        self.norms_at, self.norms = 0, np.ones(1, np.float32)
        if has_norms:
            self.norms_at = source.at
            self._norm_codes = source.take("u1", self.shape[0])
            _, _, self.norms = _quantizer(source, 1)

    def row_norms(self) -> np.ndarray:
        """The norm of each row."""
        return self.norms[self._norm_codes] if self.norms_at else np.ones(self.shape[0], np.float32)

    def decoded(self) -> np.ndarray:
        """The rows, without their norms."""
        columns = self.shape[1]
        table = np.empty(self.shape, np.float32)
        for part in range(self.parts):
            start = part * self.width
            end = min(start + self.width, columns)
            centroids = self.centroids[start * CENTROIDS : end * CENTROIDS].reshape(CENTROIDS, end - start)
            table[:, start:end] = centroids[self._codes[:, part]]
        return table


def _shape(source: Reader) -> tuple[int, int]:
    rows, columns = (int(n) for n in source.take("<i8", 2))
    if rows < 0 or columns < 1 or rows * columns > 1 << 48:
        raise ModelFileError(f"a matrix has {rows} rows and {columns} columns")
    return rows, columns


def _quantizer(source: Reader, columns: int) -> tuple[int, int, np.ndarray]:
    """Parts of a row, columns of a part (the last may have fewer), centroids."""
    dim, parts, width, last = (int(n) for n in source.take("<i4", 4))
    if dim != columns or width < 1 or parts != -(-dim // width) or last != dim - (parts - 1) * width:
        raise ModelFileError(f"{parts} parts of {width} (the last {last}) are no rows of {columns} numbers")
    return parts, width, np.array(source.take("<f4", dim * CENTROIDS))
