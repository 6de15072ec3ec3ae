"""Reader of SentencePiece's `.model` files: a protobuf of pieces with scores, a normalizer, and settings."""

from __future__ import annotations

import math
import mmap
import struct
from dataclasses import dataclass, field
from typing import Any

from refinery.kernels.models.protobuf import BYTES, FOUR_BYTES, VARINT, Damaged, fields

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE, WORD, CHAR = range(1, 5)
SPACE_SYMBOL = "\u2581".encode()
LONGEST = 8000  # bytes of a piece; SentencePiece refuses longer ones
_MOST_BYTES = 3_000_000  # of all pieces; the table of the kernels has 8 million units
_LARGEST_SCORE = 1e9  # far from all logarithms of probabilities and all ranks
_FLOAT = struct.Struct("<f")

# Numbers of the fields, by the names here: those of pieces, of the trainer's and of the normalizer's settings.
_TRAINER = {3: "kind", 24: "suffix", 35: "byte_fallback"}
_NORMALIZER = {3: "dummy_prefix", 4: "remove_extra_spaces", 5: "escape_spaces"}


class Unsupported(ValueError):
    """A model that the kernels do not encode as the library does."""


@dataclass
class ModelFile:
    """Contents of a model. pieces: each with its score and type. charsmap: the normalizer's table, empty without one."""

    pieces: list[tuple[bytes, float, int]] = field(default_factory=list)
    kind: int = UNIGRAM
    suffix: int = 0
    byte_fallback: int = 0
    charsmap: bytes = b""
    dummy_prefix: int = 1
    remove_extra_spaces: int = 1
    escape_spaces: int = 1

    @property
    def unknown(self) -> int:
        """Number of the unknown piece."""
        return next(number for number, (_, _, kind) in enumerate(self.pieces) if kind == UNKNOWN)


def read(path: str) -> ModelFile:
    """Contents of a file. Raises OSError, Damaged, and Unsupported for a model that only the library can judge."""
    with open(path, "rb") as file:
        if not file.seek(0, 2):
            raise Damaged("it is empty")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            view = memoryview(data)
            try:
                model = _parsed(view)
            finally:
                view.release()
    _judge(model)
    return model


def _parsed(data: memoryview) -> ModelFile:
    model = ModelFile()
    for number, wire, start, end in fields(data, 0, len(data)):
        if number in (1, 2, 3) and wire != BYTES:
            raise Damaged(f"field {number} is no message")
        if number == 1:
            model.pieces.append(_piece(data, start, end))
        elif number == 2:
            _settings(data, start, end, _TRAINER, model)
        elif number == 3:
            _settings(data, start, end, _NORMALIZER, model)
            for inner, kind, first, last in fields(data, start, end):
                if inner == 2 and kind == BYTES:
                    model.charsmap = bytes(data[first:last])
    return model


def _piece(data: memoryview, start: int, end: int) -> tuple[bytes, float, int]:
    piece, score, kind = b"", 0.0, NORMAL
    for number, wire, first, last in fields(data, start, end):
        if number == 1 and wire == BYTES:
            piece = bytes(data[first:last])
        elif number == 2 and wire == FOUR_BYTES:
            score = _FLOAT.unpack_from(data, first)[0]
        elif number == 3 and wire == VARINT:
            kind = first
    return piece, score, kind


def _settings(data: memoryview, start: int, end: int, names: dict[int, str], model: Any) -> None:
    for number, wire, value, _ in fields(data, start, end):
        if number in names and wire == VARINT:
            setattr(model, names[number], value if names[number] == "kind" else int(value != 0))


def _judge(model: ModelFile) -> None:
    """Refuse what the library refuses or reads in a way of its own. Raises Damaged and Unsupported."""
    if not model.pieces:
        raise Damaged("it has no pieces")
    if model.kind not in (UNIGRAM, BPE):
        raise Unsupported("it is neither a unigram model nor a BPE model")
    if not model.escape_spaces:
        raise Unsupported("it escapes no spaces, so pieces hold them")
    seen: set[bytes] = set()
    for number, (piece, score, kind) in enumerate(model.pieces):
        if not piece or b"\0" in piece or len(piece) >= LONGEST or not NORMAL <= kind <= BYTE:
            raise Unsupported(f"piece {number} is unusual")
        if not math.isfinite(score) or piece in seen:
            raise Unsupported(f"piece {number} has no finite score, or is there twice")
        if abs(score) > _LARGEST_SCORE:
            raise Unsupported(f"piece {number} has a score that is no logarithm of a probability")
        seen.add(piece)
        try:
            piece.decode()
        except UnicodeDecodeError:
            raise Unsupported(f"piece {number} is not UTF-8") from None
    if sum(len(piece) for piece, _, _ in model.pieces) > _MOST_BYTES:
        raise Unsupported("its pieces are too many")
    kinds = [kind for _, _, kind in model.pieces]
    if kinds.count(UNKNOWN) != 1 or NORMAL not in kinds:
        raise Unsupported("it has not one piece for what is unknown, or no plain piece")
    of_bytes = {piece for piece, _, kind in model.pieces if kind == BYTE}
    if of_bytes != ({b"<0x%02X>" % byte for byte in range(256)} if model.byte_fallback else set()):
        raise Unsupported("its pieces of bytes are not those of all bytes")
    if model.kind == BPE and UNUSED in kinds:
        raise Unsupported("it is a BPE model with unused pieces")
