"""Measure the gain of a second worker on one large file of each format.

    python bench/formats.py                                      300 MB of text in each format, 1 and 2 workers
    python bench/formats.py --formats csv json --megabytes 600

A mapper or two, filters of words and characters, and the export; whole commands. The text is that of bench/memory.py,
8 MB of random words, repeated. "gain" is the time of one worker divided by that of two, best of `--repeats`; 2.0 is the
maximum on two cores, and the start of a command, about a second, is not shared. Measure on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from measure import Run, machine, measured
from memory import BLOCK, MB, samples, write

FORMATS = ("jsonl", "jsonl.gz", "jsonl.zst", "csv", "json", "parquet")
STEPS: list[dict[str, dict[str, float]]] = [
    {"fix_unicode_mapper": {}},
    {"clean_links_mapper": {}},
    {"special_characters_filter": {"max_ratio": 0.5}},
    {"word_repetition_filter": {"max_ratio": 0.5}},
    {"words_num_filter": {"min_num": 5}},
]


def write_parquet(path: Path, size: int) -> None:
    """Write a Parquet file of about `size` bytes of text, 8 MB per row group."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    block = pa.Table.from_pylist(samples())
    with pq.ParquetWriter(path, block.schema) as file:
        for _ in range(max(1, size // BLOCK)):
            file.write_table(block)


def run(folder: Path, path: Path, workers: int) -> Run:
    """Measure one command, whose output is removed."""
    out = folder / "out"
    suffix = "parquet" if path.suffix == ".parquet" else "jsonl"
    recipe = {
        "dataset_path": str(path),
        "export_path": str(out / f"out.{suffix}"),
        "work_dir": str(out),
        "np": workers,
        "use_cache": False,
        "process": STEPS,
    }
    (folder / "recipe.yaml").write_text(json.dumps(recipe))
    root = Path(__file__).resolve().parent.parent
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "refinery", "run", str(folder / "recipe.yaml"), "--quiet"]
    found = measured(command, folder / "log.txt", cwd=folder, env=environment)
    if found.exit_code:
        raise SystemExit((folder / "log.txt").read_text(errors="replace"))
    shutil.rmtree(out)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    parser.add_argument("--megabytes", type=int, default=300, help="of text in each file")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where files are written (default: the system's temporary folder)")
    arguments = parser.parse_args()
    if arguments.folder:
        arguments.folder.mkdir(parents=True, exist_ok=True)
    said = machine()
    print(f"{said['cores']} cores, load {said['load_before']} before; {arguments.megabytes} MB of text in one file")
    print(f"{'format':10} {'1 worker':>9} {'2 workers':>9} {'gain':>5} {'processor, 1':>13} {'processor, 2':>13}")
    with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="formats-") as name:
        folder = Path(name)
        write(folder / "first.jsonl", "jsonl", MB)
        run(folder, folder / "first.jsonl", 1)  # compiles kernels that are not cached yet
        for form in arguments.formats:
            path = folder / f"in.{form}"
            if form == "parquet":
                write_parquet(path, arguments.megabytes * MB)
            else:
                write(path, form, arguments.megabytes * MB)
            one, two = (
                min((run(folder, path, workers) for _ in range(arguments.repeats)), key=lambda found: found.seconds)
                for workers in (1, 2)
            )
            times = f"{one.seconds:.2f} s", f"{two.seconds:.2f} s", f"{one.seconds / two.seconds:.2f}"
            spent = f"{one.cpu_seconds:.2f} s", f"{two.cpu_seconds:.2f} s"
            print("{:10} {:>9} {:>9} {:>5} {:>13} {:>13}".format(form, *times, *spent), flush=True)
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
