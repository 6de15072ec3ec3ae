"""Faults of users' templates, in messages that name the file, the line and the cure."""

from __future__ import annotations

import ast
import re
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from refinery.common.lazy import exp, jinja2
from refinery.compiler.mistakes import Mistakes, sentences
from refinery.compiler.templates import environment, template
from refinery.errors import RefineryError, did_you_mean
from refinery.operators.home import is_shipped
from refinery.recipe.sql import UnreadableSQL, parse

# Name that Jinja gives the file of a template's frames.
_FRAMES = "<template>"
_UNDEFINED = re.compile(r"'([^']*)' is undefined")
_ATTRIBUTE = re.compile(r"'[^']*' has no attribute '([^']*)'")
_NAMELESS = re.compile(r"No (filter|test) named '([^']*)'")
_NAMED = re.compile(r"""(?:['"]|[Ff]unction with name )([^'" ]+)""")
_CALLED = re.compile(r"[\w.<>]*<lambda>\(\)")


class TemplateFault(Mistakes):
    """Faults in a file of the user, sentences that begin with the file and the line."""

    def __init__(self, *faults: str) -> None:
        super().__init__(map(ValueError, faults))


def rendered(path: Path, body: str, context: Mapping[str, Any]) -> str:
    """The text that a template of an operator's or a feature's file gives. Raises TemplateFault if it is a user's."""
    try:
        return template(body).render(context)
    except (Mistakes, RefineryError):
        raise
    except Exception as error:
        if is_shipped(path):
            raise
        raise TemplateFault(f"{place(path, body, _line(error))}: {_sentence(error, context)}") from error


def parsed(path: Path, body: str, sql: str) -> exp.Expr:
    """The tree of a rendered template. Raises TemplateFault if it is a user's and no SQL."""
    try:
        return parse(sql)
    except ValueError as error:
        if is_shipped(path):
            raise
        line = error.line if isinstance(error, UnreadableSQL) and sql.count("\n") == body.count("\n") else 1
        raise TemplateFault(f"{place(path, body, line)}: the SQL cannot be read: {error}") from None


def select_of(path: Path, body: str, context: Mapping[str, Any]) -> exp.Select:
    """The SELECT that an operator's template gives. Raises ValueError if it is another statement, or reads rows."""
    select = parsed(path, body, rendered(path, body, context))
    if not isinstance(select, exp.Select):
        raise ValueError("its body is not one SELECT")
    if more := [name.strip("_").upper() for name, value in select.args.items() if value and name != "expressions"]:
        raise ValueError(f"its body has {more[0]}, but is one SELECT of columns; put what reads rows into a subquery")
    return select


@contextmanager
def blaming(path: Path, body: str) -> Iterator[None]:
    """Name a user's file in every mistake that is found in its template."""
    try:
        yield
    except ValueError as error:
        if is_shipped(path) or isinstance(error, TemplateFault):
            raise
        lines = ((sentence, _line_of_name(body, sentence)) for sentence in sentences(error))
        raise TemplateFault(*(f"{place(path, body, line)}: {text}" for text, line in lines)) from None


def blamed(path: Path, body: str, sentence: str) -> str:
    """A message about the SQL of a template, with the place of what it names if the file is a user's."""
    return sentence if is_shipped(path) else f"{place(path, body, _line_of_name(body, sentence))}: {sentence}"


def _line_of_name(body: str, sentence: str) -> int:
    """The line of a template that has the first name in a message; the first line if none has it."""
    name = _NAMED.search(sentence)
    at = body.find(name[1]) if name else -1
    return body.count("\n", 0, at) + 1 if at >= 0 else 1


def place(path: Path, body: str, line: int) -> str:
    """A template's line as file:line."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return f"{path}:{_line_of_constant(source, body, line)}"
    first = body.partition("\n")[0]
    at = max(source.find(first, max(0, source.find("---*/"))), 0)
    return f"{path}:{source.count(chr(10), 0, at) + line}"


def _line_of_constant(source: str, body: str, line: int) -> int:
    """The line of a Python file that has a line of one of its texts; the text's last line for one of escaped line ends."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.strip() == body.strip():
            blank = node.value[: len(node.value) - len(node.value.lstrip())].count("\n")
            return min(node.lineno + blank + line - 1, node.end_lineno or node.lineno)
    return 1


def _line(error: Exception) -> int:
    """The line of a template that raised an error."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.lineno
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _FRAMES]
    return (frames[-1].lineno or 1) if frames else 1


def _sentence(error: Exception, context: Mapping[str, Any]) -> str:
    """The fault in words, with the nearest name that is there."""
    text = _CALLED.sub("the function", " ".join(str(error).split())).rstrip(".")
    if match := _UNDEFINED.match(text):
        return f"there is no variable {match[1]!r}{_near(match[1], context)}"
    if match := _ATTRIBUTE.match(text):
        return f"{text}{did_you_mean(match[1], context.get('params', ()))}"
    if match := _NAMELESS.match(text):
        kinds = environment().filters if match[1] == "filter" else environment().tests
        near = did_you_mean(match[2], kinds) or ". There are lit, ident and those of Jinja" * (match[1] == "filter")
        return f"there is no {match[1]} {match[2]!r}{near}"
    if isinstance(error, jinja2.TemplateSyntaxError):
        return f"the template cannot be read: {text}"
    return text if type(error) is ValueError else f"{type(error).__name__}: {text}"


def _near(name: str, context: Iterable[str]) -> str:
    return did_you_mean(name, context) or f". There are {', '.join(sorted(context))}"
