"""datatrove's pipeline from WARC to filtered texts, as its examples/fineweb.py has it, without addresses and languages.

    DATATROVE/bin/python bench/peers/datatrove_web.py INPUT_FOLDER WORK_FOLDER --workers 2

Needs a Python with datatrove's extras for WARC, trafilatura and spaCy. Each archive is one task. Prints its version and the
seconds as its last line.
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
    parser.add_argument("--timeout", type=float, default=1)
    arguments = parser.parse_args()
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.extractors import Trafilatura
    from datatrove.pipeline.filters import (
        C4QualityFilter,
        FineWebQualityFilter,
        GopherQualityFilter,
        GopherRepetitionFilter,
    )
    from datatrove.pipeline.formatters import PIIFormatter
    from datatrove.pipeline.readers import WarcReader
    from datatrove.pipeline.writers.jsonl import JsonlWriter

    work = arguments.work.resolve()
    pipeline = [
        WarcReader(str(arguments.source.resolve()), glob_pattern="*.warc.gz"),
        Trafilatura(favour_precision=True, timeout=arguments.timeout),
        GopherRepetitionFilter(),
        GopherQualityFilter(),
        C4QualityFilter(filter_no_terminal_punct=False),
        FineWebQualityFilter(),
        PIIFormatter(),
        JsonlWriter(str(work / "kept"), compression=None),
    ]
    started = time.perf_counter()
    LocalPipelineExecutor(
        pipeline,
        tasks=arguments.workers,
        workers=arguments.workers,
        logging_dir=str(work / "logs"),
        skip_completed=False,
    ).run()
    report(version=version("datatrove"), pipeline_seconds=time.perf_counter() - started)


if __name__ == "__main__":
    main()
