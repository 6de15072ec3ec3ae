"""The digests of a run's files, recorded at its end, or later from its manifest."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from refinery.errors import DataError
from refinery.io.side_files import files as files_of
from refinery.recipe.export import ExportSettings
from refinery.recipe.input_config import InputConfig
from refinery.results.delivery import is_as_left
from refinery.results.digests.hashing import in_threads, size_and_sha256
from refinery.results.digests.merkle import FileDigest, merkle_root
from refinery.results.digests.places import PARTS, common, input_folder, name_below, output_folder
from refinery.results.manifest import publish
from refinery.storage.run_folder import RunDir
from refinery.storage.urls import is_stdout, is_url

FORMAT = "refinery digests 1"
# Time of recording, as digests.json and messages have it.
WITH, AFTER = "at the end of the run", "after the run"


@dataclass(frozen=True)
class RunDigests:
    """The content of digests.json. recorded: `WITH` or `AFTER`. folders: of each part.

    left_out: what is part of the run but no file, such as a table that a program has handed over, by its part.
    """

    run_id: str
    recorded: str
    time: str
    root: str
    folders: Mapping[str, str]
    left_out: Sequence[tuple[str, str]]
    files: Sequence[FileDigest]

    @staticmethod
    def read(path: Path) -> RunDigests:
        """Read a file of digests. Raises DataError if it is none, or if its root is not the one over its files."""
        try:
            plain: Any = json.loads(path.read_text(encoding="utf-8"))
            if plain["format"] != FORMAT:
                raise ValueError(f"its format is {plain['format']!r}, not {FORMAT!r}")
            files = [FileDigest(*(item[name] for name in _FIELDS)) for item in plain["files"]]
            left_out = [(str(part), str(what)) for part, what in plain["left_out"]]
            run_id, recorded, time = (str(plain[name]) for name in ("run_id", "recorded", "time"))
            digests = RunDigests(run_id, recorded, time, str(plain["root"]), dict(plain["folders"]), left_out, files)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path}: cannot be read as digests of a run: {type(error).__name__}: {error}") from None
        if merkle_root(files) != digests.root:
            raise DataError(
                f"{path}: has been changed: the root over its {len(files):,} files is not the root that it names"
            )
        return digests

    def written(self) -> str:
        """The digests as JSON, a file on each line."""
        head: dict[str, Any] = {"format": FORMAT, "run_id": self.run_id, "recorded": self.recorded, "time": self.time}
        head |= {"root": self.root, "folders": dict(self.folders), "left_out": [list(item) for item in self.left_out]}
        lines = [json.dumps({name: getattr(file, name) for name in _FIELDS}) for file in sorted(self.files)]
        return json.dumps(head, indent=1)[:-2] + ',\n "files": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n"


_FIELDS = ("part", "name", "size", "sha256", "path")


def record(
    run_dir: RunDir,
    manifest: Mapping[str, Any],
    inputs: Sequence[InputConfig],
    export: ExportSettings,
    recorded: str,
) -> RunDigests:
    """Compute and write the digests of a run's files. manifest: of the run, whose input and output files must be unchanged.

    inputs, export: of its recipe. Raises DataError for a file that has changed since the run, or is gone.
    """
    folders = _folders(run_dir, manifest, inputs, export)
    wanted = list(_listed(run_dir, manifest, folders))
    files = in_threads(lambda item: _digest(run_dir, *item), wanted)
    _require_unchanged(run_dir, manifest)
    shown = {part: _shown(run_dir, folder) for part, folder in folders.items() if folder}
    time = datetime.now(UTC).isoformat(timespec="seconds")
    left_out = [("inputs", _described(item)) for item in manifest["inputs"] if not _is_file(item)]
    if is_stdout(export.path):
        left_out.append(("outputs", "standard output"))
    digests = RunDigests(manifest["run_id"], recorded, time, merkle_root(files), shown, left_out, sorted(files))
    publish(run_dir.digests, digests.written())
    return digests


def _listed(run_dir: RunDir, manifest: Mapping[str, Any], folders: Mapping[str, str]) -> Iterable[tuple[str, str, str]]:
    """Part, name and path of each file of a run. folders: of each part."""
    for path in _inputs(manifest):
        yield "inputs", name_below(folders["inputs"], path), path
    models = set()
    for asset in manifest.get("assets", ()):
        for file in asset["files"]:
            inside = file.get("file", "")
            path = os.path.join(asset["path"], inside) if inside else asset["path"]
            models.add(os.path.realpath(path))
            yield "models", "/".join(filter(None, (asset["name"], inside))), path
    for path in _side_files(manifest):
        if os.path.realpath(path) not in models:
            yield "side_files", name_below(folders["side_files"], path), path
    yield "recipe", run_dir.recipe.name, str(run_dir.recipe)
    for path in _outputs(run_dir, manifest):
        yield "outputs", name_below(folders["outputs"], path), path


def _folders(
    run_dir: RunDir, manifest: Mapping[str, Any], inputs: Sequence[InputConfig], export: ExportSettings
) -> dict[str, str]:
    """The folder of each part whose files are below one."""
    read, side, outputs = _inputs(manifest), _side_files(manifest), _outputs(run_dir, manifest)
    return {
        "inputs": input_folder(inputs, read) if read else "",
        "side_files": common(map(os.path.dirname, side)) if side else "",
        "recipe": str(run_dir.own),
        "outputs": output_folder(export, outputs) if outputs else "",
    }


def _inputs(manifest: Mapping[str, Any]) -> list[str]:
    """Paths of the input files, each once: a recipe may name a file twice."""
    return list(dict.fromkeys(item["path"] for item in manifest["inputs"] if _is_file(item)))


def _outputs(run_dir: RunDir, manifest: Mapping[str, Any]) -> list[str]:
    """Paths of the files that a run has written for others: samples, their statistics, removed samples."""
    return [item["path"] for item in _output_items(run_dir, manifest)]


def _output_items(run_dir: RunDir, manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    items = [item for name in ("outputs", "beside", "removed") for item in manifest.get(name, ())]
    return [item for item in items if os.path.dirname(item["path"]) != str(run_dir.stdout.parent)]  # printed and gone


def _side_files(manifest: Mapping[str, Any]) -> list[str]:
    return sorted({os.path.abspath(path) for name in manifest.get("side_files", {}) for path in files_of(name)})


def _is_file(item: Mapping[str, Any]) -> bool:
    """Return whether an input of a manifest is a file or object, and no table in memory and no query."""
    return item["format"] != "sql" and (is_url(item["path"]) or os.path.isabs(item["path"]))


def _described(item: Mapping[str, Any]) -> str:
    return f"rows of a query over {item['path']}" if item["format"] == "sql" else "rows that a program has handed over"


def _digest(run_dir: RunDir, part: str, name: str, path: str) -> FileDigest:
    try:
        size, sha256 = size_and_sha256(path)
    except OSError as error:
        raise DataError(f"{path}: the {PARTS[part]} cannot be read: {error.strerror or error}") from error
    return FileDigest(part, name, size, sha256, _shown(run_dir, path))


def _shown(run_dir: RunDir, path: str) -> str:
    """A path as digests.json has it: relative to the run folder, which may be moved, or absolute."""
    if is_url(path):
        return path
    below = os.path.relpath(path, run_dir.root)
    return path if below.startswith("..") else below


def _require_unchanged(run_dir: RunDir, manifest: Mapping[str, Any]) -> None:
    """Check that inputs and outputs are as the run has read and left them. Raises DataError."""
    inputs = [{**item, "bytes": item["size"]} for item in manifest["inputs"] if _is_file(item)]
    for item in (*inputs, *_output_items(run_dir, manifest)):
        if not is_as_left(item):
            raise DataError(
                f"{item['path']}: has changed since the run, so its digest would be of another file. "
                "Bring the file back, or run the recipe again"
            )
