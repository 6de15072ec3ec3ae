"""datatrove's StatsMerger over a folder of statistics files.

    DATATROVE/bin/python bench/peers/datatrove_stats_merge.py INPUT OUTPUT

Needs a Python with datatrove. Prints the seconds of the merge itself as its last line.
"""

from __future__ import annotations

import sys
import time
from importlib.metadata import version

from common import report


def main() -> None:
    from datatrove.pipeline.stats import StatsMerger

    source, target = sys.argv[1:]
    started = time.perf_counter()
    for _ in StatsMerger(source, target).run([], 0, 1):
        pass
    report(version=version("datatrove"), seconds=time.perf_counter() - started)


if __name__ == "__main__":
    main()
