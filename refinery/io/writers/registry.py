"""Registered export formats. Keys, messages and documentation take the names of formats from here."""

from __future__ import annotations

from refinery.errors import OutputError, did_you_mean
from refinery.io.writers.json_array import JsonArray
from refinery.io.writers.jsonl import JsonLinesWriter
from refinery.io.writers.model import Writer
from refinery.io.writers.none import Nothing
from refinery.io.writers.parquet import ParquetWriter

WRITERS: tuple[Writer, ...] = (
    JsonLinesWriter(),
    JsonLinesWriter("gz"),
    JsonLinesWriter("zst"),
    JsonArray(),
    ParquetWriter(),
    Nothing(),
)
FORMATS = tuple(writer.name for writer in WRITERS if writer.writes)
# Values of `export_type`.
EXPORT_TYPES = tuple(writer.name for writer in WRITERS)
DEFAULT = WRITERS[0].name
NOTHING = Nothing.name

# Formats of which there is no file.
WITHOUT_FILE = frozenset(writer.name for writer in WRITERS if not writer.writes)

_BY_NAME = {writer.name: writer for writer in WRITERS}


def writer_of(name: str, path: str = "") -> Writer:
    """The writer of a format. path: of the export, for the message. Raises OutputError for an unknown format."""
    if name not in _BY_NAME:
        text = f"{name!r} cannot be written, only {', '.join(FORMATS)}{did_you_mean(name, FORMATS)}"
        raise OutputError(f"{path}: {text}" if path else text)
    return _BY_NAME[name]


def suffix_of(path: str) -> str:
    """The format that a path's suffix names, `jsonl.gz` or `parquet`; "" for any other path."""
    ends = [name for name in FORMATS if path.lower().endswith(f".{name}")]
    return max(ends, key=len, default="")


def format_of(path: str) -> str | None:
    """The format of a path's suffix: `jsonl.gz`, `parquet`; None without a suffix; `.xyz` if unknown."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1].lower()
    stem, _, last = name.rpartition(".")
    return (suffix_of(name) or f".{last}") if stem else None
