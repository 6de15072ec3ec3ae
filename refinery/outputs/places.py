"""Whether a run may write where its recipe says: found out before anything is processed."""

from __future__ import annotations

import errno
import os

from refinery.errors import OutputError
from refinery.outputs import targets
from refinery.outputs.belongings import Belongings
from refinery.outputs.delivery import why_not
from refinery.preparing import Prepared
from refinery.recipe import Recipe
from refinery.samples.export import stats_path
from refinery.samples.write import writing
from refinery.store.urls import is_stdout, is_url
from refinery.store.workplace import Workplace


def require_place(prepared: Prepared) -> None:
    """Find out before the work begins whether there is a place for the export. Raises OutputError."""
    recipe = prepared.recipe
    if wrong_url := why_not_written(recipe):
        raise OutputError(wrong_url)
    if recipe.export_format == "none" or is_url(recipe.export_path) or is_stdout(recipe.export_path):
        return
    target = os.path.abspath(os.path.expanduser(recipe.export_path))
    folder = os.path.dirname(target)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    one = recipe.executor_type == "default" and recipe.export_shard_size == 0
    wrong = errno.EISDIR if one and os.path.isdir(target) else 0 if os.path.isdir(folder) else errno.ENOTDIR
    with writing(recipe.export_path):
        if wrong:
            raise OSError(wrong, os.strerror(wrong))
        if not os.access(folder, os.W_OK | os.X_OK):
            read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
            number = errno.EROFS if read_only else errno.EACCES
            raise OSError(number, os.strerror(number))


def require_own(prepared: Prepared, place: Workplace, overwrite: bool) -> bool:
    """See that no file is in the way which no run has written. Raises OutputError. Gives back `overwrite`."""
    run_dir = place.run_dir
    belongings = Belongings(run_dir, overwrite, bool(place.url))
    if not overwrite:
        place.require()
    if prepared.recipe.open_tracer and run_dir.trace.exists() and not run_dir.trace.is_dir():
        raise OutputError(f"{run_dir.trace}: is a file, where traces go. Remove it, or set another work_dir")
    belongings.require(targets.of_run(prepared, run_dir), targets.own_database(run_dir.database, belongings))
    return overwrite


def why_not_written(recipe: Recipe) -> str | None:
    """Why the export cannot be put at its URL; None where it can, or is no URL."""
    if recipe.export_format == "none" or not is_url(recipe.export_path):
        return None
    return why_not(recipe.export_path, recipe.executor_type != "default")


def keep_inputs(prepared: Prepared) -> None:
    """See that the run does not write over what it reads. Raises OutputError."""
    path = Workplace.of(prepared.recipe.work_dir).file_of_export(prepared.recipe.export_path)
    if prepared.recipe.export_format == "none":
        return
    written = {_place_of(name) for name in (path, stats_path(path))}
    for source in prepared.sources:
        if source.table is None and _place_of(source.path) in written:
            raise OutputError(f"{source.path}: cannot be written: it is also read. Choose another export_path")


def _place_of(path: str) -> str:
    """A path by which files are told apart."""
    return path if is_url(path) else os.path.realpath(os.path.expanduser(path))
