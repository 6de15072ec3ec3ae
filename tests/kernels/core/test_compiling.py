"""Kernels are compiled by processes that share the import of numba, and that end with the work."""

import os
import signal
from pathlib import Path

import pytest

from refinery.kernels.core import compiling
from refinery.kernels.core.machine_code import _checked

NAMES = ["core.decimals.number", "text.lines.count_lines", "text.lines.line_ends"]


def test_processes_compile_each_kernel_once_and_end(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    compiling.observe(lambda done, total: seen.append((done, total)))
    try:
        compiling.begin()
        (compiler,) = compiling._begun
        compiling.compile_apart(NAMES, tmp_path)
    finally:
        compiling._observers.clear()
    assert seen == [(done, 3) for done in range(4)]
    assert sorted(place.stem for place in tmp_path.iterdir()) == NAMES
    assert all(_checked(place.read_bytes()) for place in tmp_path.iterdir())
    assert not compiling._begun and compiler._process.poll() == 0


def test_a_compiler_that_is_not_needed_ends() -> None:
    compiler = compiling._Compiler()
    compiler.end()
    assert compiler._process.poll() == 0


def test_kernels_are_left_out_if_their_compiler_dies(tmp_path: Path) -> None:
    compiling.begin()
    (compiler,) = compiling._begun
    os.kill(compiler._process.pid, signal.SIGKILL)
    compiling.compile_apart(NAMES, tmp_path)  # returns, and raises nothing
    assert not list(tmp_path.iterdir())
    compiling.compile_apart(NAMES[:1], tmp_path)  # with another compiler
    assert [place.stem for place in tmp_path.iterdir()] == NAMES[:1]


def test_a_process_stays_with_a_package() -> None:
    names = ["core.decimals.number", "json.jsoncheck._objects", "json.jsontext.skip_space", "text.lines.gather"]
    modules = compiling._Modules([*names, "text.links.replace"])
    first, second = modules.take(""), modules.take("")
    assert sorted([first, second]) == [["json.jsoncheck._objects"], ["text.links.replace"]]  # the longest
    assert modules.take("json") == ["json.jsontext.skip_space"] and modules.take("text") == ["text.lines.gather"]
    assert modules.take("json") == ["core.decimals.number"] and modules.take("json") == []


def test_a_compiler_begins_ahead_only_on_a_new_computer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[bool] = []
    monkeypatch.setattr(compiling, "begin", lambda: begun.append(True))
    monkeypatch.setattr(compiling, "CACHE", tmp_path)
    compiling.begin_on_new_computer()
    assert len(begun) == 1
    (tmp_path / "code" / "processor").mkdir(parents=True)
    (tmp_path / "code" / "processor" / "text.lines.gather.o").touch()
    compiling.begin_on_new_computer()
    monkeypatch.setattr(compiling, "CACHE", tmp_path / "none")
    monkeypatch.setattr(compiling, "SHIPPED", tmp_path)
    compiling.begin_on_new_computer()
    assert len(begun) == 1
