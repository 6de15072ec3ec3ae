"""The input format of docs/extending.md, and files of it."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs" / "extending.md"
GENES = b">a first one\nACGT\nACGT\n>broken\n>b second\nTTTTT\n"
SAMPLES = [{"id": "a", "about": "first one", "text": "ACGTACGT"}, {"id": "b", "about": "second", "text": "TTTTT"}]


def example(name: str = "fasta") -> str:
    """A reader in the documentation."""
    [found] = re.findall(
        rf"```python\n(# my_operators/readers/{name}.py\n.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL
    )
    return str(found)


def folder_with(place: Path, code: str, name: str = "fasta") -> Path:
    """A folder of operators with one reader."""
    path = place / "readers" / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code, encoding="utf-8")
    return place


def genes(place: Path) -> Path:
    """Three files of the format, one of them compressed."""
    place.mkdir()
    (place / "1.fa").write_bytes(GENES)
    (place / "2.fasta.gz").write_bytes(gzip.compress(b">c\nGGGGG\n"))
    (place / "3.fa").write_bytes(b"no record\n>d\nCCCCC\n")
    return place
