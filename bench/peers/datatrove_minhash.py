"""The four stages of datatrove's MinHash, its default configuration (14 buckets of 8 hashes), on local workers.

    DATATROVE/bin/python bench/peers/datatrove_minhash.py INPUT_FOLDER WORK_FOLDER --format jsonl --workers 2

Needs a Python with datatrove and spaCy. The files of the input folder are distributed to one task per worker. Prints
the seconds of each stage as its last line; kept rows are in WORK_FOLDER/kept.
"""

from __future__ import annotations

import argparse
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from common import report


def reader(form: str, folder: Path) -> Any:
    from datatrove.pipeline.readers import JsonlReader, ParquetReader

    if form == "parquet":
        return ParquetReader(str(folder), glob_pattern="*.parquet")
    return JsonlReader(str(folder), glob_pattern="*.jsonl", compression=None)


def writer(form: str, folder: Path) -> Any:
    from datatrove.pipeline.writers import JsonlWriter, ParquetWriter

    if form == "parquet":
        return ParquetWriter(str(folder), expand_metadata=True, compression="zstd")
    return JsonlWriter(str(folder), expand_metadata=True, compression=None)


def stages(form: str, source: Path, work: Path, workers: int) -> list[tuple[str, int, list[Any]]]:
    """Name, number of tasks and pipeline of each stage."""
    from datatrove.pipeline.dedup import MinhashDedupSignature
    from datatrove.pipeline.dedup.minhash import (
        MinhashConfig,
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
    )

    config = MinhashConfig()
    signatures, buckets, removed = (str(work / name) for name in ("signatures", "buckets", "removed"))
    filtered = MinhashDedupFilter(input_folder=removed)
    return [
        ("signatures", workers, [reader(form, source), MinhashDedupSignature(output_folder=signatures, config=config)]),
        (
            "buckets",
            config.num_buckets,
            [MinhashDedupBuckets(input_folder=signatures, output_folder=buckets, config=config)],
        ),
        ("clusters", 1, [MinhashDedupCluster(input_folder=buckets, output_folder=removed, config=config)]),
        ("filter", workers, [reader(form, source), filtered, writer(form, work / "kept")]),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--format", choices=["jsonl", "parquet"], default="jsonl")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    from datatrove.executor import LocalPipelineExecutor

    work = arguments.work.resolve()
    seconds: dict[str, float] = {}
    for name, tasks, pipeline in stages(arguments.format, arguments.source.resolve(), work, arguments.workers):
        started = time.perf_counter()
        logs = str(work / "logs" / name)
        LocalPipelineExecutor(
            pipeline, tasks=tasks, workers=min(tasks, arguments.workers), logging_dir=logs, skip_completed=False
        ).run()
        seconds[name] = time.perf_counter() - started
    report(version=version("datatrove"), stages=seconds)


if __name__ == "__main__":
    main()
