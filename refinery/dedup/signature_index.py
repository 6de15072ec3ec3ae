"""Signatures that datatrove has written, as an index of earlier samples."""

from __future__ import annotations

import hashlib
import os
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.digest import digest_of_file
from refinery.common.lazy import pq
from refinery.dedup.index import extending, open_index, require
from refinery.dedup.index_runs import IndexRun
from refinery.dedup.signature_files import Layout, path_of, ranks_of, read_rank
from refinery.errors import DataError
from refinery.kernels.dedup.minhash_bands import match_keys
from refinery.operators import Operator


@dataclass(frozen=True)
class Remembered:
    """Signatures that an index has got. ranks, documents: their numbers. replaced: the index had the same ones before."""

    index: str
    ranks: int
    documents: int
    replaced: bool


def remember(folder: Path, step: Any, operator: Operator) -> Remembered:
    """Add the signatures in a folder to the index of a step with `hash: datatrove`.

    Samples are numbered in the order of ranks and documents. The same signatures replace themselves. Raises DataError for files
    that are damaged or of other parameters, OperatorError and OutputError for an index that cannot take them.
    """
    named = step.params.get("index")
    if not named:
        raise DataError(f"{step.where}: {step.name} has no index to read signatures into; set index: FOLDER")
    try:
        return _remember(folder, named, step, operator)
    except OSError as error:  # of the index they are other errors
        raise DataError(f"{error.filename or folder}: cannot be read: {error.strerror or error}") from error


def _remember(folder: Path, named: str, step: Any, operator: Operator) -> Remembered:
    layout = Layout.of(step.params)
    ranks = ranks_of(folder, layout)
    contents = _contents(folder, ranks, layout)
    run = IndexRun(os.path.realpath(folder), socket.gethostname(), contents, "", contents)
    index = open_index(named, step, operator, run)
    require(index, step)
    with tempfile.TemporaryDirectory(prefix="refinery-") as aside:
        written = Path(aside) / "marks.parquet"
        documents = _write(folder, ranks, layout, written)
        if _contents(folder, ranks, layout) != contents:
            raise DataError(f"{folder}: the signatures have changed while they were read; read them again")
        if not documents:
            raise DataError(f"{folder}: no signature in {len(ranks)} ranks; there is nothing to remember")
        with extending([(index, written)]) as publish:
            publish(contents[:16], f"signatures of {folder.name}")
    return Remembered(named, len(ranks), documents, bool(index.own))


def _contents(folder: Path, ranks: list[int], layout: Layout) -> str:
    """Digest of all files."""
    digest = hashlib.sha256()
    for rank in ranks:
        for bucket in range(layout.buckets):
            digest.update(f"{bucket} {rank} {digest_of_file(path_of(folder, bucket, rank)).hexdigest()}\n".encode())
    return digest.hexdigest()


def _write(folder: Path, ranks: list[int], layout: Layout, target: Path) -> int:
    """Write the match keys of all documents, those of a rank at a time; return the number of documents."""
    first, writer = 0, None
    try:
        for rank in ranks:
            numbers, minima = read_rank(folder, rank, layout)
            table = pa.table(_columns(first, minima, layout))
            writer = writer or pq.ParquetWriter(target, table.schema, compression="zstd")
            writer.write_table(table)
            first += len(numbers)
    finally:
        if writer is not None:
            writer.close()
    return first


def _columns(first: int, minima: np.ndarray, layout: Layout) -> Mapping[str, Any]:
    """Match keys as those of a run are stored."""
    some, none = np.ones(len(minima), np.bool_), np.zeros(len(minima), np.bool_)
    minima = np.ascontiguousarray(minima)
    keys = match_keys(minima, some, layout.buckets, layout.rows, none)
    bands = keys.field("bands").flatten().to_numpy().reshape(-1, layout.buckets)
    return {
        "_row": pa.array(np.arange(first, first + len(minima))),
        "signature": keys.field("signature"),
        "short": keys.field("short"),
        **{f"band_{band}": pa.array(bands[:, band].copy()) for band in range(layout.buckets)},
    }
