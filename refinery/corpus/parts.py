"""The data of adds: files that are identified by their contents, and read again by later changes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from refinery.common.paths import shorter
from refinery.corpus.engine import PartInput
from refinery.corpus.folder import CorpusFolder
from refinery.corpus.manifest import InputFile, Manifest, Part, PartSource
from refinery.corpus.stamps import stamp_of
from refinery.errors import DataError, OutputError
from refinery.io.left_out import numbers_in
from refinery.io.model import Source
from refinery.recipe import Recipe
from refinery.recipe.input_config import InputConfig
from refinery.results.digests.hashing import in_threads, size_and_sha256
from refinery.storage.urls import is_url


@dataclass(frozen=True)
class NewData:
    """The data of an add. sources: what is new. known: files that the corpus has already, each with the number of its add."""

    sources: tuple[PartSource, ...]
    known: tuple[tuple[str, int], ...]


def new_data(recipe: Recipe, sources: Sequence[Source], last: Manifest | None) -> NewData:
    """The files of a recipe's inputs that the corpus does not have. Raises DataError."""
    known_files = {file.path: file for part in _living(last) if not part.copied for file in part.files}
    digested = in_threads(lambda source: _input_file(source.path, known_files.get(source.path)), list(sources))
    _require_once(digested)
    kept = [] if last is None else [part for part in last.parts if part.left or not part.withdrawn]  # with empty files
    had = {(file.size, file.sha256): part.number for part in kept for file in part.files}
    _require_unchanged(digested, last)
    found, known = [], []
    for dataset, group in groupby(zip(sources, digested, strict=True), key=lambda pair: pair[0].dataset):
        files = []
        for _, file in group:
            number = had.get((file.size, file.sha256))
            known += [] if number is None else [(file.path, number)]
            files += [file] if number is None else []
        config = recipe.inputs[dataset]
        found += [PartSource(config.path, config.format, config.options, tuple(files))] if files else []
    return NewData(tuple(found), tuple(known))


def _living(last: Manifest | None) -> list[Part]:
    """Parts of which samples are left."""
    return [part for part in last.parts if part.left] if last is not None else []


def _require_once(files: Sequence[InputFile]) -> None:
    paths = [file.path for file in files]
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise DataError(f"{shorter(twice)}: the inputs name the file twice. Name it once")


def _require_unchanged(files: Sequence[InputFile], last: Manifest | None) -> None:
    """Check that no file of an earlier add, which the corpus reads at its place, has other contents by now."""
    placed = {file.path: (file, part.number) for part in _living(last) if not part.copied for file in part.files}
    for file in files:
        known = placed.get(file.path)
        if known is not None and known[0].sha256 != file.sha256:
            cure = "Put new samples into a new file, or withdraw that add first (refinery withdraw --add)"
            raise DataError(f"{shorter(file.path)}: has changed since add {known[1]}, which reads it. {cure}")


def _input_file(path: str, known: InputFile | None) -> InputFile:
    """A file with its digest. known: as it was added from this place; its digest holds if size, times and inode are the same."""
    try:
        stamp = stamp_of(path)
        if known is not None and stamp and stamp == known.stamp:
            return known
        size, digest = size_and_sha256(path)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}") from error
    return InputFile(path, size, digest, stamp)


def require_files(folder: CorpusFolder, parts: Iterable[Part]) -> None:
    """Check that the files of parts are as they were added. Raises DataError that names all that are not."""
    files = [(part, file) for part in parts for file in part.files]
    wrong = [text for text in in_threads(lambda item: difference(folder, *item), files) if text is not None]
    if wrong:
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        cure = "Bring the files back; a part whose files are lost can be withdrawn as a whole with --add"
        raise DataError(f"{folder.root}: {'; '.join(wrong[:5])}{more}. A corpus reads its inputs again. {cure}")


def difference(folder: CorpusFolder, part: Part, file: InputFile, reads: bool = False) -> str | None:
    """Reason why a file of a part is not as it was added; None if it is. reads: also where its stamp is the same."""
    path = place_of(folder, part, file)
    what = f"{shorter(path)} of add {part.number}"
    try:
        if not reads and file.stamp and stamp_of(path) == file.stamp:
            return None
        size, digest = size_and_sha256(path)
    except FileNotFoundError:
        return f"{what} is gone"
    except OSError as error:
        return f"{what} cannot be read ({error.strerror or error})"
    return None if (size, digest) == (file.size, file.sha256) else f"{what} has changed since"


def place_of(folder: CorpusFolder, part: Part, file: InputFile) -> str:
    """The place from which a file is read."""
    return str(folder.path(file.path)) if part.copied else file.path


def copied(folder: CorpusFolder, part: Part, origin: str = "") -> Part:
    """Copy the files of a part into the corpus; return the part with their places. Raises OutputError, DataError.

    origin: the folder by which users know the files; "" for that in which they are.
    """
    target = folder.copies(part.number)
    shutil.rmtree(target, ignore_errors=True)  # of a command that was stopped: the number is that of no add
    sources = []
    for number, source in enumerate(part.sources):
        files = []
        for at, file in enumerate(source.files):
            if is_url(file.path):
                raise DataError(
                    f"{file.path}: --copy takes files of this machine. Download it first, or leave out --copy"
                )
            folders = [name for name in os.path.dirname(file.path).split(os.sep) if "=" in name]
            place = target.joinpath(f"{number:03d}", *folders, f"{at:06d}-{os.path.basename(file.path)}")
            copy = _copy(folder, file, place)
            files.append(replace(copy, origin=f"{origin}/{os.path.basename(file.path)}") if origin else copy)
        alone = len(source.files) == 1 and source.path == source.files[0].path
        base = folder.name(target / f"{number:03d}")
        sources.append(replace(source, path=files[0].path if alone else base, files=tuple(files)))
    return replace(part, sources=tuple(sources), copied=True)


def _copy(folder: CorpusFolder, file: InputFile, place: os.PathLike[str]) -> InputFile:
    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copyfile(file.path, place)
        with open(place, "rb") as written:
            os.fsync(written.fileno())
        size, digest = size_and_sha256(os.fspath(place))
    except OSError as error:
        raise OutputError(f"{place}: {error.strerror or error}") from error
    if (size, digest) != (file.size, file.sha256):
        raise DataError(f"{shorter(file.path)}: has changed while it was copied. Repeat the command")
    name = os.path.relpath(place, folder.root).replace(os.sep, "/")
    return InputFile(name, size, digest, stamp_of(os.fspath(place)), file.path)


def part_input(folder: CorpusFolder, part: Part, new: bool = False) -> PartInput:
    """A part as an engine reads it."""
    left_out = str(folder.path(part.left_out)) if part.left_out else ""
    withdrawn = numbers_in(left_out) if left_out else np.zeros(0, np.int64)
    inputs = tuple(_config(folder, part, source) for source in part.sources)
    return PartInput(part.number, inputs, None if new else part.rows, withdrawn, left_out)


def _config(folder: CorpusFolder, part: Part, source: PartSource) -> InputConfig:
    path = str(folder.path(source.path)) if part.copied else source.path
    files = tuple(place_of(folder, part, file) for file in source.files)
    return InputConfig(path, 1.0, source.format, source.options, files)
