"""The examples of a folder of operators, run alone and in batches, as lines and as columns of a table."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from refinery.common.lazy import duckdb
from refinery.errors import OperatorError, Problem, RecipeError, RefineryError
from refinery.inspect.examples.batches import failures_of
from refinery.inspect.examples.deduplicators import deduplicated
from refinery.inspect.examples.expectations import Difference, Example, parameters, problem_of
from refinery.inspect.examples.places import example_lines
from refinery.operators import Library, Operator
from refinery.operators.processes import using_processes
from refinery.operators.user_process import apart

# Seconds for the examples of a Python operator that have the same parameters, models being loaded.
LIMIT = 300.0


@dataclass(frozen=True)
class WrongExample:
    """An example that does not hold, with its line, or a file that cannot be used. form: how the sample was run; "" for alone."""

    path: Path
    line: int
    differences: tuple[Difference, ...] = ()
    problem: str = ""
    form: str = ""


@dataclass
class FileExamples:
    """The result for the file of one operator. count: number of its examples."""

    path: Path
    count: int = 0
    wrong: list[WrongExample] = field(default_factory=list)


@using_processes(anew=True)
def run_examples(folder: str | Path, safe: bool = False, limit: float = LIMIT) -> list[FileExamples]:
    """Run the examples of all operators of a folder. safe: refuse Python files, and let SQL read no files.

    limit: seconds for the examples of a Python operator that have the same parameters; then they are ended.
    Raises OperatorError for a folder without operators, RecipeError for files that `safe` refuses.
    """
    folder = Path(os.path.abspath(folder))
    if safe:
        _refuse_code(folder)
    library = Library((folder,))
    names = library.names_below(folder)
    with TemporaryDirectory(prefix="refinery-examples-") as scratch:
        return [
            _of_file(library, name, path, _Places(folder, Path(scratch) / name, safe, limit)) for name, path in names
        ]


@dataclass(frozen=True)
class _Places:
    """Folders of a test: the operators, a place for files of examples. safe: SQL may read files of the examples alone. limit: of Python, seconds."""

    folder: Path
    scratch: Path
    safe: bool
    limit: float

    @property
    def read(self) -> tuple[str, ...]:
        """Folders whose files the SQL may read."""
        own = (str(self.scratch),)
        return own if self.safe else (*own, str(self.folder), os.getcwd())


def _refuse_code(folder: Path) -> None:
    """Raise RecipeError for files of code, and for deduplicators, whose examples are runs."""
    refused = [(path, "Python code is not run") for path in sorted(folder.glob("*/*.py"))]
    refused += [(path, "examples of deduplicators are not run") for path in sorted(folder.glob("deduplicators/*.sql"))]
    if refused:
        cure = "Read it, and test it without --safe if you trust it."
        raise RecipeError([Problem(str(path), f"--safe: {what}", cure) for path, what in refused])


def _of_file(library: Library, name: str, path: Path, places: _Places) -> FileExamples:
    report = FileExamples(path)
    try:
        operator, lines = library.operators[name], example_lines(path)
    except OperatorError as error:
        report.wrong.append(WrongExample(path, 1, problem=str(error).removeprefix(f"{path}: ")))
        return report
    report.count = len(operator.examples)
    if isinstance(operator.examples, tuple) and len(lines) != report.count:
        lines = [1] * report.count  # the header builds its examples in another way
    sound: list[tuple[int, Example]] = []
    for line, example in zip(lines, operator.examples, strict=True):
        if problem := problem_of(operator, example):
            report.wrong.append(WrongExample(path, line, problem=problem))
        else:
            sound.append((line, example))
    places.scratch.mkdir(parents=True, exist_ok=True)
    runs = _compared if operator.kind == "deduplicator" else _measured
    report.wrong += runs(operator, sound, places)
    report.wrong.sort(key=lambda wrong: wrong.line)
    return report


def _compared(operator: Operator, examples: Sequence[tuple[int, Example]], places: _Places) -> Iterator[WrongExample]:
    """Wrong examples of a deduplicator, in one shard and in a shard for each sample."""
    for number, (line, example) in enumerate(examples):
        for form, size in (("", 0), ("each sample in a shard of its own", 1)):
            scratch = places.scratch / f"{number}-{size}"
            try:
                found = deduplicated(operator, example, scratch, [str(places.folder)], size)
                wrong = [Difference("outcome", "an error", "none")] if example.get("error") else found
            except RecipeError as error:
                wrong = [] if example.get("error") else [Difference("outcome", "a run", f"error: {error}")]
            except RefineryError as error:
                wrong = [Difference("outcome", "a run", f"error: {error}")]
            if wrong:
                yield WrongExample(operator.path, line, tuple(wrong), form=form)
                break


def _measured(operator: Operator, examples: Sequence[tuple[int, Example]], places: _Places) -> Iterator[WrongExample]:
    """Wrong examples of an operator that sees one sample at a time; those with the same parameters are run together."""
    by_params = sorted(examples, key=lambda item: _key(item[1]))
    for number, (_, group) in enumerate(groupby(by_params, key=lambda item: _key(item[1]))):
        own = list(group)
        params = parameters(operator, own[0][1], places.scratch / str(number))
        steps = [{operator.name: params}]
        try:
            failures = _failures(operator, steps, [example for _, example in own], places)
        except (RefineryError, duckdb.Error) as error:
            refused, message = isinstance(error, RecipeError), str(error).partition("\n\n")[0]
            for line, example in own:
                if not (refused and example.get("error")):
                    yield WrongExample(operator.path, line, problem=message.removeprefix(f"{operator.path}: "))
            continue
        for at, form, wrong in failures:
            yield WrongExample(operator.path, own[at][0], tuple(Difference(*one) for one in wrong), form=form)


def _failures(
    operator: Operator, steps: list[Any], examples: list[Example], places: _Places
) -> list[tuple[int, str, list[Any]]]:
    """Examples that do not hold. Code of a user runs in a worker process."""
    given = (steps, examples, (str(places.folder),), places.read)
    if operator.path.suffix == ".py":
        failures: list[Any] = apart(f"{operator.path}: its examples", failures_of, *given, limit=places.limit)
        return failures
    return failures_of(*given)


def _key(example: Example) -> str:
    """Key of the program of an example: all that decides it."""
    return json.dumps([example.get("params"), example.get("files"), bool(example.get("error"))], default=str)


def total(reports: Sequence[FileExamples]) -> dict[str, Any]:
    """Numbers of operators, examples and wrong examples."""
    wrong = sum(len({one.line for one in report.wrong}) for report in reports)
    return {"operators": len(reports), "examples": sum(report.count for report in reports), "wrong": wrong}
