"""A step that merges statistics files; the samples pass by. What it does is in `refinery.stats.step`."""

from __future__ import annotations

from typing import Any

OPERATOR = {
    "doc": (
        "Merge statistics files when the samples of the run have passed, which it leaves as they are: once for a run, after "
        "the run has ended well and its own statistics files are written, wherever in the recipe the step stands. "
        "`refinery analyze` and `refinery refilter` do not merge."
    ),
    "version": 1,
    "peer": "StatsMerger of datatrove 0.10.1",
    "params": {
        "input_folder": {
            "type": "str",
            "doc": "Folder, or URL, whose folders {group}/{stat} hold files as 00000.json; may be the one of stat_summary.export.",
        },
        "output_folder": {"type": "str", "doc": "Folder, or URL, that gets {group}/{stat}/metric.json."},
        "remove_input": {
            "type": "bool",
            "default": False,
            "doc": "Remove the merged files once metric.json is safely written.",
        },
        "top_k": {"type": "int", "default": 100_000, "min": 0, "doc": "Most keys of a group of top_k_groups."},
        "top_k_groups": {
            "type": "list[str]",
            "default": ["fqdn", "suffix"],
            "doc": "Groups of which only the top_k keys of the most samples are written.",
        },
    },
    "checks": "check",
    "sql": "SELECT TRUE AS _passes",
    "examples": [
        {"text": "It stays.", "params": {"input_folder": "stats", "output_folder": "merged"}, "stats": {}},
    ],
}


def check(params: dict[str, Any]) -> list[str]:
    """What is wrong with parameters."""
    return [f"{name} is empty" for name in ("input_folder", "output_folder") if params.get(name) == ""]
