"""The examples in every operator's header, run through the compiler and DuckDB."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refinery.errors import RecipeError
from refinery.library import Library, Operator
from tests.compiled import run_samples

LIBRARY = Library()
EXAMPLES = [
    pytest.param(operator, example, id=f"{operator.name}-{number}")
    for operator in LIBRARY.operators.values()
    for number, example in enumerate(operator.examples, 1)
]


def parameters(operator: Operator, example: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The example's parameters; files that it brings along are written, and paths point to them."""
    for name, content in example.get("files", {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    given = dict(example.get("params", {}))
    for name, value in given.items():
        if operator.params[name].type in ("folder", "file") and value is not None:
            given[name] = str(folder / value)
    return given


@pytest.mark.parametrize(("operator", "example"), EXAMPLES)
@pytest.mark.parametrize("share", [True, False], ids=["fused", "unfused"])
def test_example(operator: Operator, example: dict[str, Any], share: bool, tmp_path: Path) -> None:
    sample = {"text": example["text"], **example.get("fields", {})}
    steps = [{operator.name: parameters(operator, example, tmp_path)}]
    if example.get("error"):
        with pytest.raises(RecipeError):
            run_samples([sample], steps, share)
        return
    (row,) = run_samples([sample], steps, share)
    if "quarantined" in example:
        assert example["quarantined"] in (row["error"] or "")
        return
    assert row["error"] is None
    if "out" in example:
        assert row["text"] == example["out"]
    if "keep" in example:
        assert row["kept"] is example["keep"]
    for name, value in example.get("stats", {}).items():
        assert row["stats"][name] == pytest.approx(value, rel=1e-9, abs=0)


def test_every_operator_has_examples() -> None:
    assert [operator.name for operator in LIBRARY.operators.values() if len(operator.examples) < 2] == []
