"""Parameters that deduplicators have without declaring them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Of every deduplicator that removes samples.
SURVIVOR_PARAMS: dict[str, dict[str, Any]] = {
    "keep": {
        "type": "str",
        "default": "first",
        "doc": "Sample of a cluster to keep: `first`, `longest` (characters of the text), `newest` (see date_key), or the "
        "first by an SQL order such as `score desc`.",
    },
    "date_key": {
        "type": "str",
        "default": "date",
        "doc": "Field with the date for `keep: newest`, such as the date of the crawl: a date, a time, or text in ISO 8601.",
    },
    "cluster": {
        "type": "str",
        "default": "connected",
        "choices": ["connected", "star"],
        "doc": "`connected`: of samples that are alike directly or through others, one stays. `star`: a sample is removed only if "
        "it is itself like one that stays.",
    },
    "save_cluster_size": {
        "type": "any",
        "default": None,
        "nullable": True,
        "doc": "Field that gets the number of samples of the cluster, 1 for a sample without duplicates; true: `cluster_size`.",
    },
    "max_cluster_size": {
        "type": "int",
        "default": None,
        "min": 1,
        "doc": "A cluster with more samples counts as suspicious; see on_excess.",
    },
    "max_removed_share": {
        "type": "float",
        "default": None,
        "min": 0,
        "max": 1,
        "doc": "A larger share of removed samples, of all or of one input, counts as suspicious; see on_excess.",
    },
    "on_excess": {
        "type": "str",
        "default": "fail",
        "choices": ["fail", "warn"],
        "doc": "For a suspicious result, end the run before anything is written, or only make a note.",
    },
    "index": {
        "type": "path",
        "default": None,
        "nullable": True,
        "doc": "Folder or URL with match keys of earlier runs. Duplicates of their samples are removed, too, and new "
        "samples are added.",
    },
    "trace_samples": {
        "type": "bool",
        "default": False,
        "doc": "Trace complete samples as dup1 and dup2, as Data-Juicer does, instead of their texts.",
    },
}
VERIFY_PARAMS: dict[str, dict[str, Any]] = {
    "verify": {
        "type": "any",
        "default": False,
        "doc": "Compute the exact Jaccard similarity of candidate pairs and drop pairs below jaccard_threshold. `kept`: a sample is "
        "removed only if its exact similarity with one that stays is at least jaccard_threshold.",
    },
}


def is_star(params: Mapping[str, Any]) -> bool:
    """Return whether a sample is removed only if it is itself like one that stays."""
    return params.get("cluster") == "star" or params.get("verify") == "kept"


def problem_of_verify(params: Mapping[str, Any]) -> str:
    """The reason why `verify` cannot be used; "" if it can."""
    if params.get("verify") not in (None, False, True, "kept"):
        return f"verify is {params['verify']!r}; set it to true, false or kept"
    if params.get("verify") and is_star(params) and params.get("index"):
        return (
            "verify: kept compares texts, and an index has none, so they cannot be used together; "
            "set verify: true with cluster: connected, or leave index out"
        )
    return ""


def size_field(params: Mapping[str, Any]) -> str | None:
    """The field that gets the size of a sample's cluster; None if it is not saved. Raises ValueError for another value."""
    saved = params.get("save_cluster_size")
    if saved is None or saved is False:
        return None
    if saved is not True and not (isinstance(saved, str) and saved.strip()):
        raise ValueError(f"save_cluster_size is {saved!r}; set it to true, or to the name of a field")
    return "cluster_size" if saved is True else str(saved)
