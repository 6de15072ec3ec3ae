"""The export as a folder of parts, each written by a task; which of the files in it are the export is said in a list.

Nothing is renamed and nothing is written by two: a part has its name when it is complete, the list is written last, and
what an earlier list names and this one does not is removed after that. So a reader of the list always finds one export.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from refinery.engine.worker import ShardResult
from refinery.errors import OutputError
from refinery.samples.export import Written, export
from refinery.samples.objects import info_of, version_of
from refinery.samples.write import writing
from refinery.store import Store
from refinery.store.urls import is_url

LIST = ".refinery-export"
# Samples are lines in all of them but Parquet, as Data-Juicer's parts are.
_SUFFIXES = {"jsonl": "json", "json": "json", "jsonl.gz": "json.gz", "jsonl.zst": "json.zst", "parquet": "parquet"}


def names(mark: str, kind: str, results: Sequence[ShardResult]) -> list[tuple[ShardResult, str]]:
    """The shards that have samples left, with their files: `<mark>_000000.json` and on, in the order of the samples."""
    full = [result for result in results if result.kept and result.part]
    width = max(6, len(str(len(full))))
    return [(result, f"{mark}_{number:0{width}}.{_SUFFIXES[kind]}") for number, result in enumerate(full)]


def folder_of(export_path: str) -> str:
    """The folder, or the URL of one without a slash at its end."""
    return export_path.rstrip("/") if is_url(export_path) else os.path.expanduser(export_path)


def export_part(store: str, part: str, folder: str, name: str, kind: str, lines: bool) -> str:
    """Write a part under its name into the folder; runs on the cluster. The answer is `Written` as JSON."""
    files = [str(Store.open(store).fetch(part))]
    lasting = "jsonl" if kind == "json" else kind
    if not is_url(folder):
        [written] = export(files, os.path.join(folder, name), lasting, 0, lines, in_parallel=False)
        return json.dumps(asdict(written))
    target, url = Store.open(folder), f"{folder}/{name}"
    with writing(url):
        aside = target.scratch() / name
        [written] = export(files, str(aside), lasting, 0, lines, in_parallel=False)
        target.publish(aside, name)
    return json.dumps(asdict(written) | {"path": url, "version": version_of(info_of(url), url)})


def check_folder(folder: str, store: Store) -> None:
    """See that a folder can be given parts. Raises OutputError when it is a file, or holds what is no export.

    store: where the run has its own parts, which cannot be the same folder.
    """
    if not is_url(folder) and os.path.realpath(folder) == os.path.realpath(store.url):
        raise OutputError(f"{folder}: is where the run keeps what its shards leave. Choose another export_path")
    if not is_url(folder) and os.path.exists(folder) and not os.path.isdir(folder):
        raise OutputError(f"{folder}: is a file; with executor_type: ray the export is a folder of parts. Remove it")
    strange = sorted(set(_there(folder)) - set(listed(folder)) - {LIST})
    strange = [name for name in strange if not name.startswith(".")]
    if strange and not listed(folder):
        what = f"{folder}: holds {strange[0]!r}, which is no part of an export"
        raise OutputError(f"{what}. Parts would be read together with it: choose an empty folder")


def publish(folder: str, written: Sequence[Written]) -> None:
    """Say which parts are the export, and remove those of the export before."""
    old = listed(folder)
    files = [{"name": os.path.basename(item.path), "rows": item.rows, "bytes": item.bytes} for item in written]
    text = json.dumps({"files": files}, indent=2) + "\n"
    kept = {item["name"] for item in files}
    with writing(folder):
        place = Store.open(folder)
        place.write_text(LIST, text)
        for name in [name for name in old if name not in kept]:
            place.remove(name)
        place.tidy()


def correct(folder: str) -> None:
    """Let the list name what is there, after parts of an export were taken back."""
    there = set(_there(folder))
    left = [name for name in listed(folder) if name in there]
    if len(left) < len(listed(folder)):
        place = Store.open(folder)
        text = {"files": [item for item in json.loads(place.read_text(LIST))["files"] if item["name"] in there]}
        place.write_text(LIST, json.dumps(text, indent=2) + "\n")
        place.tidy()


def listed(folder: str) -> list[str]:
    """The parts that a folder's list names; none where there is no list."""
    try:
        found: Any = json.loads(Store.open(folder).read_text(LIST))
        return [str(item["name"]) for item in found["files"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _there(folder: str) -> list[str]:
    if is_url(folder):
        return [name for name in Store.open(folder).names() if "/" not in name]
    return [path.name for path in Path(folder).glob("*")] if os.path.isdir(folder) else []
