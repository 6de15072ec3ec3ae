"""Compare the rows and texts of two exports.

    python bench/compare.py OURS.jsonl THEIRS.jsonl

Only `id` and `text` are compared, regardless of the order. Exit 1 on a difference.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

SHOWN = 10


@dataclass
class Kept:
    """The rows of an export: number of each (id, text), as digests, by id."""

    texts: dict[str, Counter[bytes]] = field(default_factory=dict)
    rows: int = 0

    def digest(self) -> str:
        """SHA-256 over the sorted digests of all rows."""
        rows = sorted(digest for counts in self.texts.values() for digest in counts.elements())
        return hashlib.sha256(b"".join(rows)).hexdigest()


def kept_rows(path: Path) -> Kept:
    """Read an export line by line (split at line feeds only: texts may hold other line ends)."""
    kept = Kept()
    with path.open("rb") as lines:
        for line in lines:
            row = json.loads(line)
            identity = json.dumps(row.get("id"))
            digest = hashlib.sha256(f"{identity}\n{json.dumps(row['text'])}".encode()).digest()
            kept.texts.setdefault(identity, Counter())[digest] += 1
            kept.rows += 1
    return kept


@dataclass(frozen=True)
class Comparison:
    """Row counts and digests of two exports, and the first ids of each kind of difference."""

    our_rows: int
    their_rows: int
    our_sha256: str
    their_sha256: str
    only_ours: int
    only_theirs: int
    other_text: int
    examples: dict[str, list[str]]

    @property
    def equal(self) -> bool:
        return self.our_sha256 == self.their_sha256

    def as_dict(self) -> dict[str, Any]:
        return {"equal": self.equal, **asdict(self)}


def compare(ours: Path, theirs: Path) -> Comparison:
    a, b = kept_rows(ours), kept_rows(theirs)
    only_ours = [key for key in a.texts if key not in b.texts]
    only_theirs = [key for key in b.texts if key not in a.texts]
    other = [key for key, counts in a.texts.items() if key in b.texts and counts != b.texts[key]]
    kinds = {"only_ours": only_ours, "only_theirs": only_theirs, "other_text": other}
    return Comparison(
        our_rows=a.rows,
        their_rows=b.rows,
        our_sha256=a.digest(),
        their_sha256=b.digest(),
        only_ours=len(only_ours),
        only_theirs=len(only_theirs),
        other_text=len(other),
        examples={kind: keys[:SHOWN] for kind, keys in kinds.items() if keys},
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("ours", type=Path)
    parser.add_argument("theirs", type=Path)
    arguments = parser.parse_args()
    result = compare(arguments.ours, arguments.theirs)
    print(json.dumps(result.as_dict(), indent=2))
    return 0 if result.equal else 1


if __name__ == "__main__":
    sys.exit(main())
