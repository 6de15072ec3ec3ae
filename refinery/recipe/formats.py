"""Names of formats, as recipes write them."""

from __future__ import annotations

FORMATS = ("jsonl", "jsonl.gz", "jsonl.zst", "json", "parquet")
READABLE = ("jsonl", "json", "jsonl.gz", "jsonl.zst", "parquet", "csv", "tsv", "txt")


def format_of(path: str) -> str | None:
    """The format of a path's suffix: `jsonl.gz`, `parquet`; None without a suffix; `.xyz` if unknown."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1].lower()
    stem, _, last = name.rpartition(".")
    if not stem:
        return None
    if last in ("gz", "zst") and stem.endswith(".jsonl"):
        return f"jsonl.{last}"
    return last if last in ("jsonl", "json", "parquet") else f".{last}"
