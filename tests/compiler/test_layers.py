"""Each layer of a statement takes the time of one step, so DuckDB's profile has the time of every step."""

from __future__ import annotations

from pathlib import Path

import pytest

from refinery.compiler.column_names import LIGHT
from refinery.compiler.model import Schema
from refinery.compiler.program import build
from refinery.operators import Library
from refinery.recipe import loads
from refinery.workers.step_seconds import by_step


@pytest.mark.parametrize(
    "process",
    [
        "[word_stats, line_stats, paragraph_stats]",
        "[doc_stats, text_length_filter, words_num_filter, line_stats, clean_email_mapper, doc_stats]",
        "[sql_mapper: {text: lower(text)}, doc_stats, sentence_stats]",
    ],
)
def test_a_layer_takes_the_time_of_one_step(process: str) -> None:
    library = Library()
    recipe = loads(f"process: {process}", library=library, need_inputs=False)
    _, chain = build(recipe.steps, library, Schema(True), ("text",))
    steps = [
        {definition.step for definition in layer if definition.kind not in LIGHT} for layer in chain.layers.layers()
    ]
    assert all(len(those) <= 1 for those in steps)
    assert set().union(*steps) == set(range(1, len(recipe.steps) + 1))


def test_steps_that_only_measure_have_their_own_seconds(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / "statistics").mkdir(exist_ok=True)
        (tmp_path / "statistics" / f"{name}_stats.sql").write_text(
            f"/*---\ndoc: A test.\nversion: 1\nstats: {{{name}: {{type: BIGINT}}}}\n---*/\n"
            f"SELECT length({{{{ text }}}}) AS {name}"
        )
    library = Library((tmp_path,))
    recipe = loads("process: [first_stats, second_stats]", library=library, need_inputs=False)
    program, chain = build(recipe.steps, library, Schema(True), ("text",))
    profile: dict[str, object] = {"timing": 0.0, "extra_info": {}, "children": []}
    for number, layer in enumerate(chain.layers.layers(), 1):
        names = [definition.name for below in chain.layers.layers()[:number] for definition in below]
        seconds = {"first": 1.0, "second": 2.0}
        own = sum(seconds.get(definition.name, 0.0) for definition in layer)
        profile = {"timing": own, "extra_info": {"Projections": names}, "children": [profile]}
    spent = by_step({"operator": [profile]}, dict(program.probes), program.light, 3.5)
    assert dict(spent) == {0: 0.5, 1: 1.0, 2: 2.0}
