"""Prepare the inputs of bench/dedup.py in a separate process, so that its memory does not count in measurements.

python bench/parts.py sample corpus.jsonl OUT.jsonl --every 10      every tenth row
python bench/parts.py parquet corpus.jsonl OUT.parquet              the same rows as Parquet (zstd)
python bench/parts.py split corpus.jsonl|corpus.parquet FOLDER --files 2
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP = 4096


def sample(source: Path, out: Path, every: int) -> None:
    with source.open("rb") as lines, out.open("wb") as file:
        file.writelines(line for number, line in enumerate(lines) if number % every == 0)


def batches(source: Path) -> Iterator[pa.Table]:
    """The rows of a JSONL file in tables of one row group each, all with the types of the first."""
    import pyarrow as pa

    schema: pa.Schema | None = None
    with source.open("rb") as lines:
        while rows := [json.loads(line) for line in islice(lines, ROW_GROUP)]:
            schema = schema or known(pa.Table.from_pylist(rows).schema)
            yield pa.Table.from_pylist(rows, schema=schema)


def known(schema: pa.Schema) -> pa.Schema:
    """The schema with text as the type of columns without a value so far."""
    import pyarrow as pa

    return pa.schema([field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in schema])


def parquet(source: Path, out: Path) -> None:
    import pyarrow.parquet as pq

    writer = None
    for table in batches(source):
        writer = writer or pq.ParquetWriter(out, table.schema, compression="zstd")
        writer.write_table(table)
    if writer:
        writer.close()


def split(source: Path, folder: Path, files: int) -> None:
    """Split rows into consecutive files with about equal bytes (JSONL) or row groups (Parquet)."""
    folder.mkdir(parents=True, exist_ok=True)
    outs = [folder / f"{number:03d}{source.suffix}" for number in range(files)]
    if source.suffix == ".parquet":
        split_parquet(source, outs)
        return
    size, done = source.stat().st_size, 0
    with source.open("rb") as lines, ExitStack() as stack:
        opened = [stack.enter_context(out.open("wb")) for out in outs]
        for line in lines:
            opened[min(files - 1, done * files // size)].write(line)
            done += len(line)


def split_parquet(source: Path, outs: list[Path]) -> None:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(source)
    with ExitStack() as stack:
        writers = [stack.enter_context(pq.ParquetWriter(out, file.schema_arrow, compression="zstd")) for out in outs]
        for group in range(file.num_row_groups):
            writers[group * len(outs) // file.num_row_groups].write_table(file.read_row_group(group))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("what", choices=["sample", "parquet", "split"])
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--files", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.what == "sample":
        sample(arguments.source, arguments.out, arguments.every)
    elif arguments.what == "parquet":
        parquet(arguments.source, arguments.out)
    else:
        split(arguments.source, arguments.out, arguments.files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
