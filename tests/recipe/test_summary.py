"""The key `stat_summary`: how it is written, and what is said of mistakes."""

from __future__ import annotations

import os
from typing import Any

import pytest

from refinery.errors import RecipeError
from refinery.recipe import dump, loads
from refinery.recipe.model import Recipe
from refinery.recipe.override import parse_overrides
from refinery.recipe.stat_summary import StatSummary
from tests.recipe.fake_library import FOUNDATION

BASE = "dataset_path: a.jsonl\nprocess: [text_length_filter]\n"


def recipe(below: str, *options: str) -> Recipe:
    text = BASE + ("stat_summary:\n" + below if below else "")
    return loads(text, overrides=parse_overrides(options), library=FOUNDATION, environ={})


def problems(below: str) -> str:
    with pytest.raises(RecipeError) as caught:
        recipe(below)
    return str(caught.value)


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        ("", {}),
        ("  groups: [summary, histogram, fqdn]\n", {"groups": ("summary", "histogram", "fqdn")}),
        ("  groups: fqdn\n  url_key: meta.url\n", {"groups": ("fqdn",), "url_key": "meta.url"}),
        ("  groups: [suffix, suffix]\n  top_k: 5\n", {"groups": ("suffix",), "top_k": 5}),
        ("  group_by: meta.lang\n", {"group_by": (("meta.lang", "meta.lang"),)}),
        ("  group_by: [a, 'b  > 1']\n", {"group_by": (("a", "a"), ("b > 1", "b  > 1"))}),
        ("  groups: []\n  group_by: {by_suffix: suffix}\n", {"groups": (), "group_by": (("by_suffix", "suffix"),)}),
        ("  histogram_round_digits: 0\n  top_k_groups: []\n", {"histogram_round_digits": 0, "top_k_groups": ()}),
        ("  export: out/stats\n  rank: 7\n  stats: text_len\n", {"export": os.path.abspath("out/stats"), "rank": 7, "stats": ("text_len",)}),
    ],
)  # fmt: skip
def test_it_is_read_and_written_again(below: str, expected: dict[str, Any]) -> None:
    found = recipe(below)
    assert found.stat_summary == StatSummary(**expected)
    assert loads(dump(found), library=FOUNDATION, environ={}) == found


def test_the_command_line_sets_it() -> None:
    found = recipe("  top_k: 5\n", "--stat_summary.groups", "summary,fqdn", "--stat-summary.rank=3").stat_summary
    assert found == StatSummary(groups=("summary", "fqdn"), top_k=5, rank=3)
    assert recipe("", "--stat_summary.group_by", "source").stat_summary.group_by == (("source", "source"),)


def test_all_mistakes_are_told_at_once() -> None:
    said = problems(
        "  group: [x]\n  groups: [sumary, histogram]\n  group_by: [suffix, '']\n  top_k: 0\n  rank: 100000\n"
        "  top_k_groups: [fqdm]\n  export: ''\n  url_key: ''\n  histogram_round_digits: three\n"
    )
    assert said.split("\n") == [
        "recipe.yaml:4: stat_summary has no key 'group'. Did you mean 'groups'?",
        "recipe.yaml:5: stat_summary.groups has no group 'sumary'. Did you mean 'summary'?",
        "recipe.yaml:6: stat_summary.group_by has the name 'suffix', which is a group of its own. "
        "Give it another name: group_by: {by_suffix: suffix}.",
        "recipe.yaml:6: stat_summary.group_by has an empty expression. Name a column, or write SQL.",
        "recipe.yaml:7: stat_summary.top_k must be at least 1, not 0",
        "recipe.yaml:8: stat_summary.rank must be at most 99999, not 100000",
        "recipe.yaml:9: stat_summary.top_k_groups names 'fqdm', which is no group. Did you mean 'fqdn'?",
        "recipe.yaml:10: stat_summary.export is empty",
        "recipe.yaml:11: stat_summary.url_key is empty",
        "recipe.yaml:12: stat_summary.histogram_round_digits must be a whole number, not 'three'",
    ]


def test_nothing_to_compute_is_a_mistake() -> None:
    assert problems("  top_k_groups: [zzz]\n  group_by: [source]\n").endswith(
        "names 'zzz', which is no group. It names groups and the names of group_by: summary, histogram, fqdn, suffix, source."
    )
    assert problems("  groups: []\n").startswith("recipe.yaml:4: stat_summary.groups is empty. Groups are summary")
    with pytest.raises(RecipeError, match="stat_summary must be a mapping"):
        loads(BASE + "stat_summary: fqdn\n", library=FOUNDATION, environ={})
