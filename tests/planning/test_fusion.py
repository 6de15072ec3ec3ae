"""`fusion_strategy`: other orders of filters, the same rows; the books are held in the order that ran."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

import refinery
from refinery.api import Run
from refinery.errors import DataError
from refinery.execution.open import open_recipe
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.refilter.refilter import refilter
from refinery.inspect.tune import tune
from refinery.inspect.why.query import RowHistories
from refinery.planning import ordering
from refinery.planning.filter_costs import Costs
from refinery.planning.pipeline import prepare
from tests.examples import share_of
from tests.runs import content, exported, operator_folder, refine, rows, settings, write_lines

SAMPLES: list[Any] = [
    {"id": 0, "title": "one", "text": "a text of several words that stays, as it is long enough"},
    {"id": 1, "title": "two", "text": "short"},
    {"id": 2, "title": "", "text": "a text of several words without a title, which is what it goes for"},
    {"id": 3, "title": "four", "text": "la la la la la la la la la la la la la la la la la la"},
    "no json",
    {"id": 5, "title": "x", "text": "la la la la"},
]
# The cheap, strict filters come last; step 3 is in the way of the first only.
STEPS: list[Any] = [
    {"word_repetition_filter": {"rep_len": 2, "max_ratio": 0.5}},
    {"special_characters_filter": {"max_ratio": 0.9}},
    {"sql_mapper": {"text": "upper(title)", "text_key": "title"}},
    {"sql_filter": {"where": "title <> ''"}},
    {"text_length_filter": {"min_len": 20}},
]


def costing(monkeypatch: pytest.MonkeyPatch, spent: Sequence[float]) -> None:
    """Have a probe find these costs, by step, and every filter to keep half."""

    def measured(program: Any, chain: Any, shards: Any) -> Costs:
        costs = Costs.none(program, chain)
        costs.spent.update(enumerate(spent, 1))
        return costs

    monkeypatch.setattr(ordering, "measure_costs", measured)


def orders(run: Run) -> list[list[int]]:
    plan = json.loads((run.work_dir / ".refinery" / "plan.json").read_text("utf-8"))
    return [stage["steps"] for stage in plan["orderings"]]


def planned(folder: Path, **keys: Any) -> list[list[int]]:
    """The orders that a run would take; which it takes is in its plan."""
    prepared = prepare(*open_recipe(settings(folder, STEPS, **keys)))
    return [list(stage.steps) for stage in prepared.orderings]


MOVING = (9, 8, 7, 2, 1)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run in the recipe's order."""
    return refine(tmp_path_factory.mktemp("plain"), SAMPLES, STEPS)


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run in another order, which its tests only read."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        costing(monkeypatch, MOVING)
        return refine(tmp_path_factory.mktemp("moved"), SAMPLES, STEPS, fusion_strategy="probe")


def test_the_recipes_order_unless_it_is_asked_for(tmp_path: Path, plain: Run) -> None:
    assert orders(plain) == [] and not (plain.work_dir / ".refinery" / "order.json").exists()
    off: list[dict[str, Any]] = [
        {"op_fusion": False, "fusion_strategy": "probe"},
        {"measure_only": True, "fusion_strategy": "greedy"},
    ]
    write_lines(tmp_path / "in.jsonl", SAMPLES)
    for keys in off:
        assert planned(tmp_path, **keys) == []


def test_the_same_rows_and_books_of_the_order_that_ran(plain: Run, moved: Run) -> None:
    assert orders(moved) == [[5, 2, 1, 3, 4]] or orders(moved) == [[5, 1, 2, 3, 4]]
    assert exported(moved) == exported(plain) and moved.counts == plain.counts
    # Row 1 is removed by two filters, row 5 by two others: by the first that ran.
    assert rows(plain, "ledger", "_row, step") == [(1, 5), (2, 4), (3, 1), (5, 1)]
    assert rows(moved, "ledger", "_row, step") == [(1, 5), (2, 4), (3, 1), (5, 5)]
    assert rows(moved, "steps", "step, rows_in, removed, rows_out") == [
        (1, 3, 1, 2),
        (2, 3, 0, 3) if orders(moved)[0][1] == 2 else (2, 2, 0, 2),
        (3, 2, 0, 2),
        (4, 2, 1, 1),
        (5, 5, 2, 3),
    ]
    assert rows(moved, "stats", "_row, word_rep_ratio IS NULL, text_len IS NULL") == [
        (0, False, False),
        (1, True, False),
        (2, False, False),
        (3, False, False),
        (5, True, False),
    ]
    [note] = [note for note in moved.warnings if "fusion_strategy" in note]
    assert "word_rep_ratio" in note and "special_char_ratio" in note and "text_len" not in note


def test_columns_of_tables_are_in_the_recipes_order(moved: Run) -> None:
    names = [name for (name,) in moved.sql("SELECT column_name FROM (DESCRIBE stats)").fetchall()]
    assert names == ["_row", "kept", "word_rep_ratio", "special_char_ratio", "text_len"]


def test_why_tells_it_in_the_order_that_ran(moved: Run) -> None:
    with RowHistories(moved.work_dir) as histories:
        events = histories.of(5).events
        assert [event.step for event in events] == orders(moved)[0]
        assert [event.fate for event in events] == ["removed"] + ["not reached"] * 4
        assert [event.fate for event in histories.of(0).events] == [
            "changed" if event.step == 3 else "kept" for event in events
        ]


def test_bounds_are_not_tried_on_what_was_not_measured(moved: Run) -> None:
    with FinishedRun.open(moved.work_dir) as stored, pytest.raises(DataError, match="fusion_strategy=null"):
        tune(stored, "text_length_filter", ["min_len=1..9"])
    with pytest.raises(DataError, match="another order"):
        refilter(moved.work_dir, ["process.5.min_len=10"])


def test_bounds_are_tried_where_nothing_was_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    costing(monkeypatch, [1, 1, 1, 2, 9])
    run = refine(tmp_path, SAMPLES, STEPS, fusion_strategy="probe")
    assert orders(run) == [[1, 2, 3, 4, 5]]
    plain = refinery.run(settings(tmp_path, STEPS, work_dir=tmp_path / "plain"))
    assert content(run) == content(plain)
    again = refilter(run.work_dir, ["process.5.min_len=5"])
    assert again.outcome.counts.kept == 1 + run.counts.kept


def test_a_run_takes_the_order_of_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    costing(monkeypatch, MOVING)
    before = orders(refine(tmp_path, SAMPLES, STEPS, fusion_strategy="probe"))
    assert before == planned(tmp_path, fusion_strategy="probe")
    costing(monkeypatch, [1, 1, 0, 2, 9])
    same: list[dict[str, Any]] = [{}, {"np": 2, "shard_size": 100}]
    for keys in same:
        assert planned(tmp_path, fusion_strategy="probe", **keys) == before
    other = refine(tmp_path, [*SAMPLES, SAMPLES[0]], STEPS, fusion_strategy="probe")
    assert orders(other) == [[1, 2, 3, 4, 5]]  # over other inputs it is found anew
    (other.work_dir / ".refinery" / "order.json").write_text("{}", "utf-8")
    write_lines(tmp_path / "in.jsonl", SAMPLES)
    assert planned(tmp_path, fusion_strategy="greedy") == [[5, 1, 2, 3, 4]]


def test_rows_that_raise_are_in_quarantine_under_the_step_that_ran(tmp_path: Path) -> None:
    raising = {"sql_filter": {"where": "CAST(n AS INTEGER) > 0"}}
    samples = [{"n": "1", "text": "a long text"}, {"n": "x", "text": "a long text"}, {"n": "y", "text": "no"}]
    steps = [{"words_num_filter": {"min_num": 2}}, raising]
    plain = refine(tmp_path / "plain", samples, steps)
    run = refine(tmp_path, samples, steps, fusion_strategy="greedy")
    assert orders(run) == [[2, 1]] and exported(run) == exported(plain)
    assert rows(plain, "quarantine", "_row, step") == [(1, 2)]
    assert rows(run, "quarantine", "_row, step") == [(1, 2), (2, 2)]
    with RowHistories(run.work_dir) as histories:
        assert [event.fate for event in histories.of(2).events] == ["quarantined", "not reached"]


def test_a_probe_measures_what_filters_cost_and_keep(tmp_path: Path) -> None:
    samples = [{"id": n, "text": f"document {n} " * 40, "cheap": n % 10} for n in range(2000)]
    own = operator_folder(tmp_path / "own", slow="return text if sum(range(3000)) < 0 else None")
    steps = [{"slow_mapper": None}, {"words_num_filter": None}, {"sql_filter": {"where": "cheap = 0"}}]
    plain = refine(tmp_path / "plain", samples, steps, operators=str(own))
    run = refine(tmp_path, samples, steps, fusion_strategy="probe", operators=str(own))
    assert orders(run)[0].index(3) < orders(run)[0].index(1) and exported(run) == exported(plain)
    [found] = json.loads((run.work_dir / ".refinery" / "plan.json").read_text("utf-8"))["orderings"]
    assert found["passes"]["3"] == pytest.approx(0.1, abs=0.02)
    assert found["costs"]["3"] < found["costs"]["1"]
    assert found["expected"]["this_order"] < 0.5 * found["expected"]["recipe_order"]


def test_every_stage_has_an_order_of_its_own(tmp_path: Path) -> None:
    part = [{"words_num_filter": {"min_num": 1}}, {"text_length_filter": {"max_len": 1000}}]
    samples = [{"text": text} for text in ("a b", "a b", "c d e", "", "f" * 2000)]
    steps = [*part, {"document_deduplicator": None}, *part]
    plain = refine(tmp_path / "plain", samples, steps)
    run = refine(tmp_path, samples, steps, fusion_strategy="greedy")
    assert orders(run) == [[2, 1], [5, 4]] and exported(run) == exported(plain)
    assert rows(run, "duplicates") == rows(plain, "duplicates")


STEP = st.sampled_from(
    [
        {"sql_mapper": {"text": "text || ' more words'"}},
        {"sql_mapper": {"text": "upper(title)", "text_key": "title"}},
        {"clean_links_mapper": None},
        {"words_num_filter": {"min_num": 3}},
        {"words_num_filter": {"min_num": 1, "max_num": 9}},
        {"text_length_filter": {"min_len": 10}},
        {"text_length_filter": {"min_len": 0, "max_len": 2, "text_key": "title"}},
        {"alphanumeric_filter": {"min_ratio": 0.7}},
        {"sql_filter": {"where": "id % 3 <> 0"}},
        {"sql_filter": {"where": "title = upper(title)"}},
        {"sql_filter": {"where": "num_words <> 4"}},
        {"sql_filter": {"where": "100 // (id - 4) IS NOT NULL AND CAST(title || '1' AS INTEGER) >= 0"}},
    ]
)


@examples(max_examples=share_of(8, least=3))
@given(st.lists(STEP, min_size=2, max_size=6), st.lists(st.integers(0, 9), min_size=6, max_size=6))
def test_any_recipe_and_any_costs(steps: list[Any], costs: list[int]) -> None:
    texts = ["", "a b", "see https://example.org/x now", "some more words here", "!!! ??? ...", "w " * 20, "ein Satz."]
    samples = [{"id": n, "title": "" if n % 2 else "Ab"[: n % 3], "text": text} for n, text in enumerate(texts * 2)]
    samples = [sample | {"num_words": 4} for sample in samples]  # a field like a statistic
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as monkeypatch:
        costing(monkeypatch, costs)
        plain = refine(Path(name) / "plain", samples, steps)
        run = refine(Path(name) / "other", samples, steps, fusion_strategy="probe")
        assert exported(run) == exported(plain)
        assert run.counts.read == plain.counts.read and run.counts.kept == plain.counts.kept
