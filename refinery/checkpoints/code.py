"""Code of a person's operators: files in their folders, modules that they import, files that they declare."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from refinery.io.side_files import files
from refinery.operators import KINDS, Library, imported_modules
from refinery.operators.reader_files import FOLDER
from refinery.planning.plan import CompiledStage
from refinery.security.sql_paths import is_own
from refinery.storage.run_folder import RunDir

_FOLDERS = {*KINDS, "features", "matchers", FOLDER}
_CODE = (".py", ".sql", ".so", ".pyd")


def code_of(
    planned: CompiledStage, library: Library, elsewhere: Collection[str], readers: Iterable[Path] = ()
) -> dict[str, str]:
    """Names in keys, by path, of the code files of a stage that are none of refinery's.

    elsewhere: paths that the recipe reads and writes, which are never code. readers: files of the input's formats.
    """
    files: dict[str, str] = {}
    for path in readers:
        files |= _code_with(path, elsewhere)
    for operator in _operators(planned, library):
        files |= _code_with(operator.path, elsewhere)
        for name in getattr(operator, "resources", {}).get("files", ()):
            files[str(operator.path.parent / name)] = f"{operator.path.name} {name}"
    for path in _matchers(planned, library):
        files |= _code_with(path, elsewhere)
    return files


def _code_with(path: Path, elsewhere: Collection[str]) -> dict[str, str]:
    """A Python file of a person, with the modules that it imports and the files in its folder."""
    modules = {str(module): f"module {name}" for name, module in imported_modules(path).items()}
    root = path.parent.parent
    return modules | {file: os.path.relpath(file, root) for file in _in_folder(path, set(modules), elsewhere)}


def _matchers(planned: CompiledStage, library: Library) -> Iterator[Path]:
    """Files of users' matchers that the stage uses."""
    steps = [step for step in (planned.stage.before, planned.stage.after) if step is not None]
    paths = (library.operators[step.name].matcher_path for step in steps)
    yield from (path for path in paths if path is not None)


def _operators(planned: CompiledStage, library: Library) -> Iterator[Any]:
    """Operators and features of the stage that are Python files of a person."""
    stage = planned.stage
    steps = [step for step in (stage.before, *stage.steps, stage.after) if step is not None]
    operators: list[Any] = [library.operators[step.name] for step in steps]
    paths = {function.path for function in planned.program.functions}
    features: list[Any] = [feature for feature in library.features.values() if feature.path in paths]
    yield from (item for item in (*operators, *features) if item.path.suffix == ".py" and is_own(item))


def _in_folder(path: Path, imported: Collection[str], elsewhere: Collection[str]) -> Iterator[str]:
    """Files in the folder of operators: helpers and data, but no other operator unless it is imported.

    Where runs are made in that very folder, data counts in the folders of operators only.
    """
    root = path.parent.parent
    crowded = any(_is_below(str(root), place) and _is_below(place, str(root)) for place in elsewhere)
    for file in files(str(root)):
        folder, name = os.path.split(os.path.relpath(file, root))
        kind = folder.split(os.sep)[0]
        other = folder in _FOLDERS and name.endswith((".py", ".sql")) and not name.startswith("_")
        if other and file != str(path) and file not in imported:
            continue
        if kind in _FOLDERS or file.endswith(_CODE) or not (crowded or _of_a_run(file, root, elsewhere)):
            yield file


def _of_a_run(file: str, root: Path, elsewhere: Iterable[str]) -> bool:
    """True if the recipe reads or writes a file, or the file stands in the folder of a run."""
    if any(_is_below(file, place) and _is_below(place, str(root)) for place in elsewhere):
        return True
    folders = [folder for folder in Path(file).parents if folder.is_relative_to(root)]
    return any(RunDir(folder).database.is_file() for folder in folders)


def _is_below(path: str, place: str) -> bool:
    path, place = os.path.realpath(path), os.path.realpath(os.path.expanduser(place))
    return path == place or path.startswith(os.path.join(place, ""))
