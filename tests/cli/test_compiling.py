"""The line that says that kernels are compiled."""

from __future__ import annotations

import itertools

import pytest

from refinery.cli import runs


def test_compiling_is_announced_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(runs, "_announced", itertools.count())
    for done, total in ((0, 2), (1, 2), (2, 2), (0, 1), (1, 1)):
        runs._compiling(done, total)
    assert capsys.readouterr().err == "compiling kernels for this processor (once)\n"


def test_a_terminal_shows_the_number(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for done in range(3):
        runs._compiling(done, 2)
    assert capsys.readouterr().err.endswith("\rcompiling 2 of 2 kernels for this processor (once)\n")
