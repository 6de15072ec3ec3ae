"""Splits of a dataset: by the names of files, and as a dataset card declares them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from refinery.io.folders import below

# Names of splits as the Hub's own library reads them from paths of files.
_SPLITS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
_CONFIGS = re.compile(r"\A---\s*\n(.*?)\n---\s*$", re.DOTALL | re.MULTILINE)


def split_of(path: str | Path, wanted: str | None = None) -> str:
    """The split that a path names; empty if it names none. wanted: a split with a name of its own."""
    words = set(re.split(r"[^a-z]+", os.path.splitext(path)[0].lower()))
    if wanted is not None and wanted not in _SPLITS and wanted.lower() in re.split(r"[\W_]+", str(path).lower()):
        return wanted
    return next((split for split, names in _SPLITS.items() if not words.isdisjoint(names)), "")


def declared_files(folder: Path) -> dict[str, list[tuple[str, list[str]]]]:
    """Pairs of split and patterns by configuration, as the head of README.md declares them."""
    declared = _card(folder)
    configs = declared.get("configs")
    by_config = {}
    for config in configs if isinstance(configs, list) else ():
        if isinstance(config, Mapping) and "data_files" in config:
            by_config[str(config.get("config_name", "default"))] = _files_of(config["data_files"])
    return by_config


def _card(folder: Path) -> Mapping[str, Any]:
    try:
        head = _CONFIGS.search((folder / "README.md").read_text(encoding="utf-8"))
        declared = yaml.safe_load(head[1]) if head else None
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return declared if isinstance(declared, Mapping) else {}


def _files_of(declared: Any) -> list[tuple[str, list[str]]]:
    if isinstance(declared, str):
        return [("train", [declared])]
    if isinstance(declared, Mapping):
        return [(str(split), _listed(patterns)) for split, patterns in declared.items()]
    items = declared if isinstance(declared, list) else ()
    if all(isinstance(item, str) for item in items):
        return [("train", [*items])]
    return [(str(item.get("split", "train")), _listed(item.get("path"))) for item in items if isinstance(item, Mapping)]


def _listed(patterns: Any) -> list[str]:
    return [str(pattern) for pattern in patterns] if isinstance(patterns, list) else [str(patterns)]


def training_files(folder: str, paths: Sequence[str]) -> tuple[list[str], str | None]:
    """The files of a folder that are read, and a note if they are of several splits.

    With a dataset card that names the split train, only the files of train are read.
    """
    splits = {path: split_of("/".join(below(folder, path))) for path in paths}
    counts = Counter(split or "no split" for split in splits.values())
    if len(counts.keys() - {"no split"}) < 2:
        return list(paths), None
    named = ", ".join(f"{split} ({count:,})" for split, count in sorted(counts.items()))
    chosen = _declared_training(Path(folder), paths)
    if chosen:
        others = "The other splits are left out: name their files or folders to read them"
        return chosen, f"{folder}: has files of {named}; README.md names the split train, which is read. {others}"
    return list(
        paths
    ), f"{folder}: files of several splits are read together: {named}. Name the folder or files of one split"


def _declared_training(folder: Path, paths: Sequence[str]) -> list[str]:
    """The files that a dataset card declares for the split train."""
    patterns = [
        pattern
        for splits in declared_files(folder).values()
        for split, of_split in splits
        if split == "train"
        for pattern in of_split
    ]
    declared = {str(path) for pattern in patterns for path in folder.glob(pattern.lstrip("/"))}
    return [path for path in paths if path in declared]
