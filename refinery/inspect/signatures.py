"""Signature files of datatrove for the samples that a run has exported, as datatrove would write them for these files."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from refinery.common.fields import keys_of
from refinery.common.lazy import duckdb
from refinery.dedup.signature_files import Layout, append, config_of, finish, step_with_signatures
from refinery.errors import DataError, OutputError
from refinery.inspect.card.exported import Exported
from refinery.inspect.finished_run import FinishedRun
from refinery.kernels.dedup.minhash_datatrove import datatrove_minima
from refinery.kernels.dedup.minhash_texts import split
from refinery.results.delivery import not_as_left
from refinery.storage.urls import is_url
from refinery.workers.machine import cores

_ROWS = 2048  # texts that are hashed together

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class WrittenSignatures:
    """Signature files. ranks: the exported file of each rank. documents, signatures: their numbers. config: datatrove's."""

    folder: str
    ranks: tuple[str, ...]
    documents: int
    signatures: int
    config: str
    tokenization: str


def write_signatures(work_dir: Path, folder: Path, named: str | None = None) -> WrittenSignatures:
    """Write the signatures of the exported samples of a run, one rank for each exported file in the order of their names.

    Documents are numbered as datatrove's readers do, which skip empty texts. named: the step, if several have `hash:
    datatrove`. Raises DataError if the export cannot be read or has changed since the run, OutputError if the folder is not free.
    """
    if is_url(str(folder)):
        raise OutputError(f"{folder}: signatures are written to a folder; copy it to the URL afterwards")
    with FinishedRun.open(work_dir) as run:
        step = step_with_signatures(str(work_dir), run.recipe.steps, named)
        paths = sorted(item["path"] for item in run.manifest["outputs"] if item["rows"])
        changed = not_as_left(run.manifest)
        files = [Exported(run.con, run.recipe.export_format, [glob.escape(p)], "", changed) for p in paths]
        for file in files or [Exported(run.con, run.recipe.export_format, [], "")]:
            if file.why_not:
                raise DataError(f"{work_dir}: {file.why_not}")
        text_key = step.params.get("text_key") or run.recipe.text_key
        with _new_folder(folder) as aside:
            counts = [_write_rank(aside, rank, file, text_key, step.params) for rank, file in enumerate(files)]
    documents, signatures = (sum(numbers) for numbers in zip(*counts, strict=True))
    return WrittenSignatures(
        str(folder), tuple(paths), documents, signatures, config_of(step.params), step.params["tokenization"]
    )


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """A folder beside the wanted one, which gets its name at the end, or is removed after an error. Raises OutputError."""
    target = Path(os.path.abspath(folder))
    if os.path.lexists(target) and not (target.is_dir() and not any(target.iterdir())):
        raise OutputError(f"{folder}: there is something here already; name a new or empty folder")
    aside = target.with_name(f".{target.name}-{secrets.token_hex(4)}")
    try:
        aside.mkdir(parents=True)
        yield aside
        os.rename(aside, target)  # over an empty folder at most
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _write_rank(folder: Path, rank: int, file: Exported, text_key: str, params: Mapping[str, Any]) -> tuple[int, int]:
    """Write the signatures of one file; return the number of documents, and of those with a signature."""
    layout, first, signatures = Layout.of(params), 0, 0
    append(folder, rank, layout, np.empty((0, layout.buckets * layout.rows)), np.empty(0, np.uint32))
    for minima, present in _in_threads(lambda texts: _minima(texts, layout, params), _texts(file, text_key)):
        documents = first + np.flatnonzero(present)
        append(folder, rank, layout, minima[present], documents)
        first, signatures = first + len(present), signatures + len(documents)
    finish(folder, rank, layout)
    return first, signatures


def _minima(texts: pa.Array, layout: Layout, params: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    tokens = split(texts, params["normalize"], params["tokenization"], params["lowercase"], None, None)
    window = params.get("n_grams") or params["window_size"]
    seed = 1 if params.get("seed") is None else params["seed"]
    function = params.get("hash_fc") or "xxhash"
    return datatrove_minima(tokens, window, layout.buckets * layout.rows, seed, layout.precision, function)


def _texts(file: Exported, text_key: str) -> Iterator[pa.Array]:
    """The texts of a file in order, empty ones left out. Raises DataError."""
    keys = keys_of(text_key)
    if keys[0] not in file.fields:
        raise DataError(f"{file.paths[0]}: the exported samples have no field {text_key}, whose signatures are wanted")
    query = f"SELECT text FROM (SELECT {file.text(keys)} AS text FROM {file.relation}) WHERE text <> ''"
    try:
        for batch in file.con.sql(query).to_arrow_reader(_ROWS):
            yield batch.column(0)
    except duckdb.Error as error:
        raise DataError(f"{file.paths[0]}: cannot be read: {str(error).splitlines()[0]}") from error


def _in_threads(work: Callable[[T], U], items: Iterable[T]) -> Iterator[U]:
    """Results in order, a few items ahead."""
    threads = cores()
    with ThreadPoolExecutor(threads) as pool:
        pending: deque[Future[U]] = deque()
        for item in items:
            pending.append(pool.submit(work, item))
            if len(pending) > threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
