"""A step that merges statistics files and does not touch the samples; the code is in `refinery.stats.step`."""

from __future__ import annotations

from typing import Any

from refinery.stats.topk import TOP_K, TOP_K_GROUPS

OPERATOR = {
    "doc": (
        "Merge statistics files once, after the run has succeeded and its own statistics files are written. The "
        "place of the step in the recipe does not matter; samples pass unchanged. `refinery analyze` and `refinery "
        "refilter` do not merge."
    ),
    "version": 1,
    "peer": "StatsMerger of datatrove 0.10.1",
    "params": {
        "input_folder": {
            "type": "path",
            "doc": "Folder, or URL, with files such as {group}/{stat}/00000.json; may be the same as stat_summary.export.",
        },
        "output_folder": {"type": "path", "doc": "Folder, or URL, that gets {group}/{stat}/metric.json."},
        "remove_input": {
            "type": "bool",
            "default": False,
            "doc": "Remove the merged files when metric.json is on the disk.",
        },
        "top_k": {
            "type": "int",
            "default": 100_000,
            "min": 0,
            "doc": "Maximum number of keys in a group of top_k_groups.",
        },
        "top_k_groups": {
            "type": "list[str]",
            "default": ["fqdn", "suffix"],
            "doc": "Groups that keep only top_k keys, those with the most samples.",
        },
        "top_k_config": {
            "type": "any",
            "default": None,
            "nullable": True,
            "doc": "Both of these in one mapping, {top_k_groups: [...], top_k: N}, like datatrove's TopKConfig; cannot "
            "be combined with them.",
        },
    },
    "checks": "check",
    "sql": "SELECT TRUE AS _passes",
    "examples": [
        {"text": "It stays.", "params": {"input_folder": "stats", "output_folder": "merged"}, "stats": {}},
    ],
}


TOP_K_DEFAULTS = {"top_k_groups": (list(TOP_K_GROUPS), TOP_K_GROUPS), "top_k": (TOP_K,)}


def check(params: dict[str, Any]) -> list[str]:
    """Problems of the parameters."""
    empty = [f"{name} is empty" for name in ("input_folder", "output_folder") if params.get(name) == ""]
    return empty + ([] if params.get("top_k_config") is None else _wrong(params["top_k_config"], params))


def _wrong(config: Any, params: dict[str, Any]) -> list[str]:
    """Problems of top_k_config."""
    if not isinstance(config, dict):
        return [f"top_k_config is {config!r}; it must be a mapping such as {{top_k_groups: [fqdn], top_k: 50000}}"]
    unknown = [name for name in config if name not in TOP_K_DEFAULTS]
    found = [f"top_k_config has no entry {name}; there are {' and '.join(TOP_K_DEFAULTS)}" for name in unknown]
    found += [
        f"{name} is given beside top_k_config; say it in one of the two"
        for name, same in TOP_K_DEFAULTS.items()
        if params.get(name, same[0]) not in same
    ]
    top_k, groups = config.get("top_k", 0), config.get("top_k_groups", [])
    if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 0:
        found.append(f"top_k of top_k_config is {top_k!r}; it must be a whole number, 0 or more")
    if not isinstance(groups, list) or not all(isinstance(name, str) for name in groups):
        found.append(f"top_k_groups of top_k_config is {groups!r}; it must be a list of names of groups")
    return found
