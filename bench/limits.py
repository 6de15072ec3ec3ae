"""Measure a recipe against its limits: reading, writing, a plain copy by DuckDB, and one worker in place of several.

    python bench/limits.py --corpus CORPUS.jsonl [--recipe bench/c4_like.yaml] [--np 2] [--rounds 3]

Each measurement is a separate process, in turns, and the least time of the rounds is reported: other processes may use the
machine. Runs of the recipe are timed as whole commands. The parts are timed without the start of Python and the imports:

- bytes: the file is read in blocks and written again;
- read: shards are read in batches, with UTF-8, JSON and repeated names checked, by threads as in a run;
- text: the same, and the text is found in each line and decoded;
- write: batches that are in memory are written into one file, as an export is;
- DuckDB: COPY (SELECT * FROM read_json(...)) TO ... (FORMAT json).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from measure import measured

ROOT = Path(__file__).resolve().parent.parent
SMALL_ROWS = 1000


# Parts, each in a process of its own


@contextmanager
def clock() -> Iterator[None]:
    """Print the wall and processor seconds of a block as JSON."""
    started, used = time.perf_counter(), time.process_time()
    yield
    print(json.dumps([time.perf_counter() - started, time.process_time() - used]))


def read_bytes(corpus: Path, folder: Path, workers: int) -> None:
    with clock(), corpus.open("rb") as source, (folder / "bytes").open("wb") as target:
        shutil.copyfileobj(source, target, 4 << 20)


def shards_of(corpus: Path, workers: int) -> list[Any]:
    """The shards of a run, of a twentieth of each worker's share."""
    from refinery.io.sources import cut, find

    return cut(find([str(corpus)])[0], max(4 << 20, corpus.stat().st_size // (workers * 20)), workers)


def over(shards: list[Any], workers: int, work: Callable[[Any], Any]) -> list[Any]:
    """Do some work with every shard, in threads."""
    work(shards[0])  # loads kernels
    with clock(), ThreadPoolExecutor(workers) as threads:
        return list(threads.map(work, shards))


def read_checked(corpus: Path, folder: Path, workers: int) -> None:
    from refinery.io.readers.read import read

    over(shards_of(corpus, workers), workers, lambda shard: sum(len(batch) for batch in read(shard, 16 << 20)))


def read_texts(corpus: Path, folder: Path, workers: int) -> None:
    from refinery.io.readers.read import read

    def work(shard: Any) -> int:
        return sum(len(batch.member("text").texts) for batch in read(shard, 16 << 20))

    over(shards_of(corpus, workers), workers, work)


def write(corpus: Path, folder: Path, workers: int) -> None:
    import numpy as np

    from refinery.io.readers.read import read
    from refinery.io.writers.shared_file import share
    from refinery.io.writers.write import PartWriter

    held = [(shard, list(read(shard, 16 << 20))) for shard in shards_of(corpus, workers)]

    def work(shard: Any, batches: list[Any], into: Any) -> None:
        with PartWriter("", True, None, into.piece(shard.index)) as writer:
            for batch in batches:
                writer.write(batch, np.arange(len(batch)), {}, {})

    for _ in ("once for the kernels", "measured"):
        file = share(str(folder / "written.jsonl"), "jsonl", 0, True, folder)
        assert file is not None
        with clock(), ThreadPoolExecutor(workers) as threads:
            list(threads.map(lambda one, into=file: work(*one, into), held))
            file.finish()


def copy_by_duckdb(corpus: Path, folder: Path, workers: int) -> None:
    import duckdb

    con = duckdb.connect()
    con.execute(f"SET threads = {workers}").fetchall()
    source = f"read_json('{corpus}', format = 'newline_delimited')"
    with clock():
        con.execute(f"COPY (SELECT * FROM {source}) TO '{folder / 'duckdb.jsonl'}' (FORMAT json)").fetchall()
    con.close()


PARTS: dict[str, tuple[str, Callable[[Path, Path, int], None]]] = {
    "bytes": ("bytes read and written, one thread", read_bytes),
    "read": ("reading and checking JSON alone", read_checked),
    "text": ("the same, with the text of each line", read_texts),
    "write": ("writing alone", write),
    "duckdb": ("DuckDB's copy of JSON to JSON", copy_by_duckdb),
}


# The table


def part(name: str, corpus: Path, folder: Path, workers: int) -> tuple[float, float]:
    """Wall and processor seconds of a part."""
    command = [sys.executable, __file__, "--corpus", str(corpus), "--np", str(workers)]
    log = folder / "log"
    run = measured([*command, "--part", name, "--folder", str(folder)], log, cwd=ROOT, env=environment())
    if run.exit_code:
        raise SystemExit(log.read_text(errors="replace"))
    seconds, used = json.loads([line for line in log.read_text().splitlines() if line.startswith("[")][-1])
    return seconds, used


def environment() -> dict[str, str]:
    """This environment, in which `refinery` is this checkout's."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}


def whole(recipe: Path, corpus: Path, folder: Path, workers: int) -> tuple[float, float]:
    """Wall and processor seconds of a whole run."""
    command = [sys.executable, "-m", "refinery", "run", str(recipe), "--fresh", "--quiet", "--np", str(workers)]
    command += ["--dataset_path", str(corpus), "--work_dir", str(folder / "run")]
    log = folder / "log"
    run = measured(
        [*command, "--export_path", str(folder / "export" / "kept.jsonl")], log, cwd=folder, env=environment()
    )
    if run.exit_code:
        raise SystemExit(log.read_text(errors="replace"))
    shutil.rmtree(folder / "run")
    return run.seconds, run.cpu_seconds


def measure(given: argparse.Namespace, folder: Path) -> dict[str, tuple[float, float]]:
    """Least seconds of each measurement, by its title."""
    corpus, small = given.corpus.resolve(), folder / "small.jsonl"
    with corpus.open("rb") as lines, small.open("wb") as head:
        head.writelines(islice(lines, SMALL_ROWS))
    recipe = given.recipe.resolve()
    tasks: dict[str, Callable[[], tuple[float, float]]] = {
        f"the recipe, {given.np} workers": lambda: whole(recipe, corpus, folder, given.np),
        "the recipe, one worker": lambda: whole(recipe, corpus, folder, 1),
        f"the recipe on {SMALL_ROWS:,} rows": lambda: whole(recipe, small, folder, given.np),
    }
    for name, (title, _) in PARTS.items():
        tasks[title] = lambda name=name: part(name, corpus, folder, given.np)  # type: ignore[misc]
    found: dict[str, tuple[float, float]] = {}
    for turn in range(given.rounds):
        for title, task in tasks.items():
            print(f"round {turn + 1} of {given.rounds}: {title}", file=sys.stderr, flush=True)
            seconds, used = task()
            before = found.get(title, (seconds, used))
            found[title] = min(seconds, before[0]), min(used, before[1])
    return found


def report(found: dict[str, tuple[float, float]], size: int, workers: int) -> str:
    """The table, and the rate of a core beside that of a core whose neighbours rest."""
    lines = ["| | wall s | processor s | MB of file a second |", "|---|---:|---:|---:|"]
    lines += [
        f"| {title} | {seconds:.2f} | {used:.2f} | {'' if 'rows' in title else f'{size / 1e6 / seconds:,.0f}'} |"
        for title, (seconds, used) in found.items()
    ]
    several, one, start = (seconds for seconds, _ in list(found.values())[:3])
    rate, inner = one / several / workers, (one - start) / max(1e-9, several - start) / workers
    lines += ["", f"Rate of a core, of that of one worker alone: {rate:.2f}; without the start, {inner:.2f}."]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="JSON lines")
    parser.add_argument("--recipe", type=Path, default=ROOT / "bench" / "c4_like.yaml")
    parser.add_argument("--np", type=int, default=2, help="workers (default: 2)")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each kind (default: 3)")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        PARTS[given.part][1](given.corpus, given.folder, given.np)
        return
    with tempfile.TemporaryDirectory(prefix="limits-") as name:
        print(report(measure(given, Path(name)), given.corpus.stat().st_size, given.np))


if __name__ == "__main__":
    main()
