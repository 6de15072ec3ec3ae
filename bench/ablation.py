"""Measure what cutting, streaming and match keys by column are worth: the same work with one of them switched off.

    python -m bench.ablation corpus.jsonl [--megabytes 200] [--rounds 3] [--samples 400000]

Whole commands in turns, of bench/c4_like.yaml and bench/minhash.yaml, over the first megabytes of a corpus, with two workers:

    as it is       shards of the default size, batches of 16 MB, one statement for all steps of a stage
    uncut          one shard for the input file
    whole          one shard, and one batch of all its samples: nothing streams inside of a shard
    stages apart   each step is a stage of its own, as a step that needs a GPU is; samples are files in between
    parts          the export is put together from a part of each shard (.json), instead of written by all shards at once

Kept samples must be equal. The commands' switches are those of the product, or functions of it that are replaced here; no option
switches streaming off. Match keys are joined by tasks of a cluster (refinery.dedup.tasks.joins), run one after another, from
files that are not on this machine's disk: each task fetches the column of its band, or whole rows.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from bench.cluster_model import MB
from bench.markdown import table
from bench.measure import Run, measured

HERE = Path(__file__).resolve().parent
RECIPES = ("c4_like", "minhash")
SIGNATURE = 512  # bytes of a signature of 256 permutations
# Options of a command, and the name of a function below that changes the program.
VARIANTS: dict[str, tuple[dict[str, Any], str]] = {
    "as it is": ({}, ""),
    "uncut": ({"override_num_blocks": 1}, ""),
    "whole": ({"override_num_blocks": 1}, "whole_batches"),
    "stages apart": ({}, "stages_apart"),
    "parts": ({"export_path": "out.json"}, ""),
}


def whole_batches() -> None:
    """Have a worker read all samples of a shard as one batch."""
    from refinery.execution.stage_tasks import StageTasks

    made = StageTasks.of

    def of(self: StageTasks, shard: Any) -> Any:
        return replace(made(self, shard), batch_bytes=1 << 50, batch_rows=1 << 21)

    StageTasks.of = of  # type: ignore[method-assign]


def stages_apart() -> None:
    """Have each step run as a stage of its own."""
    from refinery.compiler import stages

    stages.needs_gpu = lambda step, operator: True


def child(change: str, arguments: Sequence[str]) -> None:
    """Run `refinery` with a part of it changed."""
    from refinery.__main__ import start

    if change:
        globals()[change]()
    sys.argv = ["refinery", *arguments]
    start()


def once(recipe: str, variant: str, data: Path, folder: Path) -> tuple[Run, int, dict[str, Any], str]:
    """One command: its costs, its numbers of shards and rows, and a digest of the kept samples."""
    keys, change = VARIANTS[variant]
    settings = {"dataset_path": data, "work_dir": folder / "run", "np": 2, "use_cache": "false"} | keys
    settings["export_path"] = folder / settings.get("export_path", "out.jsonl")
    sets = [f"--set={name}={value}" for name, value in settings.items()]
    command = ["--child", change, "run", str(HERE / f"{recipe}.yaml"), "--json", *sets]
    log = folder / "log"
    run = measured([sys.executable, "-m", "bench.ablation", *command], log, cwd=HERE.parent)
    text = log.read_text("utf-8")
    if run.exit_code:
        raise RuntimeError(text)
    said = json.loads(next(line for line in reversed(text.splitlines()) if line.startswith("{")))
    digest = _digest(Path(settings["export_path"]))
    with duckdb.connect(str(folder / "run" / "refinery.duckdb"), read_only=True) as con:
        [(shards,)] = con.execute("SELECT count(*) FROM shards").fetchall()
    shutil.rmtree(folder / "run")
    return run, shards, said["rows"], digest


def _digest(path: Path) -> str:
    """Digest of exported samples, which an array has with brackets and commas."""
    found = hashlib.sha256()
    with path.open("rb") as lines:
        for line in lines:
            if (bare := line.strip().rstrip(b",")) not in (b"[", b"]", b""):
                found.update(bare + b"\n")
    path.unlink()
    return found.hexdigest()


def commands(data: Path, rounds: int, folder: Path) -> Iterator[list[str]]:
    """Lines of the table of commands."""
    for recipe in RECIPES:
        tried: dict[str, list[Run]] = {variant: [] for variant in VARIANTS}
        digests, shards = set[str](), dict[str, int]()
        for _ in range(rounds):
            for variant, runs in tried.items():
                run, shards[variant], _, digest = once(recipe, variant, data, folder)
                runs.append(run)
                digests.add(digest)
                print(f"{recipe}, {variant}: {run.seconds:.2f} s, {run.cpu_seconds:.2f} s", file=sys.stderr)
        if len(digests) != 1:
            raise RuntimeError(f"{recipe}: kept samples differ")
        base = least(tried["as it is"])
        for variant, runs in tried.items():
            wall, busy, memory = least(runs)
            yield [
                f"{recipe}, {variant}",
                f"{shards[variant]}",
                f"{wall:.2f}",
                f"{wall / base[0]:.2f}",
                f"{busy:.2f}",
                f"{busy / base[1]:.2f}",
                f"{memory / MB:,.0f}",
            ]


def least(runs: Sequence[Run]) -> tuple[float, float, int]:
    """The least wall time, processor time and memory: other programs may have used the machine."""
    memory = (run.tree_rss or run.largest_rss for run in runs)
    return min(run.seconds for run in runs), min(run.cpu_seconds for run in runs), min(memory)


# Match keys


@contextmanager
def rows_whole() -> Iterator[None]:
    """Have tasks that divide match keys fetch whole rows."""
    from refinery.dedup.tasks import joins

    by_column = joins._columns

    def whole(store: Any, names: Sequence[str], columns: Sequence[str]) -> Any:
        with joins.opened(store, names[0]) as file:
            every = file.schema_arrow.names
        return by_column(store, names, every).select(list(columns))

    joins._columns = whole
    try:
        yield
    finally:
        joins._columns = by_column


def sign(path: Path) -> None:
    """Give the samples in a file of match keys signatures of the usual size, no two alike."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = pq.read_table(path)
    content = np.random.default_rng(2).bytes(len(found) * SIGNATURE)
    column = pa.Array.from_buffers(pa.binary(SIGNATURE), len(found), [None, pa.py_buffer(content)])
    found = found.set_column(found.column_names.index("signature"), "signature", column)
    pq.write_table(found, path, compression="none", use_dictionary=False)


def match_keys(samples: int, folder: Path) -> Iterator[list[str]]:
    """Lines of the table of match keys."""
    from bench import clusters
    from refinery.storage import local, open

    names = clusters.keys_of(folder, samples, 0.3, clusters.SHARD)
    for name in names:
        sign(folder / name)
    bounds = json.dumps([0, 1 << 62])
    far = type("Far", (local.LocalStore,), {"on_this_machine": False})
    open.STORES[""] = far
    open._opened.cache_clear()
    try:
        base = 0.0
        for what, whole in (("by column", False), ("whole rows", True)):
            seconds, size = _joined(names, folder, bounds, rows_whole if whole else None)
            base = base or seconds
            yield [f"match keys, {what}", f"{seconds * 1e6 / samples:.2f}", f"{seconds / base:.2f}", f"{size:,.0f}"]
    finally:
        open.STORES[""] = local.LocalStore
        open._opened.cache_clear()


def _joined(names: Sequence[str], folder: Path, bounds: str, change: Any) -> tuple[float, float]:
    """Processor seconds of dividing match keys by bands, and of joining these; and bytes a sample that dividing fetches."""
    from contextlib import nullcontext

    import pyarrow.parquet as pq

    from bench.clusters import BANDS
    from refinery.dedup.tasks import joins
    from refinery.workers.executor import TaskPlace

    bands, place = [f"band_{band}" for band in range(BANDS)], TaskPlace(str(folder), None, str(folder))
    with (change or nullcontext)():
        began = time.process_time()
        places = json.loads(joins.divide(place, ["_row"], bands, 1, names, "divided.parts"))
        for band, start, size in places:
            joins.equal(place, bounds, [(band, [("divided.parts", start, size)])], f"found_{band}.parts")
        seconds = time.process_time() - began
    files = [pq.ParquetFile(folder / name).metadata for name in names]
    rows = sum(file.num_rows for file in files)
    wanted = None if change else {"_row", *bands}
    size = 0
    for file in files:
        for group in map(file.row_group, range(file.num_row_groups)):
            for number in range(group.num_columns):
                column_of = group.column(number)
                if wanted is None or column_of.path_in_schema in wanted:
                    size += column_of.total_uncompressed_size
    return seconds, size / rows


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3:])
        return 0
    parser = argparse.ArgumentParser(description="Measure what cutting, streaming and columns of match keys are worth.")
    parser.add_argument("corpus", type=Path, help="JSON Lines")
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--samples", type=int, default=400_000, help="of synthetic match keys")
    arguments = parser.parse_args()
    from bench.scale import cut

    with tempfile.TemporaryDirectory(prefix="ablation-") as name:
        folder = Path(name)
        cut(arguments.corpus, int(arguments.megabytes * MB), folder / "data.jsonl")
        head = ("", "shards", "wall, s", "times", "processor, s", "times", "memory, MB")
        print("\n".join(table(head, list(commands(folder / "data.jsonl", arguments.rounds, folder)))))
        head = ("", "processor, µs a sample", "times", "bytes a sample that a task fetches")
        print("", *table(head, list(match_keys(arguments.samples, folder))), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
