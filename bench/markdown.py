"""Tables and marked places in pages of docs/."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table; the first column aligned left, the others right."""
    lines = [list(head), ["---", *["---:"] * (len(head) - 1)], *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]


def written(page: str, tables: Mapping[str, Sequence[str]]) -> str:
    """The page with new lines between `<!-- measured: name -->` and `<!-- end -->`. Raises KeyError without a place."""
    for name, lines in tables.items():
        start, end = f"<!-- measured: {name} -->\n", "\n<!-- end -->"
        before, found, after = page.partition(start)
        if not found:
            raise KeyError(name)
        page = before + start + "\n" + "\n".join(lines) + "\n" + end + after.partition(end)[2]
    return page
