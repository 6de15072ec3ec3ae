"""Signature files of datatrove's MinHash: `bucket_000/00000.minhash.sig` for each bucket and rank, in a folder.

A record has the minima of the bucket, uint32 or uint64, and the number of the document in its rank, uint32, all little-endian and
without gaps. Records are sorted by minima, then by document. A document without a shingle has no record (datatrove 0.10.1,
`MinhashDedupSignature` and `MinhashDedupBuckets`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from refinery.dedup.matchers.bands import bands_and_rows
from refinery.errors import DataError

MERSENNE = (1 << 61) - 1  # minima of 64 bits are below
_BUCKET = re.compile(r"bucket_(\d{3,})")
_RANK = re.compile(r"(\d{5,})\.minhash\.sig")


@dataclass(frozen=True)
class Layout:
    """The numbers that a signature file depends on. buckets: of a signature. rows: minima of a bucket. precision: bits of each."""

    buckets: int
    rows: int
    precision: int

    @staticmethod
    def of(params: Mapping[str, Any]) -> Layout:
        """The layout of a step with `hash: datatrove`."""
        return Layout(*bands_and_rows(params), params.get("precision") or 64)

    @property
    def record(self) -> np.dtype:
        """The type of a record."""
        return np.dtype([("minima", f"<u{self.precision // 8}", (self.rows,)), ("document", "<u4")])

    def __str__(self) -> str:
        return f"{self.buckets} buckets of {self.rows} minima of {self.precision} bits"


def append(folder: Path, rank: int, layout: Layout, minima: np.ndarray, documents: np.ndarray) -> None:
    """Add records to the files of a rank, which `finish` sorts. minima: (documents, buckets x rows), of any integers."""
    for bucket in range(layout.buckets):
        records = np.empty(len(documents), layout.record)
        records["minima"] = minima[:, bucket * layout.rows : (bucket + 1) * layout.rows]
        records["document"] = documents
        file = path_of(folder, bucket, rank)
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as out:
            out.write(records.tobytes())


def finish(folder: Path, rank: int, layout: Layout) -> None:
    """Sort the records of a rank, one file at a time."""
    for bucket in range(layout.buckets):
        file = path_of(folder, bucket, rank)
        records = np.fromfile(file, layout.record)
        columns = [records["document"], *reversed(records["minima"].T)]
        file.write_bytes(records[np.lexsort(columns)].tobytes())


def path_of(folder: Path, bucket: int, rank: int) -> Path:
    """The file of a bucket and rank."""
    return folder / f"bucket_{bucket:03d}" / f"{rank:05d}.minhash.sig"


def ranks_of(folder: Path, layout: Layout) -> list[int]:
    """The ranks in a folder. Raises DataError if it is not a complete folder of signatures with this number of buckets."""
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; name the output_folder of MinhashDedupSignature")
    _require_buckets(folder, layout)
    first: list[int] = []
    for bucket in range(layout.buckets):
        ranks = _ranks_in(folder / f"bucket_{bucket:03d}")
        if bucket and ranks != first:
            rank = min(set(ranks) ^ set(first))
            raise DataError(
                f"{folder}: rank {rank:05d} is not in all buckets; write the signatures of this rank again, or leave it out"
            )
        first = ranks
    if not first:
        raise DataError(f"{folder}: no files *.minhash.sig; name the output_folder of MinhashDedupSignature")
    return first


def _require_buckets(folder: Path, layout: Layout) -> None:
    numbers = sorted(int(m[1]) for path in folder.iterdir() if (m := _BUCKET.fullmatch(path.name)))
    if numbers == list(range(layout.buckets)):
        return
    if not numbers:
        raise DataError(f"{folder}: no folders bucket_000 and so on; name the output_folder of MinhashDedupSignature")
    held = f"buckets {numbers[0]:03d} to {numbers[-1]:03d}, {len(numbers)} in all"
    raise DataError(f"{folder} has {held}, and the step has {layout}: set num_buckets to datatrove's")


def _ranks_in(folder: Path) -> list[int]:
    """Ranks whose files are in the folder of a bucket. Raises DataError for other files."""
    ranks = []
    for path in folder.iterdir():
        if path.name.startswith("."):
            continue
        if path.suffix == ".index":
            raise DataError(
                f"{path}: an index file has the minima of single buckets, without documents, and cannot be read; "
                "name the folder with the signatures (*.minhash.sig) that it was made from"
            )
        match = _RANK.fullmatch(path.name)
        if match is None:
            raise DataError(f"{path}: not a signature file of datatrove, such as 00000.minhash.sig; move it elsewhere")
        ranks.append(int(match[1]))
    return sorted(ranks)


def read_rank(folder: Path, rank: int, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the documents of a rank in order, and their minima, (documents, buckets x rows).

    Raises DataError for files that are damaged, or of another layout.
    """
    documents: np.ndarray = np.empty(0, np.uint32)
    minima: list[np.ndarray] = []
    for bucket in range(layout.buckets):
        file = path_of(folder, bucket, rank)
        records = _records(file, layout)
        order = np.argsort(records["document"], kind="stable")
        numbers = records["document"][order]
        if (numbers[1:] == numbers[:-1]).any():
            raise DataError(f"{file}: a document occurs twice: {_cure(layout)}")
        if bucket and not np.array_equal(numbers, documents):
            raise DataError(f"{file}: other documents than in bucket_000; write the signatures of this rank again")
        documents = numbers
        minima.append(records["minima"][order])
    return documents, np.concatenate(minima, axis=1)


def _records(file: Path, layout: Layout) -> np.ndarray:
    """The records of a file, whose size, order and values are checked."""
    size = file.stat().st_size
    if size % layout.record.itemsize:
        what = f"{size:,} bytes are no multiple of the {layout.record.itemsize} bytes of a record"
        raise DataError(f"{file}: {what}: {_cure(layout)}")
    records = np.fromfile(file, layout.record)
    if len(records) * layout.record.itemsize != size:
        raise DataError(f"{file}: the file has changed while it was read; read it again")
    if layout.precision == 64 and (records["minima"] >= MERSENNE).any():
        raise DataError(f"{file}: a minimum is 2^61 - 1 or more, which datatrove never writes: {_cure(layout)}")
    if not _is_sorted(np.column_stack([records["minima"], records["document"]])):
        raise DataError(f"{file}: records are not sorted: {_cure(layout)}")
    return records


def _is_sorted(rows: np.ndarray) -> bool:
    """Return whether each row is greater than the one before it, compared from the first column on."""
    before, after = rows[:-1], rows[1:]
    if not len(before):
        return True
    differing = before != after
    at = np.argmax(differing, axis=1)
    here = np.arange(len(at))
    return bool((differing[here, at] & (before[here, at] < after[here, at])).all())


def _cure(layout: Layout) -> str:
    return f"the file is damaged, or has not {layout}. Set hashes_per_bucket and precision to datatrove's"


def config_of(params: Mapping[str, Any]) -> str:
    """The same parameters as datatrove's MinhashConfig, as Python code."""
    layout = Layout.of(params)
    numbers = {
        "n_grams": params.get("n_grams") or params["window_size"],
        "num_buckets": layout.buckets,
        "hashes_per_bucket": layout.rows,
        "seed": 1 if params.get("seed") is None else params["seed"],
    }
    function = params.get("hash_fc") or "xxhash"
    hashes = f'hash_config=HashConfig(precision={layout.precision}, hash_fc="{function}")'
    return f"MinhashConfig({', '.join(f'{name}={value}' for name, value in numbers.items())}, {hashes})"


def step_with_signatures(recipe: str, steps: Sequence[Any], named: str | None = None) -> Any:
    """The step whose signatures are those of datatrove. named: its number or name, if there are several.

    Raises DataError without such a step, or if several come into question. recipe: for messages.
    """
    steps = [step for step in steps if step.params.get("hash") == "datatrove"]
    if named is not None:
        steps = [step for step in steps if named in (str(step.index), step.title, step.name)]
    if len(steps) == 1:
        return steps[0]
    if steps:
        numbers = ", ".join(f"{step.index} ({step.where})" for step in steps)
        raise DataError(f"{recipe}: several steps have datatrove's signatures; choose one with --step: {numbers}")
    which = f"step {named} does not have" if named is not None else "no step has"
    raise DataError(
        f"{recipe}: {which} hash: datatrove, so there are no signatures as datatrove has them. Give "
        "document_minhash_deduplicator the parameters hash: datatrove, normalize: datatrove, tokenization: english, "
        "num_buckets and hashes_per_bucket"
    )
