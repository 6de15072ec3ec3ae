"""Files of runs outside of the run's own folder: no other file there is overwritten or removed.

`written.json` in the run's own folder lists them: a path relative to the run folder, or an absolute path, with the size
and time of change (ns) that the run left. A file attribute (`user.refinery`) has the same for runs in other folders. A
file that is in neither, or has changed since, is the user's.
"""

from __future__ import annotations

import fnmatch
import glob
import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from refinery.errors import OutputError
from refinery.io.writers.export import stats_name
from refinery.io.writers.partitions import remove_empty_folders
from refinery.results.manifest import publish
from refinery.storage.file_marks import State, mark, marked, state_of
from refinery.storage.run_folder import RunDir


def pattern(path: str | Path) -> str:
    """The pattern that matches one path alone."""
    return glob.escape(os.path.abspath(path))


@dataclass(frozen=True)
class _Known:
    """The list. open: patterns being written. others: other people's files that match them. exports: files by path.

    inodes: by file, the time at which its inode changed last (ns), which nobody can set.
    """

    files: dict[str, State]
    open: list[str]
    others: dict[str, State]
    exports: dict[str, list[str]]
    inodes: dict[str, int]


class OwnedFiles:
    """Files that runs in a folder have written. overwrite: other files may be overwritten, too."""

    def __init__(self, run_dir: RunDir, overwrite: bool = False, copied: bool = False) -> None:
        """copied: the run folder is refinery's local copy of one at a URL, so that no file in it is a user's."""
        self._copied, self._silent = copied, run_dir.flat  # a folder of an earlier version stays unchanged
        self._list, self._root, self.overwrite = run_dir.written, os.path.abspath(run_dir.root), overwrite
        known = _read(self._list)
        self._files, self._open, self._others, self._exports = known.files, known.open, known.others, known.exports
        self._inodes = known.inodes

    def has(self, path: str | Path) -> bool:
        """Return whether a run has written the file, and nobody has changed it since.

        After a run that was killed while publishing, all files under the names that it was about to write count.
        """
        name = self._name(path)
        if self._copied and not os.path.isabs(name):
            return True
        state = state_of(path)
        if state is not None and state in (self._files.get(name), marked(path)):
            return True
        return self._is_new(name, state) and any(fnmatch.fnmatchcase(name, one) for one in self._open)

    def lists(self, path: str | Path) -> bool:
        """Return whether runs in this folder have written the file, or one that was killed was about to."""
        name = self._name(path)
        return name in self._files or any(fnmatch.fnmatchcase(name, one) for one in self._open)

    def is_untouched(self, path: str | Path) -> bool:
        """Return whether a listed file has the inode that the run left: an edit can keep size and time of a file."""
        noted = self._inodes.get(self._name(path))
        return noted is None or noted == os.stat(path).st_ctime_ns

    def _is_new(self, name: str, state: State | None) -> bool:
        """Return whether a file has appeared or changed since a run began to write under its name."""
        return name not in self._others or self._others[name] != state

    def require(self, patterns: Iterable[str], but: str | Path | None = None) -> None:
        """Check that all files that match patterns may be written. but: an exempt file. Raises OutputError."""
        for path in _matching(patterns):
            _regular(path)
            if self.overwrite or self.has(path) or (but is not None and os.path.abspath(but) == path):
                continue
            since = (
                "has changed since a run wrote it" if self._name(path) in self._files else "was not written by a run"
            )
            raise OutputError(
                f"{path}: {since}, so it is not overwritten. Move or remove it, name another place, or add --overwrite"
            )

    @contextmanager
    def claim(self, patterns: Iterable[str], but: str | Path | None = None) -> Iterator[None]:
        """List the files that match patterns after the body has written them. Raises OutputError as `require` does."""
        patterns = list(patterns)
        self.require(patterns, but)
        others = {self._name(path): state_of(path) for path in _matching(patterns) if not self.has(path)}
        self._others = {name: state for name, state in others.items() if state is not None}
        self._open = [self._name(one) for one in patterns]
        self._save()
        try:
            yield
        except BaseException:
            with suppress(OSError):  # a full disk: the names stay open, and count as the run's
                self._settle(patterns)
            raise
        self._settle(patterns)

    def _settle(self, patterns: Iterable[str]) -> None:
        self._open = []
        self._note(patterns)
        self._others = {}
        self._save()

    def _note(self, patterns: Iterable[str]) -> None:
        """Replace the listed files that match patterns by those that exist now, except other people's files."""
        patterns = list(patterns)
        names = [self._name(one) for one in patterns]
        self._files = {
            name: known
            for name, known in self._files.items()
            if not any(fnmatch.fnmatchcase(name, one) for one in names)
        }
        for path in _matching(patterns):
            if (state := state_of(path)) is not None and self._is_new(self._name(path), state):
                self._files[self._name(path)] = state
                mark(path, state)
                self._inodes[self._name(path)] = os.stat(path).st_ctime_ns

    def supersede(self, export_path: str, patterns: Iterable[str], files: Iterable[str | Path]) -> None:
        """Remove files of earlier runs of the same export that are no longer part of it. Raises OSError.

        patterns: of all files of the export. files: the export as it is now. Earlier targets of a link are not removed.
        """
        linked = any(map(os.path.islink, (os.path.expanduser(export_path), stats_name(export_path))))
        export, now = self._name(export_path), {self._name(path) for path in files}
        earlier = {name for name in self._files if any(fnmatch.fnmatchcase(name, self._name(one)) for one in patterns)}
        for name in sorted((earlier | set(self._exports.get(export, ()))) - now):
            path = os.path.join(self._root, name)
            if state_of(path) == self._files.pop(name, None):
                Path(path).unlink(missing_ok=True)
                remove_empty_folders(os.path.abspath(os.path.expanduser(export_path)), path)
        self._exports[export] = sorted(name for name in now if name in self._files and not linked)
        self._save()

    def remove(self, path: Path) -> None:
        """Remove a file that a run has written; any other file stays."""
        if self.has(path):
            path.unlink(missing_ok=True)

    def _name(self, path: str | Path) -> str:
        """A path or pattern as the list has it: relative below the run folder, which may be moved."""
        path = os.path.abspath(path)
        for root in (self._root, glob.escape(self._root)):
            if path.startswith(root + os.sep):
                return path[len(root) + 1 :]
        return path

    def _save(self) -> None:
        if self._silent:
            return
        self._inodes = {name: time for name, time in self._inodes.items() if name in self._files}
        known = _Known(self._files, self._open, self._others, self._exports, self._inodes)
        self._list.parent.mkdir(parents=True, exist_ok=True)
        publish(self._list, json.dumps(asdict(known), ensure_ascii=False, indent=1))


def _matching(patterns: Iterable[str]) -> list[str]:
    return sorted({path for one in patterns for path in glob.glob(one, include_hidden=True)})


def _regular(path: str) -> None:
    """Raise OutputError for a path that is a folder, a pipe, a device or a socket."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:  # a new file, or a link to one
        return
    except OSError as error:  # a link in a circle, below a file, or without permission
        raise OutputError(f"{path}: cannot be written: {error.strerror}. Remove it, or choose another path") from error
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
        what = kinds.get(stat.S_IFMT(mode), "a device")
        raise OutputError(f"{path}: cannot be written: it is {what}. Name a file, or `-` for standard output")


def _read(path: Path) -> _Known:
    try:
        plain: Any = json.loads(path.read_text(encoding="utf-8"))
        exports = {str(name): [str(one) for one in names] for name, names in plain["exports"].items()}
        inodes = {str(name): int(time) for name, time in plain.get("inodes", {}).items()}
        files, others = _states(plain["files"]), _states(plain["others"])
        return _Known(files, [str(one) for one in plain["open"]], others, exports, inodes)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return _Known({}, [], {}, {}, {})


def _states(plain: Any) -> dict[str, State]:
    return {str(name): (int(size), int(time)) for name, (size, time) in plain.items()}
