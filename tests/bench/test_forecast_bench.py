"""The bench of forecasts: its recipes are sound, and its errors are those of the figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.forecast import FILES, LEFT_OUT, STEPS, Compared, recipe_of, report
from bench.measure import Run
from refinery.execution.open import open_recipe
from tests.runs import texts, write_lines


@pytest.mark.parametrize("name", [*FILES, *STEPS])
def test_recipes_of_the_bench_are_sound(name: str, tmp_path: Path) -> None:
    corpus = write_lines(tmp_path / "docs.jsonl", texts(["a text"]))
    recipe, _ = open_recipe(recipe_of(name, corpus, tmp_path))
    assert recipe.inputs[0].path == str(corpus) and recipe.steps
    assert not LEFT_OUT & {step.name for step in recipe.steps}
    assert Path(recipe.export_path).is_relative_to(tmp_path)


def test_errors_are_relative_to_the_run() -> None:
    steps = [{"rows": {"value": 90.0, "low": 80.0, "high": 99.0}}, {"rows": {"value": 54.0, "low": 40.0, "high": 60.0}}]
    forecast = {
        "steps": steps,
        "seconds": {"value": 5.0},
        "processor": 8.0,
        "disk": {"value": 300},
        "memory": {"value": 50},
    }
    found = Compared(
        "one",
        forecast | {"sampled": 2000},
        {"steps": [100, 50], "disk": 200},
        Run(1.0, 2.0, 10, None, 0),
        Run(4.0, 10.0, 100, None, 0),
        1.5,
    )
    assert found.error("rows") == pytest.approx(0.08) and found.error("worst") == pytest.approx(-0.1)
    assert found.error("seconds") == pytest.approx(0.25) and found.error("processor") == pytest.approx(-0.2)
    assert found.error("disk") == pytest.approx(0.5) and found.error("memory") == pytest.approx(-0.5)
    assert found.covered() and found.cost() == pytest.approx((0.2, 0.5 / 8.5))
    assert "| one | 2,000 | +8.0 % | -10.0 % |" in report([found]) and "rows: 1 of 1" in report([found])
