"""`substring_deduplicator` in runs: texts, tables and accounts are those of the definition, however the work is divided."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.api import Run
from refinery.dedup import substrings
from refinery.dedup.matchers.substrings import SubstringMatcher
from refinery.errors import OperatorError, RecipeError
from refinery.kernels.dedup.substrings import ITEM
from refinery.workers.executor import ThreadExecutor
from tests.execution.ray.in_process import tasks_in_process
from tests.execution.ray.runs import assert_same, local
from tests.inspect.refilter.refiltered import prepared, same_as_fresh
from tests.kernels.dedup.test_substrings import expected
from tests.runs import content, exported, refine, rows, settings, texts, write_lines
from tests.sampling import sampled

NAME = "substring_deduplicator"


def documents(count: int = 60) -> list[str]:
    """Texts of shared passages, with characters of several bytes, periods, and copies of whole texts."""
    dice = random.Random(7)
    passages = ["".join(dice.choices("abcdef é漢😀\n", k=dice.randrange(5, 90))) for _ in range(30)]
    found = ["".join(dice.choices(passages, k=dice.randrange(5))) for _ in range(count)]
    found[7], found[8] = found[3], "xy" * 70
    return found


def cut(text: str, places: set[int]) -> str:
    """A text without the characters all of whose bytes are at these places."""
    kept, at = [], 0
    for char in text:
        size = len(char.encode())
        if not places.issuperset(range(at, at + size)):
            kept.append(char)
        at += size
    return "".join(kept)


def in_small_parts(patch: pytest.MonkeyPatch) -> None:
    """Have many tasks find the passages of few samples."""
    patch.setattr(substrings, "_MOST", 300)
    patch.setattr(ThreadExecutor, "worth", 20)


def left(run: Run) -> dict[int, str]:
    return {sample["id"]: sample["text"] for sample in exported(run)}


@pytest.mark.parametrize(
    ("keep", "length"), sampled([("first", 12), ("first", 60), ("none", 60), ("none", 12)], every=2)
)
def test_texts_are_those_of_the_definition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: str, length: int
) -> None:
    """After a mapper, over several shards, by many tasks."""
    in_small_parts(monkeypatch)
    given = documents()
    mapped = [text.replace("a", "ab") for text in given]
    steps = [{"sql_mapper": {"text": "replace(text, 'a', 'ab')"}}, {NAME: {"min_length": length, "keep": keep}}]
    run = refine(tmp_path, texts(given), steps, np=2, shard_size=1_000)
    assert rows(run, "shards", "count(*) > 4") == [(True,)]
    places = expected([text.encode() for text in mapped], length, keep == "none")
    whole = {row: cut(text, places[row]) for row, text in enumerate(mapped)}
    kept = {row: text for row, text in whole.items() if text.strip() or not places[row]}
    assert left(run) == kept and len(kept) < len(given)
    assert dict(rows(run, "ledger", "_row, reason")) == dict.fromkeys({*whole} - {*kept}, "nothing is left of the text")
    shares = dict(rows(run, "stats", "_row, duplicate_share"))
    sizes = {row: len(text.encode()) for row, text in enumerate(mapped)}
    assert shares == {row: len(places[row]) / max(size, 1) for row, size in sizes.items()}
    check_places(run, [text.encode() for text in mapped], places)


def check_places(run: Run, given: list[bytes], places: list[set[int]]) -> None:
    """The table `duplicates` has each place once, and copies that are equal."""
    there: list[set[int]] = [set() for _ in given]
    for row, start, length, kept, via, at in rows(run, "duplicates", "_row, unit, length, kept, via, copy_at"):
        copy = kept if via is None else via
        assert given[row][start : start + length] == given[copy][at : at + length]
        assert via is not None or (copy, at) < (row, start)
        assert not there[row] & set(range(start, start + length))
        there[row].update(range(start, start + length))
    assert there == places


@pytest.mark.parametrize("unit", ["byte", "token"])
def test_results_do_not_depend_on_the_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: str) -> None:
    steps = [{NAME: {"unit": unit, "min_length": 20 if unit == "byte" else 3}}, "whitespace_normalization_mapper"]
    write_lines(tmp_path / "in.jsonl", texts(documents()))
    one = local(tmp_path, steps)
    in_small_parts(monkeypatch)
    other = local(tmp_path, steps, "parts", np=2, shard_size=500)
    assert exported(one) == exported(other)
    assert content(one, "shards") == content(other, "shards")


def test_tasks_that_run_twice_leave_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks of a cluster, in this process."""
    write_lines(tmp_path / "in.jsonl", texts(documents()))
    steps = ["clean_email_mapper", {NAME: {"min_length": 12, "keep": "none"}}]
    one = local(tmp_path, steps, np=1, shard_size=1_000)
    with monkeypatch.context() as patched:
        patched.setattr(substrings, "_MOST", 300)
        calls = tasks_in_process(patched, twice=True)
        other = local(tmp_path, steps, "tasks", np=1, shard_size=1_000)
    assert calls["groups"] > 1 and calls["cells"] > 1
    assert_same(one, other)


def test_parameters_of_removal(tmp_path: Path) -> None:
    """They reach the kernel, which is tested in tests/kernels/dedup/test_substring_cuts.py."""
    first = "a red fox\nruns over the hill\nand sleeps"
    second = "the red fox\nruns over the hill\nand slept"
    assert after(tmp_path, first, second, {"boundaries": "line"}) == "the red fox\nand slept"
    first, second = "0123456789-abcdefghij", "x0123456789+-+abcdefghijx"
    assert after(tmp_path, first, second, {"merge_gap": 3}) == "xx"
    assert after(tmp_path, first, second, {"merge_gap": 3, "min_left": 3}) is None
    assert after(tmp_path, first, second, {"max_share": 0.79}) is None
    assert after(tmp_path, first, second, {"action": "measure"}) == second


def after(folder: Path, first: str, second: str, params: dict[str, Any]) -> str | None:
    """The second text after a run over both."""
    place = folder / str(len(list(folder.iterdir())))
    return left(refine(place, texts([first, second]), [{NAME: {"min_length": 8, **params}}])).get(1)


def test_reasons_of_removed_samples(tmp_path: Path) -> None:
    given = ["the very same text", "so: the very same text", "all of the very same text, and then some more"]
    steps = [{NAME: {"min_length": 8, "action": "drop", "max_share": 0.5}}, {"text_length_filter": {"min_len": 1}}]
    run = refine(tmp_path, texts(given), steps)
    assert [sample["text"] for sample in exported(run)] == [given[0], given[2]]
    ledger = "_row, step, reason, statistic, round(value, 3), bound"
    assert rows(run, "ledger", ledger) == [(1, 1, "duplicate_share above max_share", "duplicate_share", 0.818, 0.5)]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"action": "drop"}, "needs max_share"),
        ({"action": "measure", "max_share": 0.5}, "max_share removes samples"),
        ({"min_length": 70_000}, "65535"),
    ],
)
def test_parameters_that_do_not_fit(tmp_path: Path, params: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        refine(tmp_path, texts(["a"]), [{NAME: params}])


@pytest.mark.parametrize("unit", ["byte", "token"])
def test_a_share_above_the_limit_ends_the_run(tmp_path: Path, unit: str) -> None:
    """Of the texts that are long enough; those of repetitions are measured to their ends."""
    given = ["ab cd ef gh ij kl", "x ab cd ef gh ij kl", "zz " * 40 + "end", "short"]
    length = 9 if unit == "byte" else 3
    symbols = [text.encode() if unit == "byte" else text.split() for text in given]
    gone = sum(map(len, expected(symbols, length)))
    known = sum(len(text) for text in symbols if len(text) >= length)
    params = {"unit": unit, "min_length": length, "max_removed_share": gone / known - 0.01}
    with pytest.raises(
        OperatorError, match=rf"removes {gone} of {known} \(.*\) of all {unit}s, more than max_removed_share"
    ):
        refine(tmp_path / "fails", texts(given), [{NAME: params}])
    run = refine(tmp_path / "warns", texts(given), [{NAME: {**params, "on_excess": "warn"}}])
    assert [note for note in run.warnings if f"removes {gone} of {known}" in note]
    passed = refine(tmp_path / "passes", texts(given), [{NAME: {**params, "max_removed_share": gone / known}}])
    assert exported(passed) == exported(run)


def test_a_script_is_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["a"]))
    with pytest.raises(RecipeError, match="has no SQL"):
        refinery.compile(settings(tmp_path, [{NAME: None}]))


def test_refilter_keeps_what_was_found(tmp_path: Path) -> None:
    """Bounds before the step compare anew; those after it take the passages from the tables."""
    steps = [{NAME: {"min_length": 20}}, {"text_length_filter": {"min_len": 30}}]
    recipe = prepared(tmp_path, texts(documents()), steps, shard_size=2_500)
    assert same_as_fresh(recipe, tmp_path, {"process.2.min_len": 60}).again == 0


def test_match_keys_have_the_names_of_items() -> None:
    [column] = SubstringMatcher().columns
    assert tuple(column.each.split()) == ITEM
