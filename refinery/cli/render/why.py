"""Output of `refinery why`: a row's history, with the effect of each step and the evidence of deduplicators."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from refinery.cli.render import console
from refinery.common.paths import shorter

_STYLES = {"removed": "red", "quarantined": "red", "not reached": "dim", "unchanged": "dim"}
_INDENT = " " * 7
# Most units, or rows of a cluster, to list; `--json` has all.
_SHOWN = 10
# Widest column of steps; longer names push what follows to the right.
_WIDEST = 40


def history_text(history: Any) -> Any:
    """The row, then the effect of each step on it."""
    from rich.text import Text

    end = next((event for event in history.events if event.fate in ("removed", "quarantined")), None)
    by = f" by step {end.step} {_label(end)}" if end else ""
    lines = [Text(f"row {history.row}, {shorter(history.file)}: {history.fate}{by}", style="bold")]
    if history.sample is not None:
        lines.append(Text(f"  {console.beginning(json.dumps(history.sample, ensure_ascii=False, default=str), 200)}"))
    if history.error and not history.events:
        lines.append(Text(f"  it could not be read: {history.error}"))
    width = min(max((len(_label(event)) for event in history.events), default=0), _WIDEST)
    for event in history.events:
        lines.append(
            Text(
                f"  {event.step:>3}  {_label(event):<{width}}  {_event_text(event)}", style=_STYLES.get(event.fate, "")
            )
        )
        if event.after is not None:
            before, after = console.around_difference(event.before or "", event.after, 300)
            lines += [Text(f"{_INDENT}- {before}", style="red"), Text(f"{_INDENT}+ {after}", style="green")]
        details = [
            *(_duplicate(event) if event.duplicate else ()),
            *_units(event.units or ()),
            *(_texts(event.stats or {}) if event.fate == "removed" else ()),
        ]
        lines += [Text(f"{_INDENT}{line}") for line in details]
    return Text("\n").join(lines)


def _label(event: Any) -> str:
    return console.label_of(event.operator, event.name)


def _event_text(event: Any) -> str:
    """The effect of one step, in words: `removed (recipe.yaml:8): text_len below min_len (5, bound 6)`."""
    if event.reason and event.fate == "kept":
        return f"kept: {event.reason}"
    if event.reason:
        value = [console.number(event.value)] if event.value is not None else []
        bound = [f"bound {console.number(event.bound)}"] if event.bound is not None else []
        numbers = f" ({', '.join(value + bound)})" if (value or bound) and event.duplicate is None else ""
        return f"{event.fate} ({event.where}): {event.reason}{numbers}"
    stats = ", ".join(f"{name} = {console.number(value)}" for name, value in (event.stats or {}).items())
    return f"{event.fate}  {stats}" if stats else event.fate


def _duplicate(event: Any) -> Iterator[str]:
    """Yield the pair, the match key, and the shared shingles."""
    duplicate, cluster = event.duplicate, event.cluster
    if duplicate.kept is None:
        yield f"kept instead: {duplicate.kept_in_index}, from the index"
    else:
        yield f"kept instead: {_other(duplicate.kept)}"
        yield from _shared(duplicate.kept.shared)
    if duplicate.via is not None:
        yield f"matched with: {_other(duplicate.via)}"
        yield from _shared(duplicate.via.shared)
    yield f"matched by: {_matched(duplicate)}"
    if cluster is not None and cluster.size > 2:
        rows = ", ".join(str(row) for row in cluster.rows[:_SHOWN]) + (", …" if cluster.rows[_SHOWN:] else "")
        yield f"cluster of {cluster.size}: rows {rows}"


def _other(other: Any) -> str:
    return f"row {other.row}, {shorter(other.file)}: {console.beginning(other.text or '', 80)}"


def _matched(duplicate: Any) -> str:
    """The match in words: `band 3, estimated Jaccard 0.93`, or the match key."""
    facts = [console.beginning(duplicate.matched, 200)]
    if duplicate.distance is None and duplicate.estimated_jaccard is None:
        facts = [f"key {facts[0]}"]
    if duplicate.simhash is not None:
        other = duplicate.via or duplicate.kept
        facts += [" and ".join([duplicate.simhash, *([other.simhash] if other and other.simhash else [])])]
        facts += ["of too few tokens for a shingle"] if not int(duplicate.simhash, 16) else []
    if duplicate.estimated_jaccard is not None:
        facts.append(f"estimated Jaccard {console.number(duplicate.estimated_jaccard)}")
    if duplicate.jaccard is not None:
        facts.append(f"true Jaccard {console.number(duplicate.jaccard)}")
    return ", ".join(facts)


def _shared(shared: Any) -> Iterator[str]:
    if shared is None:
        return
    sizes = f"{shared.here:,} here and {shared.there:,} there"
    yield f"  shares {shared.count:,} distinct shingles, of {sizes}: Jaccard {console.number(shared.jaccard)}"
    for shingle in shared.first:
        yield f"    {console.beginning(shingle, 100)}"
    if shared.count > len(shared.first):
        yield f"    and {shared.count - len(shared.first):,} more"


def _texts(stats: dict[str, Any]) -> Iterator[str]:
    """Yield the statistics of a removal that are texts, such as a label or a passage."""
    for name, value in stats.items():
        if isinstance(value, str) and value:
            yield f"{name}: {console.beginning(value, 200)}"


def _units(units: Any) -> Iterator[str]:
    """Yield the removed units, with the reason for each."""
    for unit in units[:_SHOWN]:
        facts = f"number {unit.unit}" if unit.text is None else f'"{console.beginning(unit.text, 80)}"'
        place = (
            ""
            if unit.first is None
            else f", {'first' if unit.copy is None else 'copy'} in row {unit.first}"
            + (f", {shorter(unit.file)}" if unit.file else "")
        )
        yield f"{unit.kind} {facts}: {unit.matched}{place}"
        if unit.copy is not None:
            yield f'  there: "{console.beginning(unit.copy, 120)}"'
    if len(units) > _SHOWN:
        yield f"and {len(units) - _SHOWN:,} more"
