"""Lineage: the origin of statistics, texts and the fate of a sample."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from refinery.compiler.lineage import LineagePass, Origin, inputs_of, lineage, steps_of, through_stages
from refinery.compiler.model import CompileContext, Schema
from refinery.compiler.program import Program, build
from refinery.compiler.stages import cut_at_barriers
from refinery.errors import RecipeError
from refinery.execution.open import open_recipe

COLUMNS = {
    "text": "VARCHAR",
    "score": "DOUBLE",
    "title": "VARCHAR",
    "meta": "STRUCT(lang VARCHAR)",
    'odd "/~': "VARCHAR",
}
STEPS: list[Any] = [
    {"sql_mapper": {"text": "replace(text, 'a', 'b')"}},
    {"words_num_filter": {"min_num": 2}},
    {"sql_mapper": {"text": "upper(title)", "text_key": "title"}},
    {"flagged_words_filter": {"flagged_words_dir": str(Path(__file__).parent / "words")}},
    {"sql_filter": {"where": "score > 0.5 AND meta.lang = 'en' AND num_words < 1000"}},
    {"clean_email_mapper": {}},
    {"text_length_filter": {}},
    {"text_length_filter": {"text_key": "title"}},
    {"sql_filter": {"where": '"odd ""/~" = \'x\' AND _row < 1000'}},
]


@cache
def compiled_steps(lines: bool = True, share: bool = True) -> Program:
    """STEPS, compiled once for all questions about them."""
    return compiled(STEPS, lines, share)


def compiled(steps: list[Any], lines: bool = True, share: bool = True) -> Program:
    recipe, library = open_recipe({"process": steps}, need_inputs=False)
    return build(recipe.steps, library, Schema(lines, COLUMNS), share=share, text_key=("text",))[0]


@cache
def origins(column: str, lines: bool = True, share: bool = True) -> list[Origin]:
    return lineage(compiled_steps(lines, share), column)


EXPECTED = {
    "num_words": (["text"], [1, 2]),
    "flagged_words_ratio": (["text"], [1, 4]),  # shares step 2's words, but nothing of step 2 itself
    "text_len": (["text"], [1, 6, 7]),
    "text_len_8": (["title"], [3, 8]),
    "text": (["text"], [1, 6]),
    "title": (["title"], [3]),
}


@pytest.mark.parametrize("lines", [True, False], ids=["lines", "table"])
@pytest.mark.parametrize("share", [True, False], ids=["fused", "unfused"])
@pytest.mark.parametrize("column", EXPECTED)
def test_inputs_and_steps(column: str, lines: bool, share: bool) -> None:
    found = origins(column, lines=lines, share=share)
    assert (inputs_of(found), steps_of(found)) == EXPECTED[column]


@pytest.mark.parametrize("lines", [True, False], ids=["lines", "table"])
def test_fate_depends_on_every_filter(lines: bool) -> None:
    found = origins("_dropped", lines=lines)
    assert set(inputs_of(found)) == {
        "text", "title", "score", "meta", 'odd "/~', "the number of the sample"
    }  # fmt: skip
    assert steps_of(found) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_nearest_first_and_in_order() -> None:
    found = origins("text_len")
    assert [(origin.column, origin.depth) for origin in found] == [
        ("text_len", 0), ("_text_6", 1), ("_delta_6", 2), ("_text_1", 3), ("_delta_1", 4), ("_text_0", 5),
    ]  # fmt: skip
    assert found == lineage(compiled(STEPS), "text_len")
    assert found[1].meaning == "text after step 6" and found[-1].meaning == "text as read"
    assert found[4].expression == "nullif(replace(_text_0, 'a', 'b'), _text_0)"


def test_guards_are_left_out() -> None:
    """That a sample is still there is a matter of `_dropped`, not of a statistic."""
    for column in EXPECTED:
        assert not any("_alive" in origin.expression or "_kind" in origin.expression for origin in origins(column))


def test_features_belong_to_no_step() -> None:
    feature = next(origin for origin in origins("flagged_words_ratio") if origin.column.startswith("_words_"))
    assert feature.step is None and feature.meaning == "computed once for all steps that need it"


def test_text_that_no_step_changes() -> None:
    (origin,) = lineage(compiled([{"text_length_filter": {}}]), "text")
    assert (origin.inputs, origin.step, origin.expression) == (("text",), 0, "no step changes it")


def test_unknown_column() -> None:
    with pytest.raises(RecipeError) as caught:
        origins("num_word")
    assert str(caught.value) == "--lineage: there is no column 'num_word'. Did you mean 'num_words'?"
    with pytest.raises(RecipeError, match="There are num_words, flagged_words_ratio, text_len"):
        origins("zzz")


STAGES: list[Any] = [
    {"sql_mapper": {"text": "upper(title)", "text_key": "title"}},
    {"text_length_filter": {}},
    {"document_minhash_deduplicator": {"keep": "text_len desc"}},
    {"sql_mapper": {"text": "trim(text)"}},
    {"document_line_deduplicator": {}},
    {"words_num_filter": {}},
    {"sql_filter": {"where": "text_len > num_words and title <> ''"}},
    {"key_deduplicator": {"key": "score"}},
]


def staged(column: str, lines: bool = True) -> list[Origin]:
    return through_stages(stages_of(lines), column)


@cache
def stages_of(lines: bool) -> list[LineagePass]:
    """STAGES, compiled once for all questions about them."""
    recipe, library = open_recipe({"process": STAGES}, need_inputs=False)
    stages: list[LineagePass] = []
    for stage in cut_at_barriers(recipe.steps, library):
        known = tuple(stat for passed in stages for stat in passed.program.stats)
        around = CompileContext(stage.before, stage.after, known, first=stage.first)
        program, _ = build(stage.steps, library, Schema(lines, COLUMNS), text_key=("text",), around=around)
        stages.append(LineagePass(program, stage.after, library.operators[stage.after.name] if stage.after else None))
    return stages


EXPECTED_OF_STAGES = {
    "text_len": (["text"], [2]),
    "num_words": (["text"], [4, 5, 6]),  # of the text without the lines that step 5 has found
    "text": (["text"], [4, 5]),
    "title": (["title"], [1]),
    "kept_instead": (["text", "score"], [2, 3, 8]),  # what is compared, and which one is preferred
}


@pytest.mark.parametrize("lines", [True, False], ids=["lines", "table"])
@pytest.mark.parametrize("column", EXPECTED_OF_STAGES)
def test_through_stages(column: str, lines: bool) -> None:
    found = staged(column, lines)
    assert (inputs_of(found), steps_of(found)) == EXPECTED_OF_STAGES[column]


@pytest.mark.parametrize("lines", [True, False], ids=["lines", "table"])
def test_fate_depends_on_every_stage(lines: bool) -> None:
    found = staged("_dropped", lines)
    assert steps_of(found) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert set(inputs_of(found)) == {"text", "title", "score"}


def test_what_a_stage_was_given() -> None:
    """The lineage follows a text into the earlier stage that changed it, and a removed unit to its match keys."""
    found = {origin.meaning for origin in staged("num_words")}
    assert {"text as stage 2 leaves it", "text at the end of stage 2", "the units that go", "text as read"} <= found
    assert "text as stage 1 leaves it" not in found  # which changes the title only
    with pytest.raises(RecipeError, match="There are .*_dropped, kept_instead"):
        staged("zzz")


def test_nothing_is_kept_instead_without_a_deduplicator() -> None:
    with pytest.raises(RecipeError, match="there is no column 'kept_instead'"):
        origins("kept_instead")
