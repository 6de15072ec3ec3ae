"""Marks of earlier runs' samples, so that new data is deduplicated against old without reading or hashing that again.

A folder with `index.json` (which names its files and what they were made by) and one Parquet file of marks for each run.
Only files that are named there count, and it is replaced in one step: an extension is there whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.compiler.env import lit
from refinery.deduplication.marks import Marks, statement
from refinery.errors import OperatorError, OutputError
from refinery.library import Operator

# Parameters that decide which sample stays or what is reported, not what is compared.
_ELSEWHERE = {
    "keep", "max_cluster_size", "max_removed_share", "on_excess", "index", "trace_samples", "verify", "hamming_distance",
    "num_blocks", "text_key",
}  # fmt: skip
# Numbers of an index' samples are below 0, those of a later generation above those of an earlier one.
_GENERATION_BITS = 40


@dataclass(frozen=True)
class Index:
    """An index folder and the generations that it lists."""

    folder: Path
    made_by: dict[str, Any]
    generations: tuple[dict[str, Any], ...]

    def files(self) -> list[str]:
        """Its files of marks."""
        return [str(self.folder / item["file"]) for item in self.generations]

    def names(self) -> list[str]:
        """What its generations are called in tables: project and run."""
        return [f"{item['project']} {item['run_id']}" for item in self.generations]


def open_index(folder: str, step: Any, operator: Operator) -> Index:
    """The index in a folder, empty when there is none. Raises OperatorError when it was made in another way."""
    path = Path(os.path.expanduser(folder))
    made_by = _made_by(step, operator)
    described = path / "index.json"
    if not described.exists():
        if path.exists() and (not path.is_dir() or any(p for p in path.iterdir() if not p.name.startswith("."))):
            raise OperatorError(f"{step.where}: {step.name}: index {folder} is neither an index nor an empty folder")
        return Index(path, made_by, ())
    found = json.loads(described.read_text(encoding="utf-8"))
    if found["made_by"] != made_by:
        differing = sorted(k for k in {*found["made_by"], *made_by} if found["made_by"].get(k) != made_by.get(k))
        raise OperatorError(
            f"{step.where}: {step.name}: index {folder} was made with other {', '.join(differing)}. "
            "Use the same parameters, or another folder"
        )
    return Index(path, made_by, tuple(found["generations"]))


def _made_by(step: Any, operator: Operator) -> dict[str, Any]:
    source = hashlib.sha256(operator.path.read_bytes()).hexdigest()
    names = sorted(set(step.params) - _ELSEWHERE)
    params = {name: step.params[name] for name in names if name in operator.params}
    return json.loads(
        json.dumps({"operator": operator.alias_of or operator.name, "source": source, **params}, default=list)
    )


def view_of(index: Index) -> str | None:
    """SQL for the index' marks under their numbers; None when it has none."""
    if not index.generations:
        return None
    shift = " ".join(
        f"WHEN {lit(name)} THEN {(number - len(index.generations)) << _GENERATION_BITS}"
        for number, name in enumerate(index.files())
    )
    return (
        f"SELECT * EXCLUDE (filename) REPLACE (CAST(CASE filename {shift} END + _row AS BIGINT) AS _row) "
        f"FROM read_parquet({lit(index.files())}, union_by_name = true, filename = true)"
    )


def extend(marks: Marks, first_rows: Sequence[int], gone: pa.Table, target: Path) -> None:
    """Write the marks of the samples that stay to `target`, to be added by `publish`.

    first_rows: number of each shard's first sample. gone: numbers of the samples that the step removes, as `_row`.
    """
    with marks.relation("gone", gone):
        marks.write(statement("index", first_rows=list(first_rows)), str(target))


def publish(index: Index, written: Path, run_id: str, project: str) -> None:
    """Add a file of marks to the index. Raises OutputError when it cannot be written, or was extended by another run."""
    try:
        index.folder.mkdir(parents=True, exist_ok=True)
        described = index.folder / "index.json"
        now = tuple(json.loads(described.read_text(encoding="utf-8"))["generations"]) if described.exists() else ()
        if now != index.generations:
            raise OutputError(f"{index.folder}: another run has extended the index meanwhile; run this one again")
        name = f"marks-{len(now) + 1:05d}-{run_id}.parquet"
        aside = index.folder / f".{name}"
        shutil.copyfile(written, aside)
        os.replace(aside, index.folder / name)
        generations = [*now, {"file": name, "run_id": run_id, "project": project}]
        text = json.dumps({"made_by": index.made_by, "generations": generations}, ensure_ascii=False, indent=2)
        aside = index.folder / ".index.json"
        aside.write_text(text, encoding="utf-8")
        os.replace(aside, described)
    except OSError as error:
        raise OutputError(f"{index.folder}: the index cannot be extended: {error.strerror or error}") from error
