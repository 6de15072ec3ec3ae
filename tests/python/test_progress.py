"""Progress of runs in Python: a bar in notebooks, none elsewhere unless it is asked for."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from refinery.python import progress
from refinery.python.progress import NotebookBar, shown


class Handle:
    def __init__(self) -> None:
        self.pages: list[str] = []

    def update(self, page: Any) -> None:
        self.pages.append(page.data)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Handle:
    """A notebook's display, whose pages are collected."""
    display = pytest.importorskip("IPython.display")
    handle = Handle()
    monkeypatch.setattr(display, "display", lambda *_, **__: handle)
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    monkeypatch.setattr(progress, "_EVERY", 0)
    return handle


def test_a_notebook_has_a_bar_that_disappears(notebook: Handle) -> None:
    with shown(None) as report:
        assert isinstance(report, NotebookBar)
        report(250, 1000)
        report(1000, 1000)
    first, last, end = notebook.pages
    assert 'value="0.2500"' in first and "refining, 250 B of 1.0 kB" in first
    assert 'value="1.0000"' in last and "writing tables" in last and end == ""


def test_a_bar_disappears_after_an_error(notebook: Handle) -> None:
    with pytest.raises(ValueError, match="no"), shown(None):
        raise ValueError("no")
    assert notebook.pages == [""]


def test_nothing_is_shown_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)
    with shown(None) as report:
        assert report is None or not isinstance(report, NotebookBar)


def test_the_callers_choice_comes_first(notebook: Handle) -> None:
    def own(done: int, total: int) -> None: ...

    with shown(False) as none, shown(own) as mine:
        assert none is None and mine is own
    assert notebook.pages == []


def test_a_bar_on_a_terminal_is_for_those_who_ask(capsys: pytest.CaptureFixture[str]) -> None:
    with shown(True) as report:
        assert report is not None
        report(1, 2)
        report(2, 2)
    assert capsys.readouterr().out == ""
