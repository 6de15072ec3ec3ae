"""Progress of a run that Python has started: a bar in notebooks and on terminals."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any

from refinery.cli.render.console import progress_line, terminal_bar

Progress = Callable[[int, int], None]

# Least seconds between two pictures.
_EVERY = 0.2
_PICTURE = (
    '<progress max="1" value="{share:.4f}" style="width: 16em; vertical-align: middle"></progress> <span>{text}</span>'
)


@contextmanager
def shown(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """The progress function of a run. progress: the caller's; None: a bar in notebooks alone; True: also elsewhere; False: none."""
    if callable(progress):
        yield progress
    elif progress is False:
        yield None
    elif in_notebook():
        bar = NotebookBar()
        try:
            yield bar
        finally:
            bar.close()
    elif progress:
        with terminal_bar() as bar_of_terminal:
            yield bar_of_terminal
    else:
        yield None


def in_notebook() -> bool:
    """True where the caller's output is a notebook: IPython runs with a kernel, as in Jupyter, VS Code or Colab."""
    if sys.modules.get("IPython") is None:
        return False
    from IPython import get_ipython

    shell = get_ipython()
    return getattr(shell, "kernel", None) is not None


class NotebookBar:
    """A bar below the cell, called with (bytes done, bytes in all). It disappears at the end."""

    def __init__(self) -> None:
        shown_by: Any = import_module("IPython.display")
        self._html, self._started, self._last = shown_by.HTML, time.monotonic(), 0.0
        self._handle = shown_by.display(self._html("preparing"), display_id=True)

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done < total and now - self._last < _EVERY:
            return
        self._last = now
        share = done / total if total else 1.0
        text = progress_line(done, total, now - self._started)
        self._handle.update(self._html(_PICTURE.format(share=share, text=escape(text))))

    def close(self) -> None:
        """Remove the bar."""
        self._handle.update(self._html(""))
