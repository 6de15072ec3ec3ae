"""Output of `refinery stats merge`."""

from __future__ import annotations

import sys
import time
import warnings

from refinery.errors import Problem, RecipeError
from refinery.stats.merge import Merged, StatsMerger, StatsWarning
from refinery.stats.topk import TOP_K, TOP_K_GROUPS, TopKConfig


def merge(
    source: str,
    target: str,
    remove_input: bool,
    top_k: int | None,
    top_k_groups: str | None,
    rank: int,
    world_size: int,
) -> None:
    """Merge statistics files and print a summary; warnings about losses in the input go to standard error."""
    if rank >= world_size:
        raise RecipeError(
            [Problem("--rank", f"{rank} is not below the world size of {world_size}", "Ranks begin at 0.")]
        )
    groups = (
        TOP_K_GROUPS if top_k_groups is None else [name.strip() for name in top_k_groups.split(",") if name.strip()]
    )
    config = TopKConfig(groups, TOP_K if top_k is None else top_k)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatsWarning)
        merged = StatsMerger(source, target, remove_input, config).merge(rank, world_size)
    for line in merged.notes():
        print(f"warning: {line}", file=sys.stderr)
    print(summary(merged, time.perf_counter() - began))


def summary(merged: Merged, seconds: float) -> str:
    """Summary of a merge, in a few lines."""
    lines = [
        f"{merged.files:,} files ({merged.bytes / 1e6:,.1f} MB) of {merged.folders:,} folders merged in {seconds:.1f} s: "
        f"{merged.keys:,} keys"
    ]
    if merged.removed:
        lines.append(f"{merged.removed:,} merged files removed")
    if merged.left_alone:
        few = ", ".join(merged.left_alone[:3]) + (", ..." if len(merged.left_alone) > 3 else "")
        lines.append(f"{len(merged.left_alone):,} folders hold no file named as 00000.json and were left alone: {few}")
    return "\n".join(lines)
