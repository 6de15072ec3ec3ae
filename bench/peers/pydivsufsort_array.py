"""The suffix array of all texts and the common prefixes of its neighbours, by pydivsufsort: one thread, nothing is removed.

    PYDIVSUFSORT/bin/python bench/peers/pydivsufsort_array.py documents.jsonl WORK_FOLDER

Prints the bytes that begin a substring of at least 100 bytes which occurs twice.
"""

from __future__ import annotations

import argparse
from importlib.metadata import version
from pathlib import Path

import numpy as np
from common import report, texts

LEAST = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--workers", type=int, default=2, help="without effect")
    arguments = parser.parse_args()
    from pydivsufsort import divsufsort, kasai

    data = b"\xff".join(text.encode("utf-8", "surrogatepass") for text in texts(arguments.source))
    array = divsufsort(data)
    shared = np.asarray(kasai(data, array))
    report(version=version("pydivsufsort"), repeated=int((shared >= LEAST).sum()))


if __name__ == "__main__":
    main()
