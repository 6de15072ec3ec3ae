"""Names of input formats, as recipes write them."""

from __future__ import annotations

READABLE = ("jsonl", "json", "jsonl.gz", "jsonl.zst", "parquet", "csv", "tsv", "txt")
