"""Compares all files of a corpus with their digests: snapshots, the state of the engine, and the input files that are read again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refinery.corpus.contents import contents_of
from refinery.corpus.engines import engine_of
from refinery.corpus.folder import CorpusFolder
from refinery.corpus.manifest import Contents, Manifest, read
from refinery.corpus.parts import difference
from refinery.errors import DataError
from refinery.results.digests.hashing import in_threads


@dataclass(frozen=True)
class Verification:
    """Outcome of a comparison. files, bytes: that were compared, besides those of the state. without: files of earlier versions of refinery, which have no digest.
    differences: a line for each file that is not as it was; of a damaged state one for all or for each."""

    files: int
    bytes: int
    without: int
    differences: tuple[str, ...]


def verify(folder: CorpusFolder) -> Verification:
    """Read all files and compare them. Raises DataError where there is no corpus, OutputError where another command changes it."""
    folder.require()
    with folder.held():
        snapshots, wrong = _manifests(folder)
        known = {name: contents for made in snapshots for name, contents in made.contents.items()}
        without = {name for made in snapshots for name in made.names} - known.keys()
        last = [made for made in snapshots if made.snapshot == folder.current_number()]
        inputs = [(part, file) for made in last for part in made.parts if part.left for file in part.files]
        wrong += _differences(folder, known)
        wrong += [
            line for line in in_threads(lambda one: difference(folder, *one, reads=True), inputs) if line is not None
        ]
        wrong += [line for made in last for line in _of_state(folder, made)]
        size = sum(contents.size for contents in known.values()) + sum(file.size for _, file in inputs)
        return Verification(len(known) + len(inputs), size, len(without), tuple(wrong))


def _manifests(folder: CorpusFolder) -> tuple[list[Manifest], list[str]]:
    """The snapshots that can be read, and reasons for the others."""
    snapshots, wrong = [], []
    for number in folder.numbers():
        try:
            made = read(folder, number)
            assert made is not None
            snapshots.append(made)
        except DataError as error:
            wrong.append(str(error))
    return snapshots, wrong


def _differences(folder: CorpusFolder, known: dict[str, Contents]) -> Sequence[str]:
    def of(name: str) -> str | None:
        path = folder.path(name)
        try:
            now = contents_of(path)
        except OSError as error:
            return f"{path}: cannot be read ({error.strerror or error})"
        same = (now.size, now.digest) == (known[name].size, known[name].digest)
        return None if same else f"{path}: has other contents than it was published with"

    return [line for line in in_threads(of, sorted(known)) if line is not None]


def _of_state(folder: CorpusFolder, last: Manifest) -> list[str]:
    return [
        f"{line}; the next change computes the state anew"
        for line in engine_of(last.engine).differences(folder.state(last.snapshot))
    ]
