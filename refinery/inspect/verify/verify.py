"""Files of a run, or copies of them elsewhere, compared with the digests that were recorded."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refinery.errors import DataError, RecipeError
from refinery.execution.assets import assets_of
from refinery.execution.open import open_recipe
from refinery.inspect.verify.new_files import new_files
from refinery.recipe import Recipe
from refinery.results.digests.hashing import in_threads, size_and_sha256
from refinery.results.digests.merkle import FileDigest
from refinery.results.digests.places import PARTS
from refinery.results.digests.record import AFTER, RunDigests, record
from refinery.storage.run_folder import RunDir
from refinery.storage.urls import is_url


@dataclass(frozen=True)
class Moved:
    """Folders that parts were moved to, by part, and the parts to compare; none: all parts."""

    folders: Mapping[str, str]
    only: Sequence[str] = ()


@dataclass(frozen=True)
class FileProblem:
    """A file that is not as recorded. problem: `differs`, `missing`, `new` or `unreadable`. detail: in words."""

    part: str
    name: str
    path: str
    problem: str
    detail: str = ""


@dataclass(frozen=True)
class PartChecked:
    """Files of a part that were compared, and their bytes; `compared` is False for a part that was left out on request."""

    part: str
    files: int
    bytes: int
    compared: bool = True


@dataclass(frozen=True)
class Verification:
    """The outcome of a comparison. left_out: what is part of the run but no file, by part.

    not_searched: parts in which new files could not be looked for, with the reason.
    """

    root: str
    run_id: str
    recorded: str
    time: str
    parts: Sequence[PartChecked]
    problems: Sequence[FileProblem]
    left_out: Sequence[tuple[str, str]]
    not_searched: Sequence[tuple[str, str]]

    @property
    def ok(self) -> bool:
        """True if all compared files are as recorded, and none is new."""
        return not self.problems


def record_now(work_dir: Path) -> RunDigests:
    """Record the digests of a finished run whose recipe did not ask for them. Raises DataError."""
    run_dir = RunDir.of_finished(work_dir)
    if run_dir.digests.is_file() and _of_this_run(run_dir, RunDigests.read(run_dir.digests)):
        raise DataError(
            f"{run_dir.digests}: digests of this run are recorded already. Compare with them: refinery verify {work_dir}"
        )
    recipe, _ = open_recipe(run_dir.recipe, need_inputs=False)
    return record(run_dir, _manifest(run_dir), recipe.inputs, recipe.export, AFTER)


def verify(run: Path, moved: Moved, root: str = "") -> Verification:
    """Compare files with the digests of a run.

    run: a run folder, or its digests.json alone. root: the root that the digests must have, as published elsewhere.
    Raises DataError if there are no digests, or if they are not those of the run.
    """
    run_dir, digests = _recorded(run)
    top = str(run_dir.root) if run_dir is not None else str(run.absolute().parent)
    if root and digests.root != root.lower():
        raise DataError(
            f"{run}: its digests have the root {digests.root}, not {root}: they are of another run or were changed"
        )
    chosen = [file for file in digests.files if file.part in (moved.only or PARTS)]
    recipe = _recipe(run_dir)
    paths = _Paths(run_dir, top, moved)
    places = [(file, paths.of(file)) for file in chosen]
    problems = [problem for problem in in_threads(_compared, places) if problem is not None]
    known = {part: {path for file, path in places if file.part == part} for part in PARTS}
    searched = moved.only or tuple(PARTS)
    additional, not_searched = new_files(recipe, top, digests.folders, moved.folders, known, searched)
    problems += [FileProblem(part, name, path, "new") for part, name, path in additional]
    order = list(PARTS)
    problems.sort(key=lambda problem: (order.index(problem.part), problem.name))
    parts = [_part(part, digests.files, not moved.only or part in moved.only) for part in PARTS]
    return Verification(
        digests.root, digests.run_id, digests.recorded, digests.time, parts, problems, digests.left_out, not_searched
    )


def _recorded(run: Path) -> tuple[RunDir | None, RunDigests]:
    """The run folder, None for digests alone, and the digests."""
    if run.is_file() and run.absolute().parent.name == RunDir(run).own.name:
        run = run.absolute().parent.parent
    if run.is_file():
        return None, RunDigests.read(run)
    run_dir = RunDir.of_finished(run)
    if not run_dir.digests.is_file():
        _manifest(run_dir)
        raise DataError(
            f"{run}: no digests are recorded. A recipe with digests: true records them at the end of its run; "
            f"refinery verify {run} --write records the digests of the present files"
        )
    digests = RunDigests.read(run_dir.digests)
    if not _of_this_run(run_dir, digests):
        raise DataError(f"{run_dir.digests}: are digests of run {digests.run_id}, not of the run in this folder")
    return run_dir, digests


def _of_this_run(run_dir: RunDir, digests: RunDigests) -> bool:
    return bool(_manifest(run_dir)["run_id"] == digests.run_id)


def _manifest(run_dir: RunDir) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads(run_dir.manifest.read_text(encoding="utf-8"))
        return manifest
    except (OSError, ValueError) as error:
        message = f"{run_dir.root}: no finished run here (no {run_dir.manifest.name}); name a run's folder"
        raise DataError(message) from error


def _recipe(run_dir: RunDir | None) -> Recipe | None:
    """The recipe of the run; None if it cannot be opened here, where operators or models may be missing."""
    try:
        return open_recipe(run_dir.recipe, need_inputs=False)[0] if run_dir is not None else None
    except (RecipeError, DataError, OSError):
        return None


class _Paths:
    """Places where the files of a run are looked for."""

    def __init__(self, run_dir: RunDir | None, root: str, moved: Moved) -> None:
        """root: the folder that recorded paths are relative to."""
        self._run_dir, self._root, self._moved = run_dir, root, moved.folders
        self._models: dict[str, str] | None = None

    def of(self, file: FileDigest) -> str:
        """The path of a file: in the folder that its part was moved to, else where it was, relative to the run folder."""
        if file.part in self._moved:
            return os.path.join(self._moved[file.part], *file.name.split("/"))
        path = file.path if is_url(file.path) else os.path.join(self._root, file.path)
        if file.part == "models" and not os.path.exists(path):
            return self._model(file.name) or path
        return path

    def _model(self, name: str) -> str:
        """The path of a model's file where this machine has it; "" if it has not."""
        if self._models is None:
            self._models = dict(self._models_here())
        return self._models.get(name, "")

    def _models_here(self) -> Iterable[tuple[str, str]]:
        if self._run_dir is None:
            return
        try:
            needed, _ = assets_of(str(self._run_dir.recipe), (), None, ())
        except RecipeError:
            return
        for asset in needed:
            for file in asset.files:
                name = "/".join(filter(None, (asset.asset.need.name, file.name)))
                yield name, os.path.join(asset.path or "", file.name) if file.name else str(asset.path)


def _compared(place: tuple[FileDigest, str]) -> FileProblem | None:
    """Compare a file with its digest."""
    file, path = place
    try:
        size, sha256 = size_and_sha256(path)
    except FileNotFoundError:
        return FileProblem(file.part, file.name, path, "missing")
    except (OSError, DataError) as error:
        return FileProblem(file.part, file.name, path, "unreadable", getattr(error, "strerror", None) or str(error))
    if (size, sha256) == (file.size, file.sha256):
        return None
    detail = f"{size:,} bytes, not {file.size:,}" if size != file.size else f"sha256 {sha256}, not {file.sha256}"
    return FileProblem(file.part, file.name, path, "differs", detail)


def _part(part: str, files: Iterable[FileDigest], compared: bool) -> PartChecked:
    own = [file for file in files if file.part == part]
    return PartChecked(part, len(own), sum(file.size for file in own), compared)
