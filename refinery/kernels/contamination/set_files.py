"""Rows of evaluation sets: JSON lines, JSON, CSV, Parquet and Arrow files, alone or in the folders of Hugging Face datasets."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from refinery.common.paths import printable

Row = dict[str, Any]

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".arrow")
# Files of datasets' folders that hold no items.
_ABOUT = {"dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json", "croissant.json"}


class SetError(ValueError):
    """An evaluation set cannot be used; the message names the file, the place in it and the cure."""


def files_of(path: str, split: str = "") -> list[str]:
    """The files of a set: the file itself, or those below a folder, in order of their names.

    split: take files of a folder whose name, or whose folder's, has this word. Raises SetError.
    """
    place = Path(path)
    if "://" in path:
        raise SetError(
            f"{path}: evaluation sets are files of this machine; download the set and name its file or folder"
        )
    if not place.is_dir():
        if not place.is_file():
            raise SetError(f"{printable(path)}: there is no such file or folder")
        return [path]
    below = [
        file for file in sorted(place.rglob("*")) if file.is_file() and suffix_of(file) and file.name not in _ABOUT
    ]
    below = [
        file for file in below if not any(part.startswith((".", "cache-")) for part in file.relative_to(place).parts)
    ]
    if not below:
        raise SetError(f"{printable(path)}: no file below this folder ends with one of {', '.join(SUFFIXES)}")
    chosen = [file for file in below if not split or split in _words(file.relative_to(place))]
    if not chosen:
        raise SetError(f"{printable(path)}: no file is named for the split {split!r}; the first is {below[0].name}")
    return [str(file) for file in chosen]


def suffix_of(file: Path) -> str:
    """The suffix that tells the format, empty for none; `.gz` behind it is allowed for texts."""
    name = file.name.lower().removesuffix(".gz")
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")


def _words(file: Path) -> list[str]:
    """Words of the names of a file and of its folders."""
    return "".join(char if char.isalnum() else " " for char in file.as_posix()).split()


def below(file: str, folder: str) -> str:
    """The name of a file of a set: relative to the folder if the set is one."""
    return Path(file).relative_to(folder).as_posix() if file != folder else Path(file).name


def written(value: Any) -> str:
    """A value as text; half surrogate pairs, which no UTF-8 has, become `?`."""
    return str(value).encode("utf-8", "replace").decode()


def rows_of(file: str, name: str = "") -> Iterator[tuple[str, Row]]:
    """The rows of a file, each with its place for messages and names. name: of the file in places. Raises SetError."""
    suffix = suffix_of(Path(file))
    readers: dict[str, Any] = {
        ".json": _json,
        ".csv": partial(_csv, delimiter=","),
        ".tsv": partial(_csv, delimiter="\t"),
        ".parquet": _parquet,
        ".arrow": _arrow,
    }
    name = printable(name or Path(file).name)
    try:
        for number, row in readers.get(suffix, _json_lines)(file):
            if not isinstance(row, dict):
                raise SetError(
                    f"{printable(file)}:{number}: an item must be an object with fields, not {str(row)[:60]!r}"
                )
            yield f"{name}:{number}", row
    except OSError as error:
        raise SetError(f"{printable(file)}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise SetError(
            f"{printable(file)}:{line}: not UTF-8 (byte {error.object[error.start]:#x}); write the file in UTF-8"
        ) from None
    except (EOFError, zlib.error) as error:
        raise SetError(f"{printable(file)}: damaged gzip data: {error}; get the file anew") from None
    except RecursionError:
        raise SetError(f"{printable(file)}: JSON that is nested too deeply; leave out such fields") from None


def _text(file: str) -> str:
    raw = Path(file).read_bytes()
    return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")


def _json_lines(file: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(_text(file).split("\n"), 1):
        if line.strip():
            yield number, _parsed(line, f"{printable(file)}:{number}")


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise SetError(f"{where}: not JSON: {error}") from None


def _json(file: str) -> Iterator[tuple[int, Any]]:
    """A list of items, JSON lines, or an object with lists of items, such as `{"data": [...]}` or one list per split."""
    text = _text(file)
    try:
        whole = json.loads(text)
    except ValueError:
        yield from _json_lines(file)
        return
    if isinstance(whole, dict):
        lists = [value for value in whole.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
        whole = [item for items in lists for item in items] if lists else [whole]
    if not isinstance(whole, list):
        raise SetError(f"{printable(file)}: a JSON file must hold a list of items")
    yield from enumerate(whole, 1)


def _csv(file: str, delimiter: str) -> Iterator[tuple[int, Any]]:
    csv.field_size_limit(1 << 30)
    rows = csv.DictReader(io.StringIO(_text(file), newline=""), delimiter=delimiter)
    try:
        for number, row in enumerate(rows, 1):
            if row.get(None) is not None:  # values beyond the header's columns
                raise SetError(f"{printable(file)}: row {number} has more values than the first line has columns")
            yield number, row
    except csv.Error as error:
        raise SetError(f"{printable(file)}: line {rows.line_num}: {error}") from None


def _parquet(file: str) -> Iterator[tuple[int, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as parquet:
            yield from _numbered(parquet.iter_batches(4096))
    except pa.ArrowInvalid as error:
        raise SetError(f"{printable(file)}: not a Parquet file: {error}") from None


def _arrow(file: str) -> Iterator[tuple[int, Any]]:
    """A file of `Dataset.save_to_disk`: an Arrow stream, or the format with a footer."""
    import pyarrow as pa

    with pa.OSFile(file) as source:
        try:
            yield from _numbered(pa.ipc.open_stream(source))
            return
        except pa.ArrowInvalid:
            source.seek(0)
        try:
            reader = pa.ipc.open_file(source)
        except pa.ArrowInvalid as error:
            raise SetError(f"{printable(file)}: not an Arrow file: {error}") from None
        yield from _numbered(reader.get_batch(number) for number in range(reader.num_record_batches))


def _numbered(batches: Any) -> Iterator[tuple[int, Any]]:
    number = 0
    for batch in batches:
        for row in batch.to_pylist():
            number += 1
            yield number, row
