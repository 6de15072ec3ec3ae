"""The blocks of the documentation: fenced ones with their language, indented ones, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_FENCE = re.compile(r"^```(\w*)$")


@dataclass(frozen=True)
class Block:
    """One block. page: the page's stem. language: that of the fence, `indented` without one."""

    page: str
    line: int
    language: str
    text: str

    @property
    def title(self) -> str:
        """Its first line, which names it on its page."""
        return self.text.partition("\n")[0].strip()

    @property
    def lines(self) -> list[str]:
        """Lines of a shell, without comments."""
        joined = re.sub(r"\\\n\s*", "", self.text)
        return [line for text in joined.splitlines() if (line := text.partition(" #")[0].strip())]

    def __str__(self) -> str:
        return f"{self.page}:{self.line} {self.title[:60]}"


def blocks_of(page: Path) -> Iterator[Block]:
    """All blocks of a page, in order."""
    lines = page.read_text("utf-8").split("\n")
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        begins = lines[at].startswith("    ") and (at == 0 or not lines[at - 1].strip())
        if not fence and not begins:
            at += 1
            continue
        end = at + 1
        while end < len(lines) and _goes_on(lines[end], fence is not None):
            end += 1
        inner = lines[at + 1 : end] if fence else [line[4:] for line in lines[at:end]]
        language = (fence[1] or "text") if fence else "indented"
        yield Block(page.stem, at + 1, language, "\n".join(inner).rstrip("\n") + "\n")
        at = end + 1 if fence else end


def _goes_on(line: str, fenced: bool) -> bool:
    return line != "```" if fenced else line.startswith("    ") or not line.strip()


def all_blocks() -> list[Block]:
    return [block for page in PAGES for block in blocks_of(page)]
