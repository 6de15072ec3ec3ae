"""Checks before a run that its export and its folders can be written."""

from __future__ import annotations

import errno
import json
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from refinery.compiler.model import Stat
from refinery.errors import OutputError
from refinery.io.model import Source
from refinery.io.writers.export import stats_path
from refinery.io.writers.write import writing
from refinery.planning.plan import CompiledStage, stats_of
from refinery.recipe.export import ExportSettings
from refinery.recipe.run_outputs import RunOutputs
from refinery.results import targets
from refinery.results.delivery import why_not
from refinery.results.owned_files import OwnedFiles
from refinery.storage.run_folder import RunDir
from refinery.storage.urls import is_stdout, is_url, real_place, real_places
from refinery.storage.workplace import Workplace

# Further characters in a file's name while it is written.
_ASIDE = 40


def require_place(export: ExportSettings) -> None:
    """Check that the export can be written to its place. Raises OutputError."""
    if export.is_remote and (reason := why_not(export.path, export.in_parts or export.is_folder)) is not None:
        raise OutputError(reason)
    if not export.is_local:
        return
    target = os.path.abspath(os.path.expanduser(export.path))
    folder = os.path.dirname(target)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    is_file = not export.in_parts and export.shard_size == 0 and not export.is_folder
    wrong = errno.EISDIR if is_file and os.path.isdir(target) else 0 if os.path.isdir(folder) else errno.ENOTDIR
    if export.is_folder and os.path.lexists(target) and not os.path.isdir(target):
        raise OutputError(
            f"{export.path}: is a file; samples in partitions are files in a folder. Remove it, or name another"
        )
    with writing(export.path):
        _require_names(target, _ASIDE)
        if wrong:
            raise OSError(wrong, os.strerror(wrong))
        _require_writable(folder)


def _require_writable(folder: str) -> None:
    """Check that files can be made in a folder, by making an unnamed one: permissions do not show it for root or /proc.

    Raises OSError.
    """
    if not os.access(folder, os.W_OK | os.X_OK):
        read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
        number = errno.EROFS if read_only else errno.EACCES
        raise OSError(number, os.strerror(number))
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600))
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
            raise
        os.rmdir(tempfile.mkdtemp(dir=folder))  # a file system without unnamed files


def _require_apart(outputs: RunOutputs, run_dir: RunDir) -> None:
    """Check that folders of partitions hold neither files of the run itself, nor each other. Raises OutputError."""
    exports = [("export_path", outputs.export), ("removed_path", outputs.removed)]
    local = [(key, one) for key, one in exports if one is not None and one.is_local]
    own = [os.path.realpath(path) for path in (run_dir.database, run_dir.own)]
    for key, one in local:
        if not one.is_folder:
            continue
        others = [*own, *(real_place(other.path) for _, other in local if other is not one)]
        if any(other.startswith(_folder(one.path)) for other in others):
            raise OutputError(
                f"{one.path}: is a folder of samples and holds other files of the run. Choose another {key}"
            )


def _require_alone(export: ExportSettings | None, belongings: OwnedFiles, key: str) -> None:
    """Check that a folder of partitions has no files of others: samples would be read together with them. Raises OutputError."""
    if export is None or not export.is_local or not export.is_folder or belongings.overwrite:
        return
    folder = os.path.abspath(os.path.expanduser(export.path))
    for root, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.join(root, name)
            if not name.startswith(".") and not belongings.lists(path):
                what = f"{folder}: holds {os.path.relpath(path, folder)!r}, which no run of this work_dir has written"
                raise OutputError(f"{what}. Samples would be read together with it: remove it, or choose another {key}")


def _require_free_names(export: ExportSettings, run_dir: RunDir) -> None:
    """Check that the export does not use a name that the run itself needs. Raises OutputError."""
    if not export.is_local:
        return
    names = (run_dir.database, run_dir.report, run_dir.own, run_dir.trace)
    taken = [os.path.realpath(path) for path in names if path != run_dir.own or not path.is_symlink()]
    for path in (export.path, stats_path(export.path)):
        real = os.path.realpath(os.path.expanduser(path))
        if any(real == one or real.startswith(one + os.sep) for one in taken):
            raise OutputError(f"{path}: the run keeps files of its own here. Choose another export_path")


def _require_no_whole_run(place: Workplace) -> None:
    """Check that a run over a part of the input does not replace one over all of it. Raises OutputError."""
    store, name = place.own(), place.run_dir.manifest.name
    manifest = json.loads(store.read_text(name)) if store.exists(name) else None
    earlier = (manifest or {}).get("portion") or {}
    if manifest is None or earlier.get("limit") or earlier.get("sample"):
        return
    raise OutputError(
        f"{place.name}: holds the results of a run over the whole input, which a run over a part of it would replace. "
        "Name another work_dir and export_path, or use --overwrite"
    )


def require_own(outputs: RunOutputs, stages: Sequence[CompiledStage], overwrite: bool, remote: bool = True) -> None:
    """Check before a run that it would overwrite only files and objects of runs. Raises OutputError.

    remote: check URLs, too.
    """
    place = Workplace.of(outputs.work_dir)
    run_dir = place.run_dir
    _require_free_names(outputs.export, run_dir)
    _require_apart(outputs, run_dir)
    if outputs.of_part and not overwrite and (remote or not place.url):
        _require_no_whole_run(place)
    belongings = OwnedFiles(run_dir, overwrite, bool(place.url))
    _require_alone(outputs.export, belongings, "export_path")
    _require_alone(outputs.removed, belongings, "removed_path")
    require_objects(outputs, stats_of(stages), place, overwrite or not remote)
    if outputs.traces and run_dir.trace.exists() and not run_dir.trace.is_dir():
        raise OutputError(
            f"{run_dir.trace}: is a file, but traces need a folder of that name. Remove it, or set another work_dir"
        )
    belongings.require(targets.of_run(outputs, stages, run_dir), targets.own_database(run_dir.database, belongings))


def require_objects(outputs: RunOutputs, stats: Sequence[Stat], place: Workplace, overwrite: bool) -> None:
    """Check that a run would overwrite only objects that runs have put. Raises OutputError, OSError."""
    export, removed, summary = outputs.export, outputs.removed, outputs.summary
    written = (place.url, export.path, summary.export or "", removed.path if removed is not None else "")
    if overwrite or not any(map(is_url, written)):
        return
    holdings = place.holdings()
    place.require(holdings)
    with writing(export.path):
        holdings.require(targets.of_objects(export, stats))
    if removed is not None and removed.is_remote:
        with writing(removed.path):
            holdings.require(targets.of_objects(removed, ()))
    with writing(summary.export or ""):
        holdings.require(targets.statistics_objects(summary))


def require_folders(outputs: RunOutputs) -> None:
    """Check that the folders of a run can be made and written. Raises OutputError."""
    for path in filter(None, (outputs.work_dir, outputs.temp_dir, outputs.summary.export)):
        if is_url(path):
            continue
        folder = os.path.abspath(path if path == outputs.work_dir else os.path.expanduser(path))
        with writing(path):
            _require_names(folder)
        while not os.path.lexists(folder):
            folder = os.path.dirname(folder)
        with writing(path):
            if not os.path.isdir(folder):
                raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            _require_writable(folder)


def _require_names(path: str, room: int = 0) -> None:
    """Check that the system accepts a path. room: further characters for its last name. Raises OSError."""
    folder, name = os.path.split(path)
    try:
        os.lstat(os.path.join(folder, name + "x" * room))
    except (FileNotFoundError, NotADirectoryError, PermissionError):  # checked elsewhere, with messages of their own
        return
    except ValueError as error:
        raise OSError(errno.EINVAL, "the name holds a NUL character") from error


def keep_inputs(outputs: RunOutputs, sources: Sequence[Source]) -> None:
    """Check that a run does not overwrite its input, nor read outputs of an earlier run. Raises OutputError."""
    paths = [source.path for source in sources if source.table is None]
    if not paths:
        return
    written, real = WrittenPlaces(outputs), real_places()
    for path in paths:
        if cure := written.cure(real(path)):
            raise OutputError(f"{path}: cannot be written: it is also read. {cure}")


class WrittenPlaces:
    """The files and folders that a run writes to; each is looked up once, however many inputs are compared with them."""

    def __init__(self, outputs: RunOutputs) -> None:
        export, removed = outputs.export, outputs.removed
        path = Workplace.of(outputs.work_dir).file_of_export(export.path) if is_stdout(export.path) else export.path
        self._exports = {real_place(path), real_place(stats_path(path))} if export.is_written else set()
        self._parts = _folder(export.path) if export.is_written and export.in_parts else ""
        self._folders = [_folder(one.path) for one in (export, removed) if one and one.is_folder and one.is_local]
        if removed is not None and not removed.is_folder:
            self._exports.add(real_place(removed.path))
        self._pieces = _pieces(export.path, export.kind) if export.is_written and export.shard_size else None
        self._indexes = [_folder(index) for index in outputs.indexes]
        self._summary = _folder(outputs.summary.export) if outputs.summary.export else ""
        local = not is_url(outputs.work_dir)
        self._traces = {real_place(str(path)) for path in _traces(outputs.work_dir)} if local else set()

    def cure(self, place: str) -> str | None:
        """Advice that keeps the run from writing to a place; None if the run does not write there."""
        piece = self._pieces is not None and self._pieces.fullmatch(place) is not None
        if place in self._exports or piece or (self._parts and place.startswith(self._parts)):
            return "Choose another export_path"
        if any(place.startswith(folder) for folder in self._folders):
            return "Choose another export_path or removed_path"
        if any(place.startswith(folder) for folder in self._indexes):
            return "Choose another folder for index"
        if self._summary and place.startswith(self._summary):
            return "Choose another folder for stat_summary.export"
        return "Choose another work_dir" if place in self._traces else None


def _traces(work_dir: str) -> list[Path]:
    try:
        return RunDir(Path(work_dir)).traces()
    except OSError:  # the system does not accept the path: `require_folders` reports that
        return []


def _pieces(path: str, kind: str) -> re.Pattern[str]:
    """The places of an export of several files."""
    stem = path[: -len(kind) - 1] if path.lower().endswith(f".{kind}") else os.path.splitext(path)[0]
    return re.compile(re.escape(real_place(stem)) + r"-\d+-of-\d+\." + re.escape(kind))


def _folder(path: str) -> str:
    """The beginning of places below a folder."""
    return real_place(path).rstrip("/") + "/"
