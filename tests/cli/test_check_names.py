"""Names in SQL are looked up in every step, whatever else is wrong; those that a wrong step may define are left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Call

UNKNOWN: dict[str, Any] = {"unknown_op": None}
FIRST = [
    {"sql_filter": {"where": "foo > 1"}},
    {"key_deduplicator": {"key": "zzz"}},
    {"document_deduplicator": {"keep": "nonexist desc"}},
]
OF_FIRST = [
    "stat_summary: no column or statistic 'qqq'",
    "sql_filter: no column or statistic 'foo'",
    "key_deduplicator: no column or statistic 'zzz'",
    "document_deduplicator: no column or statistic 'nonexist'",
]


def problems(call: Call, process: list[Any], **keys: Any) -> list[str]:
    """Problems that `check` finds in a recipe of these steps, in order, without their places."""
    recipe = {"dataset_path": "docs.jsonl", "export_path": "out/kept.jsonl", **keys, "process": process}
    Path("r.json").write_text(json.dumps(recipe, indent=1))
    done = call("check", "--json", "r.json")
    found = json.loads(done.out)["problems"]
    assert done.code == 2, done.err
    assert all(problem["line"] for problem in found)
    return [problem["what"] for problem in found]


@pytest.mark.parametrize("last", [[], [UNKNOWN], [UNKNOWN, {"sql_filter": {"where": "bar > 1"}}]])
def test_all_names_before_an_unknown_operator(call: Call, folder: Path, last: list[Any]) -> None:
    found = problems(call, [*FIRST, *last], stat_summary={"group_by": "qqq"})
    assert found == OF_FIRST + ["there is no operator 'unknown_op'"] * bool(last)


def test_names_after_an_unknown_operator_may_be_its_statistics(call: Call, folder: Path) -> None:
    later = [
        {"sql_filter": {"where": "year(bar) > 1 AND baz[1].x = 2"}},
        {"sql_filter": {"where": "nosuch(bar) > 1"}},
        {"document_deduplicator": {"keep": "bar desc, nosuch(text)"}},
    ]
    found = problems(call, [{"sql_filter": {"where": "bar > 1"}}, UNKNOWN, *later], stat_summary={"stats": ["bar"]})
    assert [what.partition(":")[0] for what in found] == [
        "sql_filter",
        "there is no operator 'unknown_op'",
        "sql_filter",
        "document_deduplicator",
    ]
    assert "'bar'" in found[0] and "nosuch" in found[2] and "nosuch" in found[3]


def test_statistics_of_a_wrong_step_are_known_to_later_steps_only(call: Call, folder: Path) -> None:
    wrong = {"text_length_filter": {"min_len": "many"}}
    names = {"sql_filter": {"where": "text_len > 3"}}
    found = problems(call, [names, wrong, names, {"sql_filter": {"where": "len(text_len) > 3"}}])
    assert len(found) == 3 and "no column or statistic 'text_len'" in found[0] and "min_len" in found[1]
    assert "length(BIGINT)" in found[2]  # the type of the statistic is known


def test_several_names_of_one_step(call: Call, folder: Path) -> None:
    steps = [{"key_deduplicator": {"key": "zzz || yyy", "keep": "foo desc, bar"}}]
    found = problems(call, steps, stat_summary={"group_by": ["qqq", "score", "ppp"], "stats": ["rrr"]})
    assert [what.split("'")[1] for what in found] == ["rrr", "qqq", "ppp", "zzz", "yyy", "foo", "bar"]


def test_statistics_of_stages_before_a_problem(call: Call, folder: Path) -> None:
    """A later stage names a statistic of an earlier one beside something that DuckDB refuses."""
    steps = [
        {"text_length_filter": {}},
        {"document_deduplicator": {}},
        {"sql_filter": {"where": "text_len > nosuch(3)"}},
        {"sql_filter": {"where": "text_len > neither(3)"}},
    ]
    found = problems(call, steps, stat_summary={"group_by": "nor(text)"})
    assert [what.partition(":")[0] for what in found] == ["stat_summary", "sql_filter", "sql_filter"]
    assert "neither" in found[2]


def test_tables_are_bound_though_their_text_is_missing(call: Call, folder: Path) -> None:
    pq.write_table(pa.table({"body": ["a b"], "score": [1]}), "docs.parquet")
    steps = [
        {"sql_filter": {"where": "score > 1 AND scoer > 1"}},
        {"sql_filter": {"where": "len(score) > 1"}},
        {"sql_filter": {"where": "len(text) > 1"}},
        UNKNOWN,
    ]
    found = problems(call, steps, dataset_path="docs.parquet", text_keys="text")
    assert [what.partition(":")[0] for what in found[1:]] == [
        "sql_filter",
        "sql_filter",
        "there is no operator 'unknown_op'",
    ]
    assert "'text'" in found[0] and "scoer" in found[1] and "BIGINT" in found[2]
