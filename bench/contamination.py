"""Measure contamination_filter: recall and precision by kind on planted copies, and speed.

python -m bench.contamination                    print the tables of quality
python -m bench.contamination --write            put them into docs/contamination.md
python -m bench.contamination --speed CORPUS     bytes per second of a core on a Parquet file with the column `text`
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.contamination_data import COPIES, INNOCENT, KINDS, Document, Item, documents, items
from bench.prose import Dice
from refinery.kernels.contamination.item_index import ItemIndex, item_index
from refinery.kernels.contamination.item_search import search
from refinery.kernels.contamination.items import evaluation_sets
from refinery.kernels.core.arrow import of_texts, texts

PAGE = Path(__file__).parent.parent / "docs" / "contamination.md"
BEGIN, END = "<!-- measured -->", "<!-- measured: end -->"
SEEDS, ITEMS, EACH = (1, 2, 3), 600, 40
SIZES = (16_000, 100_000)


def index_of(known: Sequence[Item], folder: Path, min_words: int = 6) -> ItemIndex:
    """The index of items, one set for each kind."""
    for kind in {item.kind for item in known}:
        rows = [json.dumps(item.row) for item in known if item.kind == kind]
        (folder / f"{kind}.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    paths = sorted(str(path) for path in folder.glob("*.jsonl"))
    return item_index(evaluation_sets(paths), [], min_words)


def scores(made: Sequence[Document], index: ItemIndex) -> np.ndarray:
    """The highest score of an item in each document."""
    found = search(texts(of_texts([one.text for one in made])), index)
    best = np.zeros(len(made))
    np.maximum.at(best, found.places[:, 0], found.scores)
    return best


def judged(seed: int, number: int, each: int) -> tuple[list[Document], np.ndarray]:
    """Documents, and True for those that are found to have an item."""
    dice = Dice(seed)
    known = items(dice, number)
    made = documents(dice, known, each)
    with tempfile.TemporaryDirectory() as folder:
        return made, scores(made, index_of(known, Path(folder))) >= 1


def quality(
    seeds: Sequence[int] = SEEDS, number: int = ITEMS, each: int = EACH
) -> dict[str, dict[tuple[str, str], tuple[int, int]]]:
    """Found and all copies by kind of item and of copy, and removed and all innocent documents by kind."""
    copies: dict[tuple[str, str], tuple[int, int]] = {}
    innocent: dict[tuple[str, str], tuple[int, int]] = {}
    for seed in seeds:
        for one, found in zip(*judged(seed, number, each), strict=True):
            into = copies if one.item else innocent
            before = into.get((one.kind, one.copy), (0, 0))
            into[one.kind, one.copy] = before[0] + int(found), before[1] + 1
    return {"copies": copies, "innocent": innocent}


def tables(counted: dict[str, dict[tuple[str, str], tuple[int, int]]]) -> str:
    """The tables of the page."""
    copies, innocent = counted["copies"], counted["innocent"]
    found, planted = (sum(pair[at] for pair in copies.values()) for at in (0, 1))
    wrong, others = (sum(pair[at] for pair in innocent.values()) for at in (0, 1))
    lines = ["| recall | " + " | ".join(COPIES) + " |", "|---|" + "---|" * len(COPIES)]
    lines += [f"| {kind} | " + " | ".join(_share(copies[kind, how]) for how in COPIES) + " |" for kind in KINDS]
    lines += ["", "| innocent documents | removed | of |", "|---|---|---|"]
    lines += [f"| {how} | {innocent['', how][0]} | {innocent['', how][1]:,} |" for how in INNOCENT]
    lines += [
        "",
        f"Together: recall {found / planted:.3f} of {planted:,} copies, precision {found / (found + wrong):.3f} with {others:,} innocent documents.",
    ]
    return "\n".join(lines)


def _share(pair: tuple[int, int]) -> str:
    return f"{pair[0] / pair[1]:.3f}"


def write(text: str) -> None:
    """Replace the tables of the page."""
    page = PAGE.read_text("utf-8")
    between = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    PAGE.write_text(between.sub(lambda _: f"{BEGIN}\n\n{text}\n\n{END}", page), "utf-8")


def speed(corpus: str) -> None:
    """Print bytes per second of a core for sets of several sizes; documents are read before."""
    column = pq.read_table(corpus, columns=["text"])["text"].combine_chunks()
    column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    view = texts(column)
    print("| items | pieces | index, seconds | memory, MB | MB/s a core |\n|---|---|---|---|---|")
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            known = items(Dice(size), size)
            began = time.process_time()
            index = index_of(known, Path(folder))
            built = time.process_time() - began
        best = min(_seconds(view, index) for _ in range(3))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        print(
            f"| {size:,} | {len(index.pieces.needed):,} | {built:.1f} | {memory:,.0f} | {view.size / 1e6 / best:.0f} |",
            flush=True,
        )


def _seconds(view: object, index: ItemIndex) -> float:
    began = time.process_time()
    search(view, index)  # type: ignore[arg-type]
    return time.process_time() - began


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/contamination.md")
    parser.add_argument("--speed", metavar="CORPUS", help="measure bytes per second on the texts of a Parquet file")
    given = parser.parse_args()
    if given.speed:
        speed(given.speed)
        return
    text = tables(quality())
    print(text)
    if given.write:
        write(text)


if __name__ == "__main__":
    main()
