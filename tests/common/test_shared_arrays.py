"""Arrays that one process makes and others map."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest

from refinery.common import shared_arrays as shared

KEY = "a" * 64


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shared, "cache_root", lambda: tmp_path)
    return tmp_path / "kind"


def made(times: list[int], value: int = 0) -> list[np.ndarray]:
    times.append(1)
    return [np.arange(3) + value, np.empty((0, 2)), np.array([True, False])]


def test_arrays_are_made_once_and_cannot_be_written(folder: Path) -> None:
    times: list[int] = []
    for _ in range(3):
        first, empty, flags = shared.shared_arrays("kind", KEY, 3, lambda: made(times))
        assert first.tolist() == [0, 1, 2] and empty.shape == (0, 2) and flags.tolist() == [True, False]
    assert len(times) == 1 and not first.flags.writeable
    assert [path.suffix for path in sorted(folder.iterdir())] == [".arrow", ""]


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_damaged_file_is_made_anew(folder: Path, damage: str) -> None:
    times: list[int] = []
    shared.shared_arrays("kind", KEY, 3, lambda: made(times))
    [path] = folder.glob("*.arrow")
    content = path.read_bytes()
    cut = {"cut": content[:-8], "changed": content.replace(b"\x02\0\0\0\0\0\0\0", b"\x03\0\0\0\0\0\0\0"), "empty": b""}
    path.write_bytes(cut[damage])
    assert shared.shared_arrays("kind", KEY, 3, lambda: made(times))[0].tolist() == [0, 1, 2]
    assert len(times) == 2 and path.read_bytes() == content


def test_the_oldest_files_go_unless_they_are_in_use(folder: Path) -> None:
    """The steps of a recipe may need many files: if those of another step went, every process would make all of them."""

    def kept(numbers: range) -> set[str]:
        for number in numbers:
            shared.shared_arrays("kind", f"{number}", 3, lambda number=number: made([], number))
        return {path.name.split(".")[0] for path in folder.glob("*.arrow")}

    assert kept(range(6)) == set("012345")
    for path in folder.glob("*.arrow"):
        os.utime(path, (0, int(path.name[0])))
    assert kept(range(0, 7, 6)) == set("0456")


def test_what_a_killed_process_has_left_is_written_over(folder: Path) -> None:
    folder.mkdir()
    for name in ("draft", "lock"):
        (folder / name).write_bytes(b"half a file")
    assert shared.shared_arrays("kind", KEY, 3, lambda: made([]))[0].tolist() == [0, 1, 2]
    assert [path.suffix for path in sorted(folder.iterdir())] == [".arrow", ""]


def test_without_a_folder_each_process_makes_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(shared, "cache_root", lambda: tmp_path / "file")
    times: list[int] = []
    for _ in range(2):
        assert shared.shared_arrays("kind", KEY, 3, lambda: made(times))[0].tolist() == [0, 1, 2]
    assert len(times) == 2


def _process(root: Path, calls: Path, number: int) -> None:
    def make() -> list[np.ndarray]:
        with calls.open("a") as file:
            file.write("x")
        return made([])

    shared.cache_root = lambda: root  # type: ignore[assignment]
    assert shared.shared_arrays("kind", KEY, 3, make)[0].tolist() == [0, 1, 2]


def test_processes_that_start_together_make_them_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=_process, args=(tmp_path, tmp_path / "calls", n)) for n in range(6)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 6 and (tmp_path / "calls").read_text() == "x"
