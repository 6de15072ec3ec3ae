"""The line that says that kernels are compiled."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from refinery.cli import runs
from refinery.cli.render import console
from refinery.kernels.core import compiling


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


def test_a_progress_bar_has_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A print beside the bar becomes a line that stays: 26 of them in the first run."""
    shown: list[str] = []
    fake = SimpleNamespace(add_task=lambda *_, **__: 0, update=lambda _, **keys: shown.append(keys["shown"]))
    monkeypatch.setattr(compiling, "_observers", [])
    with runs._observing(console.Bar(fake, 60)):
        for done in range(3):
            [observer] = compiling._observers
            observer(done, 2)
    assert shown == ["0 of 2 kernels compiled (once)", "1 of 2 kernels compiled (once)", ""]
    assert compiling._observers == [runs._compiling]
