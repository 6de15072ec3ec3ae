"""Check that two runs read the same samples, so that a row number means the same in both."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from refinery.recipe import Recipe

Manifest = Mapping[str, Any]


def why_not_the_same(a: Manifest, b: Manifest, recipe_a: Recipe, recipe_b: Recipe) -> str | None:
    """Return the reason why rows of two runs cannot be compared; None when they can.

    Files are the same when name, size and modification time are, in the same order. A dataset handed over in Python
    counts as the same when its size is.
    """
    if (recipe_a.limit, recipe_a.sample) != (recipe_b.limit, recipe_b.sample):
        return "they have read different parts of the input (limit, sample)"
    files_a, files_b = ([_file(item) for item in manifest["inputs"]] for manifest in (a, b))
    if len(files_a) != len(files_b):
        return f"they have read {_files(len(files_a))} and {_files(len(files_b))}"
    for one, other, item in zip(files_a, files_b, b["inputs"], strict=True):
        if one[0] != other[0]:
            return f"one has read {one[0]} where the other has read {other[0]}"
        if one != other:
            return f"{item['path']} has changed between them"
    if recipe_a.max_sample_num != recipe_b.max_sample_num:
        return "they have drawn different numbers of samples (max_sample_num)"
    weights_a, weights_b = ([source.weight for source in recipe.inputs] for recipe in (recipe_a, recipe_b))
    if recipe_a.max_sample_num is not None and weights_a != weights_b:
        return "they have drawn samples by different weights"
    if a["rows"]["read"] != b["rows"]["read"]:
        return f"they have read {a['rows']['read']:,} and {b['rows']['read']:,} rows"
    return None


def _file(item: Mapping[str, Any]) -> tuple[str, int, int]:
    return os.path.basename(item["path"]), item["size"], item["modified"]


def _files(count: int) -> str:
    return f"{count:,} file{'' if count == 1 else 's'}"
