"""Output of `refinery audit`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from refinery.common.printable import printable

# Sources of a step to show, and rows of a path.
_SOURCES, _PATH = 20, 8


def show(found: Any) -> Iterator[Any]:
    """Yield the output for a terminal, part by part."""
    if not found.summary:
        yield f"{found.run}: no deduplicator has removed a sample, or a part of one, that stays elsewhere, so there is nothing to compare"
        return
    yield "" if found.stored else "recomputed from the input; nothing was written"
    yield _shares(found.summary)
    yield "at least, from, to: between these shares of what was removed are at least so similar to what stays (95 %)"
    for hub in found.hubs:
        like = "" if hub["median_similarity"] is None else f", median {hub['measure']} {hub['median_similarity']:.2f}"
        text = printable(hub["excerpt"])
        yield f"step {hub['step']}: row {hub['via']} connects {hub['connected']:,} others ({hub['reason']}{like}): {text!r}"
    for chain in found.chains:
        rows = [*map(str, chain["path"][:_PATH]), *(["..."] if len(chain["path"]) > _PATH else [])]
        what = f"step {chain['step']}: a chain in a cluster of {chain['cluster_size']:,}: rows {' - '.join(rows)}"
        yield f"{what}; {chain['measure']} of its ends {chain['similarity']:.2f}"
    yield from found.notes


def _shares(summary: list[dict[str, Any]]) -> Any:
    """The table of shares: all sources of a step, then some of them."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    names = ("step", "operator", "source", "compared", "measure", "at least", "sampled", "of", "from", "to")
    for at, name in enumerate(names):
        table.add_column(name, justify="left" if at < 5 else "right")
    shown: dict[int, list[str | None]] = {}
    for row in summary:
        sources = shown.setdefault(row["step"], [])
        if row["source"] not in sources:
            sources.append(row["source"])
        if len(sources) <= _SOURCES + 1:
            shares = (f"{100 * row[end]:.1f} %" for end in ("low", "high"))
            counts = f"{row['threshold']:g}", f"{row['n']:,}", f"{row['removed']:,}"
            source = "all" if row["source"] is None else printable(row["source"])
            table.add_row(str(row["step"]), row["operator"], source, row["basis"], row["measure"], *counts, *shares)
    return table
