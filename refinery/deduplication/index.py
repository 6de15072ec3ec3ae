"""Marks of earlier runs' samples, so that new data is deduplicated against old without reading or hashing that again.

A folder with `index.json` (which names its files and what they were made by) and one Parquet file of marks for each run.
Only files that are named there count, and it is replaced in one step: an extension is there whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.compiler.env import lit
from refinery.deduplication.marks import Marks, statement
from refinery.errors import OperatorError, OutputError
from refinery.library import Operator, is_shipped, local_modules, read_operator
from refinery.library.assets import by_contents
from refinery.recipe.sql_files import files_of
from refinery.samples.side_files import digest, digests
from refinery.store.urls import is_url

# Parameters that decide which sample stays or what is reported, not what is compared.
_ELSEWHERE = {
    "keep", "max_cluster_size", "max_removed_share", "on_excess", "index", "trace_samples", "verify", "hamming_distance",
    "num_blocks", "text_key",
}  # fmt: skip
# Numbers of an index' samples are below 0, those of a later generation above those of an earlier one.
_GENERATION_BITS = 40
_LIST = "index.json"


@dataclass(frozen=True)
class Index:
    """An index folder, all generations that it lists, and the run that wants it: its own generation does not count."""

    folder: Path
    made_by: dict[str, Any]
    listed: tuple[dict[str, Any], ...]
    run: str = ""

    @property
    def generations(self) -> tuple[dict[str, Any], ...]:
        """What samples are compared with."""
        return tuple(item for item in self.listed if not self.run or item.get("run") != self.run)

    def files(self) -> list[str]:
        """Its files of marks."""
        return [str(self.folder / item["file"]) for item in self.generations]

    def names(self) -> list[str]:
        """What its generations are called in tables: project and run."""
        return [f"{item['project']} {item['run_id']}" for item in self.generations]


def name_of_run(root: Path, export_path: str, inputs: Sequence[dict[str, Any]]) -> str:
    """What a run is known by when it is repeated: where it leaves its results, and the files that it reads."""
    place = [os.path.realpath(root), os.path.realpath(os.path.expanduser(export_path))]
    return hashlib.sha256(json.dumps([place, list(inputs)], default=str).encode()).hexdigest()[:32]


def open_index(folder: str, step: Any, operator: Operator, run: str = "") -> Index:
    """The index in a folder, empty when there is none. run: see `name_of_run`; '' for one that cannot be repeated.

    Raises OperatorError when the folder holds something else, or an index that was made in another way or has lost files.
    """
    path = Path(os.path.expanduser(folder))
    place = f"{step.where}: {step.name}: index {folder}"
    if is_url(folder):
        raise OperatorError(
            f"{place} is a URL, and an index is a folder of this machine: copy it here before the run, and back after it"
        )
    if "\0" in folder:
        raise OperatorError(f"{step.where}: {step.name}: index {folder!r} is not a path")
    made_by = _made_by(step, operator)
    if not (path / _LIST).exists():
        if not _is_free(path):
            raise OperatorError(f"{place} is neither an index nor an empty folder")
        return Index(path, made_by, (), run)
    known, generations = _listed(path, place)
    if known != made_by:
        differing = sorted(name for name in {*known, *made_by} if known.get(name) != made_by.get(name))
        raise OperatorError(
            f"{place} was made with other {', '.join(differing)}. Use the same parameters, or another folder"
        )
    lost = [item["file"] for item in generations if not (path / item["file"]).is_file()]
    if lost:
        raise OperatorError(f"{place} has lost {', '.join(lost)}. Bring it back, or name another folder")
    return Index(path, made_by, generations, run)


def _is_free(path: Path) -> bool:
    """Whether an index can be made there: nothing is there, or only what a killed run has not got to list."""
    if not path.exists():
        return True
    return path.is_dir() and all(p.name.startswith(".") or p.match("marks-*.parquet") for p in path.iterdir())


def _listed(path: Path, place: str) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """What the index was made by, and its generations."""
    try:
        found = json.loads((path / _LIST).read_text(encoding="utf-8"))
        made_by, generations = dict(found["made_by"]), tuple(found["generations"])
        [(item["file"], item["run_id"], item["project"]) for item in generations]
    except (ValueError, TypeError, KeyError) as error:
        raise OperatorError(f"{place}: its {_LIST} is not that of an index. Name another folder") from error
    return made_by, generations


def _made_by(step: Any, operator: Operator) -> dict[str, Any]:
    """What decides an index' marks: the operator under its own name, and the parameters by which it compares."""
    own = read_operator(operator.path)  # an alias has further parameters, which are without effect
    given = by_contents(step.params, own.params)
    params = {name: given[name] for name in sorted(own.params) if name not in _ELSEWHERE and name in given}
    found = {"operator": own.name, "version": own.version, **params, **_contents(own, params)}
    return json.loads(json.dumps(found, default=list))


def _contents(operator: Operator, params: Mapping[str, Any]) -> dict[str, Any]:
    """Digests of files that decide the marks: those that SQL in parameters reads, code that is none of refinery's."""
    found: dict[str, Any] = {}
    for name, value in params.items():
        names = files_of(value) if value and operator.params[name].type == "sql" else []
        found |= {f"content of {name}": list(digests(names).values())} if names else {}
    if not is_shipped(operator.path):
        code = [operator.path, *local_modules(operator.path).values(), *operator.resources.get("files", ())]
        found["code"] = [digest(str(operator.path.parent / path)) for path in code]
    return found


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


def extend(marks: Marks, first_rows: Sequence[int], gone: pa.Table, target: Path) -> int:
    """Write the marks of the samples that stay to `target`, to be added by `extending`; how many they are.

    first_rows: number of each shard's first sample. gone: numbers of the samples that the step removes, as `_row`.
    """
    columns = [name for name in marks.columns if name != "_row" and not name.startswith("order_")]
    with marks.relation("gone", gone):
        return marks.write(statement("index", first_rows=list(first_rows), columns=columns), str(target))


@contextmanager
def extending(added: Sequence[tuple[Index, Path]]) -> Iterator[Callable[[str, str], None]]:
    """Keep other runs out of indexes until theirs is published, and have what is added in place; added: by `extend`.

    The function that is given lists it, under the id of the run and the name of its project. Raises OutputError when an
    index cannot be written, or another run has extended it since it was opened: before anything else is published.
    """
    with ExitStack() as held:
        one_way = sorted(added, key=lambda item: os.path.realpath(item[0].folder))  # no two runs wait for each other
        ready = [(index, held.enter_context(_ready(index, written))) for index, written in one_way]

        def publish(run_id: str, project: str) -> None:
            for index, aside in ready:
                with _told(index):
                    _list(index, aside, run_id, project)

        yield publish


@contextmanager
def _ready(index: Index, written: Path) -> Iterator[Path]:
    """The file of marks beside the others of an index that nobody else extends meanwhile; gone if it is not listed."""
    with ExitStack() as held:
        with _told(index):
            index.folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(_alone(index.folder))
            if _listed_now(index) != index.listed:
                raise OutputError(f"{index.folder}: another run has extended the index meanwhile; run this one again")
            aside = index.folder / f".marks-{len(index.listed) + 1:05d}.parquet"
            held.callback(aside.unlink, missing_ok=True)
            shutil.copyfile(written, aside)
        yield aside


def _listed_now(index: Index) -> tuple[dict[str, Any], ...]:
    """What the index lists now."""
    return _listed(index.folder, f"index {index.folder}")[1] if (index.folder / _LIST).exists() else ()


def _list(index: Index, marks: Path, run_id: str, project: str) -> None:
    """Add a generation, or put it in the place of the one that the same run has made before."""
    own = next((at for at, item in enumerate(index.listed) if item not in index.generations), len(index.listed))
    before = index.listed[own]["file"] if own < len(index.listed) else None
    name = before or f"marks-{own + 1:05d}-{run_id}.parquet"
    os.replace(marks, index.folder / name)
    made = {"file": name, "run_id": run_id, "project": project, "run": index.run}
    generations = [*index.listed[:own], made, *index.listed[own + 1 :]]
    text = json.dumps({"made_by": index.made_by, "generations": generations}, ensure_ascii=False, indent=2)
    aside = index.folder / f".{_LIST}"
    aside.write_text(text, encoding="utf-8")
    os.replace(aside, index.folder / _LIST)


@contextmanager
def _told(index: Index) -> Iterator[None]:
    """What the system refuses as an error that names the index."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{index.folder}: the index cannot be extended: {error.strerror or error}") from error


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Wait for other runs that extend the index, and keep them out."""
    import fcntl

    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)
