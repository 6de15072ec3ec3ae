"""Answers of the methods of a run: values that print as the command of the same name prints them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, is_dataclass
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any, Generic, TypeVar

from refinery.cli.render.console import print_lines

Value = TypeVar("Value")

# Columns of a printed answer, as of a command without a terminal.
_WIDTH = 120
_CODE = '<pre class="refinery" style="line-height: 1.2; white-space: pre; overflow-x: auto">{code}</pre>'


class Answer(Generic[Value]):
    """An answer. value: the data, whose fields are attributes of the answer, too.

    `print` shows what the command prints, a notebook shows it with its colours; `as_dict` gives the data of `--json`.
    """

    def __init__(self, value: Value, parts: Callable[[Value], Iterable[Any]], data: Callable[[Value], Any]) -> None:
        """parts: makes the parts that the command prints. data: makes plain data. Both are functions of a module."""
        self.value, self._parts, self._data = value, parts, data

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain data."""
        found: dict[str, Any] = self._data(self.value)
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "value":
            raise AttributeError(name)
        try:
            return getattr(self.value, name)
        except AttributeError:
            raise AttributeError(f"a {type(self.value).__name__} has no {name!r}") from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in dir(self.value) if not name.startswith("_"))})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answer) and bool(self.value == other.value)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return text_of(self._parts(self.value))

    def _repr_html_(self) -> str:
        return html_of(self._parts(self.value))


class Answers(list[Answer[Value]]):
    """Several answers: a list that prints one below the other."""

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        return "".join(answer._repr_html_() for answer in self)


class Page(os.PathLike[str]):
    """A report page. path: its file. A notebook shows the page, in a frame of its own that runs no script."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"Page({str(self.path)!r})"

    def _repr_html_(self) -> str:
        page = escape(self.path.read_text(encoding="utf-8"))
        style = "width: 100%; height: 40em; border: 1px solid #8888"
        return f'<iframe sandbox srcdoc="{page}" style="{style}"></iframe>'


def text_of(parts: Iterable[Any]) -> str:
    """Parts of an answer as a command prints them to a file."""
    file = StringIO()
    _print(parts, file)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def html_of(parts: Iterable[Any]) -> str:
    """Parts of an answer as HTML, with colours; no character of a document is markup."""
    return str(_print(parts, StringIO()).export_html(inline_styles=True, code_format=_CODE))


def _print(parts: Iterable[Any], file: StringIO) -> Any:
    from rich.console import Console

    out = Console(file=file, width=_WIDTH, highlight=False, soft_wrap=True, record=True, force_jupyter=False)
    for part in parts:
        print_lines(out, part)
    return out


def fields_of(value: Any) -> Any:
    """The fields of a dataclass as plain data."""
    assert is_dataclass(value) and not isinstance(value, type)
    return asdict(value)
