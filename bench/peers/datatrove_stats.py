"""datatrove's DocStats, LineStats and WordStats over JSON lines, all four groups, and their merge.

    DATATROVE/bin/python bench/peers/datatrove_stats.py INPUT_FOLDER WORK_FOLDER --workers 2

Needs a Python with datatrove and spaCy. The files of the input folder are distributed to one task per worker. Prints
the seconds of both parts as its last line; the merged files are in WORK_FOLDER/merged.
"""

from __future__ import annotations

import argparse
import time
from importlib.metadata import version
from pathlib import Path

from common import report


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--groups", nargs="+", default=["summary", "histogram", "fqdn", "suffix"])
    arguments = parser.parse_args()
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.stats import DocStats, LineStats, StatsMerger, WordStats

    work = arguments.work.resolve()
    partials, merged = str(work / "partials"), str(work / "merged")
    blocks = [block(partials, groups_to_compute=arguments.groups) for block in (DocStats, LineStats, WordStats)]
    reader = JsonlReader(str(arguments.source.resolve()), glob_pattern="*.jsonl", compression=None)
    seconds = {}
    for name, pipeline, tasks in (
        ("measure", [reader, *blocks], arguments.workers),
        ("merge", [StatsMerger(partials, merged)], arguments.workers),
    ):
        started = time.perf_counter()
        LocalPipelineExecutor(
            pipeline, tasks=tasks, workers=tasks, logging_dir=str(work / "logs" / name), skip_completed=False
        ).run()
        seconds[name] = time.perf_counter() - started
    report(version=version("datatrove"), seconds=seconds)


if __name__ == "__main__":
    main()
