"""The commands that look at a run, called from Python: each imports what it needs, and answers with a value that prints."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

from refinery.errors import OutputError, Problem, RecipeError
from refinery.execution.run import Progress
from refinery.operators.processes import using_processes
from refinery.python.answers import Answer, Answers, Page, fields_of
from refinery.python.opened import read_facts, require_recomputable
from refinery.storage.urls import is_stdout

if TYPE_CHECKING:
    from refinery.inspect.analyze.analyze import Analysis
    from refinery.inspect.audit.audit import RunAudit
    from refinery.inspect.diff.diff import Difference
    from refinery.inspect.refilter.refilter import Refiltered
    from refinery.inspect.tune import Tuning
    from refinery.inspect.why.query import RowHistory


@using_processes(anew=True)
def why(folder: Path, row: SupportsIndex | None, where: str | None) -> Answer[RowHistory] | Answers[RowHistory]:
    """`Run.why`."""
    from refinery.inspect.why.query import RowHistories

    if (row is None) == (where is None):
        raise RecipeError([Problem("", "why needs a row or a condition", "Write why(42) or why(where='id = 42').")])
    number = None if row is None else _whole(row)
    with RowHistories(folder) as histories:
        if number is not None:
            return Answer(histories.of(number), _history, fields_of)
        chosen = histories.find(where or "")
        return Answers(Answer(histories.of(one), _history, fields_of) for one in chosen)


def _whole(row: Any) -> int:
    """A row number; numbers of numpy are whole numbers, too. Raises RecipeError."""
    try:
        return operator.index(row)
    except TypeError:
        what = f"a row is named by a whole number, its _row, not by {row!r:.80}"
        raise RecipeError([Problem("", what, "Write why(where='id = ...') to find rows by their fields.")]) from None


def _history(history: Any) -> Iterator[Any]:
    from refinery.cli.render.why import history_text

    yield history_text(history)


@using_processes(anew=True)
def tune(folder: Path, step: str, params: Mapping[str, Any]) -> Answer[Tuning]:
    """`Run.tune`."""
    from refinery.cli.render.tune import show
    from refinery.inspect.finished_run import FinishedRun
    from refinery.inspect.tune import tune as tried

    texts = [f"{name}={_values(value)}" for name, value in params.items()]
    with FinishedRun.open(folder) as stored:
        trial = tried(stored, step, texts)
        return Answer(trial, partial(show, recipe=str(stored.run_dir.recipe)), fields_of)


def _values(value: Any) -> str:
    """Values of a parameter as `--param` writes them."""
    if isinstance(value, str):
        return value
    if isinstance(value, Iterable):
        return ",".join(map(_number, value))
    return _number(value)


def _number(value: Any) -> str:
    """A number as a recipe writes it; those of numpy as Python's."""
    plain = value.item() if hasattr(value, "item") else value
    return "null" if plain is None else str(plain).lower() if isinstance(plain, bool) else str(plain)


@using_processes(anew=True)
def audit(folder: Path, pairs: int | None) -> Answer[RunAudit]:
    """`Run.audit`."""
    from refinery.cli.render.audit import show
    from refinery.inspect.audit.audit import audit_of

    if pairs is not None and (isinstance(pairs, bool) or not isinstance(pairs, int) or pairs < 1):
        raise RecipeError([Problem("", f"pairs must be a whole number from 1, not {pairs!r:.80}")])
    return Answer(audit_of(folder, pairs), show, fields_of)


def diff(folder: Path, other: Path, limit: int) -> Answer[Difference]:
    """`Run.diff`."""
    from refinery.cli.render.diff import show
    from refinery.inspect.diff.diff import compare

    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise RecipeError([Problem("", f"limit must be a whole number from 1, not {limit!r:.80}")])
    return Answer(compare(folder, other, limit), partial(show, limit=limit), fields_of)


@using_processes(anew=True)
def report(folder: Path, output: str | os.PathLike[str] | None, overwrite: bool) -> Page:
    """`Run.report`."""
    from refinery.inspect.report.page import report as write

    name = None if output is None else os.fspath(output)
    if name is not None and is_stdout(name):
        raise OutputError(f"{name}: name a file for the report")
    path = write(folder, name, overwrite)
    assert path is not None
    return Page(path)


@using_processes(anew=True)
def analyze(
    folder: Path,
    stats: str | Iterable[str],
    group_by: str | None,
    output: str | os.PathLike[str] | None,
    progress: Progress | None,
) -> Answer[Analysis]:
    """`Run.analyze`."""
    from refinery.cli.render.analyze import as_data, show
    from refinery.inspect.analyze.analyze import analyze as measure
    from refinery.inspect.analyze.request import from_command_line

    facts = read_facts(folder)
    require_recomputable(facts.manifest, "an analysis")
    names = [stats] if isinstance(stats, str) else list(stats)
    place = os.fspath(output) if output is not None else str(folder / "analysis")
    recipe = str(facts.run_dir.recipe)
    request = from_command_line(recipe, (), (), (), (), names, group_by, place, recipe=True)
    return Answer(measure(request, progress), show, as_data)


@using_processes(anew=True)
def refilter(
    folder: Path,
    changes: Mapping[str, Any] | Iterable[str],
    export: str | os.PathLike[str] | None,
    work_dir: str | os.PathLike[str] | None,
    writes: bool,
    overwrite: bool,
    progress: Progress | None,
) -> Refiltered:
    """`Run.refilter`."""
    from refinery.inspect.refilter.refilter import refilter as refiltered
    from refinery.results.stdout import pour

    to, place = (None if path is None else os.fspath(path) for path in (export, work_dir))
    part = refiltered(folder, _sets(changes), to, place, writes, progress, overwrite)
    pour(part.outcome)
    return part


def _sets(changes: Mapping[str, Any] | Iterable[str]) -> list[str]:
    """Changes of a recipe as `--set` writes them: values of a mapping as JSON, which is YAML."""
    import json

    if isinstance(changes, str):
        return [changes]
    if not isinstance(changes, Mapping):
        return [str(change) for change in changes]
    try:
        return [f"{path}={json.dumps(_plain(value), ensure_ascii=False)}" for path, value in changes.items()]
    except (TypeError, ValueError):
        what = f"values of a recipe are texts, numbers, lists and mappings, which {changes!r:.200} has not"
        raise RecipeError([Problem("", what)]) from None


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
