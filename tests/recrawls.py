"""The matcher and deduplicator that docs/extending.md shows, and samples for them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_PAGE = Path(__file__).parent.parent / "docs" / "extending.md"
_DAYS = [0, 3, 40, 5, 2, 47, 90, 12]
_PAGES = ["a", "a", "a", "b", "b", "a", "b", "a"]
SAMPLES = [
    {"text": f"page {page} of day {day}", "url": page, "day": day} for page, day in zip(_PAGES, _DAYS, strict=True)
]
STEP: dict[str, Any] = {"recrawl_deduplicator": {"key": "url", "day": "day", "window": 7, "keep": "day"}}


def operators_with_matcher(folder: Path) -> Path:
    """Make a folder with the matcher and the deduplicator of the page, and nothing else."""
    shown = re.findall(
        r"^```\w+\n((?:--|#) my_operators/(\S+)\n.*?)^```$", _PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    for content, name in shown:
        if name in ("matchers/window.py", "deduplicators/recrawl_deduplicator.sql"):
            (folder / name).parent.mkdir(parents=True)
            (folder / name).write_text(content, "utf-8")
    assert len(list(folder.rglob("*.*"))) == 2
    return folder
