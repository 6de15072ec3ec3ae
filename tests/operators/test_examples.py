"""The examples in every operator's header, run through the compiler and DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from refinery.errors import RecipeError
from refinery.inspect.examples.deduplicators import deduplicated
from refinery.inspect.examples.expectations import differences, parameters, problem_of
from refinery.operators import Library, Operator
from tests.compiled import run_samples
from tests.sampling import first_of_each

LIBRARY = Library()


def examples(deduplicators: bool) -> list[Any]:
    """Operators with each of their examples."""
    return [
        pytest.param(operator, example, id=f"{operator.name}-{number}")
        for operator in LIBRARY.operators.values()
        for number, example in enumerate(operator.examples, 1)
        if (operator.kind == "deduplicator") is deduplicators
    ]


def kind(operator: Operator, example: dict[str, Any]) -> tuple[str, ...]:
    """The operator and the expectation: an error, a text, kept samples."""
    return (operator.name, *(key for key in ("error", "out", "kept") if key in example))


def unfused() -> list[Any]:
    """One example of each operator with features is run without sharing them; other programs are the same then."""
    featured = [case for case in examples(deduplicators=False) if "feature(" in case.values[0].sql]
    cases = first_of_each(featured, lambda operator, example: operator.name)
    return [pytest.param(*case.values, False, id=f"{case.id}-unfused", marks=case.marks) for case in cases]


def fused() -> list[Any]:
    return [pytest.param(*case.values, True, id=f"{case.id}-fused") for case in examples(deduplicators=False)]


@pytest.mark.parametrize(("operator", "example", "share"), [*fused(), *unfused()])
def test_example(operator: Operator, example: dict[str, Any], share: bool, tmp_path: Path) -> None:
    sample = {"text": example["text"], **example.get("fields", {})}
    steps = [{operator.name: parameters(operator, example, tmp_path)}]
    if example.get("error"):
        with pytest.raises(RecipeError):
            run_samples([sample], steps, share)
        return
    (row,) = run_samples([sample], steps, share)
    assert differences(example, row) == []


@pytest.mark.parametrize(("operator", "example"), first_of_each(examples(deduplicators=True), kind))
def test_example_of_deduplicator(operator: Operator, example: dict[str, Any], tmp_path: Path) -> None:
    if example.get("error"):
        with pytest.raises(RecipeError):
            deduplicated(operator, example, tmp_path)
        return
    assert deduplicated(operator, example, tmp_path) == []


def test_examples_are_sound() -> None:
    problems = {
        operator.name: problem_of(operator, example)
        for operator in LIBRARY.operators.values()
        for example in operator.examples
    }
    assert not any(problems.values())


def test_every_operator_has_examples() -> None:
    few = [operator.name for operator in LIBRARY.operators.values() if len(operator.examples) < 2]
    # What it does is not done to samples: tests/stats/test_step.py.
    assert [name for name in few if not LIBRARY.operators[name].alias_of] == ["stats_merger"]


def test_examples_of_deduplicators_say_what_stays() -> None:
    """Every text is accounted for."""
    for operator in LIBRARY.operators.values():
        for example in operator.examples if operator.kind == "deduplicator" else ():
            assert ("kept" in example) != ("out" in example) or example.get("error")
            assert len(example.get("out", example["texts"])) == len(example["texts"])
