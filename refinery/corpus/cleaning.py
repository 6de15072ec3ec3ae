"""Removes old snapshots, and the files that no other snapshot needs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from refinery.corpus.folder import CorpusFolder
from refinery.corpus.manifest import NAME, Manifest, read
from refinery.errors import DataError


def keep_last(folder: CorpusFolder, count: int) -> tuple[list[int], int]:
    """Remove all snapshots but the last ones; return their numbers, and the bytes of the removed files.

    Readers of a removed snapshot lose its files. Raises DataError, OutputError.
    """
    folder.require()
    with folder.held():
        folder.tidy()
        numbers = folder.numbers()
        kept = [made for number in numbers[-count:] if (made := read(folder, number)) is not None]
        if not kept:
            raise DataError(f"{folder.root}: the corpus has no snapshot yet")
        needed = {folder.path(name) for made in kept for name in made.names}
        removed = numbers[:-count]
        for number in removed:  # from now on it is no snapshot
            (folder.snapshot(number) / NAME).unlink()
        files = [file for name in os.listdir(folder.snapshots) for file in _of(folder.snapshots / name, kept)]
        size = sum(_remove(file) for file in files if file not in needed)
        size += sum(_remove_folder(folder.copies(part)) for part in _parts_gone(kept))
        for name in os.listdir(folder.snapshots):
            if not any((folder.snapshots / name).iterdir()):
                (folder.snapshots / name).rmdir()
        return removed, size


def _of(folder: Path, kept: list[Manifest]) -> list[Path]:
    """Files of a folder that go unless they are needed: those of a snapshot that stays all stay."""
    stays = folder.name in {f"{made.snapshot:05d}" for made in kept}
    return [] if stays else list(folder.iterdir())


def _parts_gone(kept: list[Manifest]) -> list[int]:
    """Parts that are withdrawn as a whole in all snapshots, whose copied files nobody reads."""
    last = kept[-1]
    return [
        part.number
        for part in last.parts
        if part.copied and not any(p.number == part.number and p.left for made in kept for p in made.parts)
    ]


def _remove(file: Path) -> int:
    size = file.stat().st_size
    file.unlink()
    return size


def _remove_folder(folder: Path) -> int:
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    shutil.rmtree(folder, ignore_errors=True)
    return size
