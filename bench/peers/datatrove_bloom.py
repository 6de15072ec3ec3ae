"""datatrove's SingleBloomFilter, its defaults, as one task: a filter cannot be shared.

    DATATROVE/bin/python bench/peers/datatrove_bloom.py INPUT_FOLDER WORK_FOLDER

Needs a Python with datatrove and spaCy. Kept rows are in WORK_FOLDER/kept. The filter has 2^k - 1 bytes, since another number leaves
bits of its places unused (`m_bytes` is a mask there).
"""

from __future__ import annotations

import argparse
from importlib.metadata import version
from pathlib import Path

from common import report
from datatrove_minhash import reader, writer


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--workers", type=int, default=1, help="without effect: one task")
    arguments = parser.parse_args()
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup.bloom_filter import BloomFilterConfig, SingleBloomFilter

    work = arguments.work.resolve()
    size = sum(path.stat().st_size for path in arguments.source.iterdir())
    config = BloomFilterConfig(m_bytes=(1 << max(20, (size * 2).bit_length())) - 1, k=7)
    steps = [
        reader("jsonl", arguments.source.resolve()),
        SingleBloomFilter(str(work / "filter"), config),
        writer("jsonl", work / "kept"),
    ]
    LocalPipelineExecutor(steps, tasks=1, logging_dir=str(work / "logs"), skip_completed=False).run()
    report(version=version("datatrove"))


if __name__ == "__main__":
    main()
