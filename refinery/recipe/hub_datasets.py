"""Datasets of the Hugging Face Hub: a local folder, the cache of the Hub, or URLs for the Hub's own driver."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from refinery.assets.find import revision_of
from refinery.assets.places import hub
from refinery.io.folders import is_never_data
from refinery.io.formats import split_suffix
from refinery.io.readers.registry import READERS
from refinery.io.splits import declared_files, split_of

_SUFFIXES = frozenset(suffix for reader in READERS for suffix in reader.suffixes if reader.name != "text")


@dataclass(frozen=True)
class HubDataset:
    """A dataset as a recipe names it. path: repository or local folder. name: of its configuration."""

    path: str
    name: str | None = None
    split: str | None = None
    data_dir: str | None = None
    data_files: tuple[str, ...] = ()


class NotHere(Exception):
    """The dataset cannot be read; the cure in its second argument."""


def paths_of(dataset: HubDataset) -> list[str]:
    """Files of a dataset, or URLs of them. Raises NotHere."""
    if dataset.split is not None and re.search(r"[\[+%]", dataset.split):
        raise NotHere(
            f"split {dataset.split!r} is an expression", "Name one split; dataset.max_sample_num takes fewer samples."
        )
    place = os.path.expanduser(dataset.path)
    if os.path.isfile(place):
        return [place]
    there = place if os.path.isdir(place) else _cached(dataset.path)
    if there is not None:
        return _chosen(Path(there), dataset)
    if find_spec("huggingface_hub") is None or find_spec("fsspec") is None or not _is_repository(dataset.path):
        raise NotHere(_nowhere(dataset.path), _cure(dataset.path))
    return _urls(dataset)


def _is_repository(path: str) -> bool:
    return re.fullmatch(r"[\w.-]+(/[\w.-]+)?", path) is not None


def _folder_in_cache(path: str) -> Path:
    return Path(hub().folder) / f"datasets--{path.replace('/', '--')}"


def _cached(path: str) -> str | None:
    folder = revision_of(_folder_in_cache(path)) if _is_repository(path) else None
    return str(folder) if folder is not None and folder.is_dir() else None


def _nowhere(path: str) -> str:
    return (
        f"the dataset {path!r} is not on this machine: there is no such folder, and no {_folder_in_cache(path)} in the cache of "
        "Hugging Face; the package huggingface_hub, which reads it from the Hub, is not installed"
    )


def _cure(path: str) -> str:
    return f"pip install huggingface_hub, or load the dataset once (hf download {path} --repo-type dataset), or name a local folder."


def _urls(dataset: HubDataset) -> list[str]:
    """URLs of named files, or of the Hub's conversion to Parquet, which has a folder for each configuration and split."""
    home = f"hf://datasets/{dataset.path}"
    folder = f"{dataset.data_dir.strip('/')}/" if dataset.data_dir else ""
    if dataset.data_files:
        return [f"{home}/{folder}{pattern}" for pattern in dataset.data_files]
    if folder:
        return [f"{home}/{folder}"]
    if dataset.split is None:
        raise NotHere(
            f"the dataset {dataset.path!r} is read from the Hub, where it may have several splits",
            "Write split: train.",
        )
    return [f"{home}@~parquet/{dataset.name or 'default'}/{dataset.split}/*.parquet"]


def _chosen(folder: Path, dataset: HubDataset) -> list[str]:
    """Files of a split in a folder: as its README declares them, else by their names. Raises NotHere."""
    base = folder / dataset.data_dir if dataset.data_dir else folder
    if dataset.data_files:
        files = [path for pattern in dataset.data_files for path in _matches(base, pattern)]
    elif (declared := _declared(folder, dataset)) is not None:
        files = declared
    else:
        if dataset.name is not None and dataset.name != "default":
            base = base / dataset.name
        files = _of_split(list(_below(base)), base, dataset)
    if not files:
        split = f" of split {dataset.split!r}" if dataset.split else ""
        name = f" of configuration {dataset.name!r}" if dataset.name else ""
        raise NotHere(f"{folder} has no files{split}{name}", "Name files with data_files, or a folder with data_dir.")
    return list(dict.fromkeys(map(str, files)))


def _below(base: Path) -> Iterator[Path]:
    """Data files below a folder, in order."""
    for path in sorted(base.rglob("*")):
        is_data = split_suffix(path)[0] in _SUFFIXES and not is_never_data(path.relative_to(base).parts)
        if is_data and path.is_file():
            yield path


def _matches(base: Path, pattern: str) -> list[Path]:
    if pattern.startswith("/") or ".." in pattern.split("/"):
        raise NotHere(f"data_files {pattern!r} leads out of the dataset", "Name files below its folder.")
    return sorted(
        path
        for path in base.glob(pattern)
        if path.is_file() and not is_never_data(path.relative_to(base).parts, pattern)
    )


def _of_split(files: Sequence[Path], base: Path, dataset: HubDataset) -> list[Path]:
    """Files of the wanted split, which paths of files tell; all files where no path tells any."""
    marked = {path: split_of(path.relative_to(base), dataset.split) for path in files}
    splits = sorted({split for split in marked.values() if split})
    if dataset.split is None and len(splits) > 1:
        raise NotHere(f"{base} has the splits {', '.join(splits)}", f"Name one of them: split: {splits[0]}")
    if not splits and dataset.split in (None, "train"):
        return list(files)
    return [path for path in files if marked[path] == (dataset.split or splits[0])]


def _declared(folder: Path, dataset: HubDataset) -> list[Path] | None:
    """Files that the README of a dataset declares for the configuration and split; None without a declaration."""
    configs = declared_files(folder)
    name = dataset.name or ("default" if len(configs) != 1 else next(iter(configs), "default"))
    if name not in configs:
        return None
    files: list[Path] = []
    for split, patterns in configs[name]:
        if dataset.split in (None, split):
            files += [path for pattern in patterns for path in _matches(folder, pattern)]
    splits = list(dict.fromkeys(split for split, _ in configs[name]))
    if dataset.split is None and len(splits) > 1:
        raise NotHere(f"{folder} has the splits {', '.join(splits)}", f"Name one of them: split: {splits[0]}")
    return files
