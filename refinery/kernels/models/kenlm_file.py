"""Files of KenLM's binary format, version 5: mapped into memory, their head and layout checked once.

Kernels check no bounds: sizes and counts are checked here, and they check numbers inside of the tables while they walk.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
from dataclasses import dataclass

import numpy as np

from refinery.kernels.core.file_state import state_of
from refinery.kernels.models.kenlm_layout import TRIE, ModelError, Reader, Tables, probing, trie

KINDS = (
    "probing",
    "rest probing",
    "trie",
    "quantized trie",
    "trie with compressed pointers",
    "quantized trie with compressed pointers",
)
MAX_ORDER = 16  # of the scratch memory; KenLM itself is usually compiled for 6
MAX_COUNT = 1 << 48  # n-grams of an order, far beyond any file

MAGIC = b"mmap lm http://kheafield.com/code format version 5\n\0\0"
_INCOMPLETE = b"mmap lm http://kheafield.com/code incomplete\n"
_BEGINNING = b"mmap lm http://kheafield.com/code format version"
# The magic bytes, and numbers in the byte order of the computer that wrote the file.
SANITY = MAGIC.ljust(56, b"\0") + struct.pack("<fffIIIQ", 0.0, 1.0, -0.5, 1, 2**32 - 1, 0, 1)
FIXED = struct.Struct(
    "<B3xfi?3xI"
)  # order, places for each entry of hash tables, kind, has words, version of the tables


@dataclass(frozen=True)
class Model:
    """A loaded model. kind: its name, as in KINDS. order: words of its longest n-grams."""

    kind: str
    order: int
    tables: Tables


_loaded: dict[tuple[str, tuple[int, ...]], Model] = {}
_loading = threading.Lock()


def unusable(path: str | None) -> list[str]:
    """Reasons why a file cannot be used as a model, as sentences that name the cure; none without a path."""
    try:
        if path:
            load(path)
    except ModelError as error:
        return [f"model {path} cannot be used: {error}"]
    except OSError as error:
        return [f"model {path} cannot be read ({error.strerror}): give a file that exists and may be read"]
    return []


def load(path: str) -> Model:
    """The model of a file, mapped once for each state of the file. Raises ModelError and OSError."""
    key = (os.path.abspath(path), state_of(path))
    model = _loaded.get(key)
    if model is None:
        with _loading:
            model = _loaded.get(key) or read(_mapped(path))
            for other in [known for known in _loaded if known[0] == key[0]]:
                del _loaded[other]  # an earlier state of the file
            _loaded[key] = model
    return model


def _mapped(path: str) -> np.ndarray:
    """The bytes of a file. Pages are read when a kernel needs them, and all processes share them."""
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise ModelError("it is empty")
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)


def read(data: np.ndarray) -> Model:
    """The model of a file with these bytes. Raises ModelError."""
    head = data[: len(SANITY) + FIXED.size].tobytes()
    _check_head(head)
    order, multiplier, kind, has_words, version = FIXED.unpack(head[len(SANITY) :])
    _check_numbers(order, multiplier, kind, version)
    reader = Reader(data, len(head))
    counts = [reader.number() for _ in range(order)]
    if max(counts) > MAX_COUNT or counts[0] >= 1 << 32:
        raise ModelError(f"it claims to have {', '.join(f'{count:,}' for count in counts)} n-grams")
    reader.at = -(-reader.at // 8) * 8
    tables = trie(reader, kind, counts) if kind >= TRIE else probing(reader, kind, counts, multiplier)
    if has_words and data[reader.at : reader.at + 6].tobytes() != b"<unk>\0":
        raise ModelError("its list of words is not where its counts say")
    return Model(KINDS[kind], order, tables)


def _check_head(head: bytes) -> None:
    if head.startswith(_INCOMPLETE):
        raise ModelError("it is unfinished: build_binary was stopped while it wrote it")
    if not head.startswith(_BEGINNING):
        raise ModelError("it is not in KenLM's binary format; KenLM's build_binary converts ARPA files")
    if not head.startswith(MAGIC):
        raise ModelError("its version of the format is not 5; build it anew with KenLM's build_binary")
    if not head.startswith(SANITY) or len(head) < len(SANITY) + FIXED.size:
        raise ModelError("it was built on another kind of computer, or is cut off")


def _check_numbers(order: int, multiplier: float, kind: int, version: int) -> None:
    if not 0 <= kind < len(KINDS):
        raise ModelError(f"its kind of model, {kind}, is unknown")
    if version != int(kind >= TRIE):
        raise ModelError(f"its tables have version {version}, which is unknown")
    if not 2 <= order <= MAX_ORDER:
        raise ModelError(f"its n-grams have up to {order} words; 2 to {MAX_ORDER} are supported")
    if not 1.0 <= multiplier <= 1e6:
        raise ModelError(f"its hash tables claim {multiplier} places for each entry")
