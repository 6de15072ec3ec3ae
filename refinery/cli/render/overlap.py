"""Output of `refinery overlap`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from refinery.cli.render import console

_UNKNOWN = "?"


def show(overlap: Any) -> Iterator[Any]:
    """Yield the output for a terminal, part by part."""
    if not overlap.steps:
        yield f"{overlap.run}: no step of its recipe removes samples by itself, so there is nothing to compare"
        return
    yield _steps(overlap)
    pairs = [pair for pair in overlap.pairs if {pair.by_both, pair.only_a, pair.only_b} != {None}]
    if pairs:
        yield _pairs(pairs, overlap.steps)
    yield from _lines(overlap)


def _steps(overlap: Any) -> Any:
    """The table of steps: samples that each removes, and those that no other step removes."""
    table = _table("step", "operator", "removes", "alone")
    for step in overlap.steps:
        table.add_row(
            str(step.step), console.label_of(step.operator, step.name), f"{step.removes:,}", _count(step.alone)
        )
    return table


def _pairs(pairs: Sequence[Any], steps: Sequence[Any]) -> Any:
    """The table of pairs."""
    labels = {step.step: f"{step.step} {console.label_of(step.operator, step.name)}" for step in steps}
    table = _table("a", "b", "both", "only a", "only b", texts=2)
    for pair in pairs:
        counts = map(_count, (pair.by_both, pair.only_a, pair.only_b))
        table.add_row(labels[pair.step_a], labels[pair.step_b], *counts)
    return table


def _table(*names: str, texts: int = 2) -> Any:
    """An empty table; the columns after the first `texts` are numbers."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for at, name in enumerate(names):
        table.add_column(name, justify="left" if at < texts else "right", no_wrap=at >= texts)
    return table


def _count(count: int | None) -> str:
    return _UNKNOWN if count is None else f"{count:,}"


def _lines(overlap: Any) -> Iterator[str]:
    """Yield notes below the tables: the columns' meaning, and the reasons of what is not known."""
    yield "removes: of the samples with a verdict of the step; alone: removed by no other step; both, only a, only b: of all samples"
    for step in overlap.steps:
        if step.unknown:
            yield _note(step, overlap)
    hidden = sum({pair.by_both, pair.only_a, pair.only_b} == {None} for pair in overlap.pairs)
    if hidden:
        yield f"{hidden} of {len(overlap.pairs)} pairs are not shown: none of their counts is known"
    if overlap.cure:
        yield f"{_UNKNOWN}: samples without a verdict could be among them. {overlap.cure}, where every filter measures every sample"


def _note(step: Any, overlap: Any) -> str:
    """The number of samples without a verdict of a step, and the reason."""
    label = f"step {step.step} {console.label_of(step.operator, step.name)}"
    missing = f"{label} has no verdict on {step.unknown:,} of {overlap.rows:,} samples"
    if overlap.measured:
        return f"{missing}: its condition asks for more than the stored statistics"
    earlier = ", ".join(f"{rows:,} by step {number}" for number, rows in step.removed_before.items())
    return f"{missing}, which were removed before: {earlier}"
