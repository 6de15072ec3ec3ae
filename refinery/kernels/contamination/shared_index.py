"""Indexes of evaluation sets: one process makes an index for the contents of its files, all others of the machine map it."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from refinery.common.digest import digest_of_file
from refinery.common.paths import printable
from refinery.common.shared_arrays import shared_arrays
from refinery.kernels.contamination.set_files import SetError
from refinery.kernels.core.library import sources_digest


def shared_index(
    kind: str, count: int, facts: Callable[[], Any], make: Callable[[], Sequence[np.ndarray]]
) -> Sequence[np.ndarray]:
    """The `count` arrays of an index, made by `make` where no process of this machine has done so.

    kind: a word for the folder. facts: all that the index depends on, as JSON, with `contents` of its files; code of kernels and
    Python's Unicode are added. Raises SetError for a file that cannot be read, or that changes while the index is made: an index of
    other contents must not be kept under this name.
    """
    try:
        before = _key(facts())

        def made() -> Sequence[np.ndarray]:
            arrays = make()
            if _key(facts()) != before:
                raise SetError("an evaluation set has changed while it was read; run again")
            return arrays

        return shared_arrays(kind, before, count, made)
    except OSError as error:
        raise SetError(f"{printable(str(error.filename))}: {error.strerror or error}") from None


def contents(file: str | Path) -> str:
    """Digest of a file. Raises OSError."""
    return digest_of_file(file).hexdigest()


def _key(facts: Any) -> str:
    return hashlib.sha256(json.dumps([facts, sources_digest(), unicodedata.unidata_version]).encode()).hexdigest()
