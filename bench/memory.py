"""Measure the memory of a run when the input grows tenfold.

    python bench/memory.py                                           JSON Lines of 0.5 and 5 GB, 1 and 2 workers
    python bench/memory.py --formats jsonl jsonl.gz json --sizes 100 1000 --workers 2

Texts are random words, 8 MB of samples, repeated; files are removed after their measurement. The run normalises white
space, removes short and long texts and exports the rest. "peak" is the peak of the process as the kernel reports it,
with everything that it has mapped; "shards" is the highest sample while shards ran, before the tables of all samples
are built. Shards have the same size for small and large inputs, since memory follows it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import duckdb
from measure import Run, measured

MB = 1_000_000
BLOCK = 8 * MB
FORMATS = ("jsonl", "jsonl.gz", "jsonl.zst", "json", "csv")


def samples(seed: int = 7) -> list[dict[str, object]]:
    """About 8 MB of samples, from 100 bytes to 100 kB each."""
    dice = random.Random(seed)
    words = ["".join(dice.choices("etaoinshrdlucmfw", k=dice.randint(1, 10))) for _ in range(5000)]
    found: list[dict[str, object]] = []
    size = 0
    while size < BLOCK:
        text = " ".join(dice.choices(words, k=int(dice.paretovariate(0.9) * 15) % 15_000))
        found.append({"id": len(found), "text": text})
        size += len(text) + 30
    return found


def blocks(form: str) -> tuple[bytes, bytes, bytes]:
    """Beginning, repeated part and end of a file of a format."""
    lines = [json.dumps(sample) for sample in samples()]
    if form == "json":
        return b'[{"id": -1, "text": "first"}', ("".join(",\n  " + line for line in lines)).encode(), b"\n]\n"
    if form == "csv":
        return b"id,text\n", "".join(f'{sample["id"]},"{sample["text"]}"\n' for sample in samples()).encode(), b""
    return b"", ("\n".join(lines) + "\n").encode(), b""


def pieces(form: str, size: int) -> Iterator[bytes]:
    """The contents of a file of about `size` bytes, in pieces."""
    first, block, last = blocks(form.partition(".")[0])
    yield first
    for _ in range(max(1, size // len(block))):
        yield block
    yield last


def write(path: Path, form: str, size: int) -> None:
    """Write a file of a format with about `size` bytes of text."""
    with path.open("wb") as file:
        if form.endswith(".gz"):
            packer = zlib.compressobj(1, wbits=31)
            for piece in pieces(form, size):
                file.write(packer.compress(piece))
            file.write(packer.flush())
        elif form.endswith(".zst"):
            import pyarrow as pa

            with pa.CompressedOutputStream(file, "zstd") as stream:
                for piece in pieces(form, size):
                    stream.write(piece)
        else:
            for piece in pieces(form, size):
                file.write(piece)


def recipe(folder: Path, path: Path, workers: int, shard_size: int) -> Path:
    """Write a recipe for the file."""
    text = {
        "dataset_path": str(path),
        "export_path": str(folder / "out" / "out.jsonl"),
        "work_dir": str(folder / "out"),
        "np": workers,
        "shard_size": shard_size,
        "process": [
            {"whitespace_normalization_mapper": {}},
            {"text_length_filter": {"min_len": 100, "max_len": 90_000}},
        ],
    }
    found = folder / "recipe.yaml"
    found.write_text(json.dumps(text))
    return found


def run(folder: Path, path: Path, workers: int, shard_size: int) -> tuple[Run, int]:
    """Measure one run, whose output is removed, and its memory before tables are built, sampled once a second."""
    command = [sys.executable, "-m", "refinery", "run", str(recipe(folder, path, workers, shard_size))]
    root = Path(__file__).resolve().parent.parent
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    found = measured(command, folder / "log.txt", cwd=folder, env=environment)
    if found.exit_code:
        raise SystemExit((folder / "log.txt").read_text(errors="replace"))

    with duckdb.connect(str(folder / "out" / "refinery.duckdb"), read_only=True) as con:
        (shards,) = con.execute("SELECT max(memory) FROM monitor WHERE phase = 'shards'").fetchone() or (0,)
    shutil.rmtree(folder / "out")
    return found, int(shards or 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=["jsonl"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[500, 5000], help="bytes of text / 1e6")
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--shard_size", type=int, default=12, help="bytes / 1e6, at most (default: 12)")
    parser.add_argument("--folder", type=Path, help="where files are written (default: the system's temporary folder)")
    arguments = parser.parse_args()
    print(f"{'format':10} {'text':>9} {'workers':>7} {'shards':>9} {'peak':>9} {'seconds':>8} {'processor':>9}")
    with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="memory-") as name:
        folder = Path(name)
        for form in arguments.formats:
            for size in arguments.sizes:
                path = folder / f"in.{form}"
                write(path, form, size * MB)
                for workers in arguments.workers:
                    found, shards = run(folder, path, workers, arguments.shard_size * MB)
                    memory = f"{shards / MB:,.0f} MB", f"{found.largest_rss / MB:,.0f} MB"
                    said = f"{size:,} MB", workers, *memory, f"{found.seconds:.1f}", f"{found.cpu_seconds:.1f}"
                    print("{:10} {:>9} {:>7} {:>9} {:>9} {:>8} {:>9}".format(form, *said), flush=True)
                path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
