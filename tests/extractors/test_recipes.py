"""The recipes of the web remove a page of the sample archive for every reason that they have, and lose none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import refinery
from refinery.api import Run
from tests.conftest import ROOT
from tests.runs import exported, rows

# Records that are samples or would be: the end of the file cuts one off.
PAGES = 67
ADDRESSES = {"domain", "subdomain", "url", "hard_blacklisted", "soft_blacklisted", "blacklisted_subword"}
LINES = {"dup_line_frac", "dup_line_char_frac"}
PARAGRAPHS = {"dup_para_frac", "dup_para_char_frac"}
N_GRAMS = {f"top_{n}_gram" for n in (2, 3, 4)} | {f"duplicated_{n}_n_grams" for n in range(5, 11)}
WORDS = {
    "gopher_short_doc",
    "gopher_long_doc",
    "gopher_below_avg_threshold",
    "gopher_above_avg_threshold",
    "gopher_too_many_hashes",
    "gopher_too_many_ellipsis",
    "gopher_too_many_bullets",
    "gopher_too_many_end_ellipsis",
    "gopher_below_alpha_threshold",
    "gopher_enough_stop_words",
}
C4 = {"lorem_ipsum", "curly_bracket", "too_few_sentences"}
FINEWEB = {"line_punct_ratio", "short_line_ratio", "char_dup_ratio", "list_ratio"}
# Reasons besides those of duplicates. trafilatura leaves no empty lines, so FineWeb finds no paragraph twice.
REASONS = {
    "fineweb": {"empty"} | ADDRESSES | LINES | N_GRAMS | WORDS | C4 | FINEWEB,
    "gopher": {"empty"} | LINES | PARAGRAPHS | N_GRAMS | WORDS,
}
# Steps that change texts, and remove a page only if nothing is left of it.
MODIFIERS = ("_modifier", "_mapper", "_adder", "_enricher", "_annotator")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function that gives the finished run of a recipe."""
    runs: dict[str, Run] = {}

    def run(name: str) -> Run:
        if name not in runs:
            folder = tmp_path_factory.mktemp(name)
            recipe = yaml.safe_load((ROOT / "recipes" / f"{name}.yaml").read_text("utf-8"))
            paths = {"dataset_path": str(ROOT / recipe["dataset_path"]), "export_path": str(folder / "out.jsonl")}
            runs[name] = refinery.run(recipe | paths | {"work_dir": str(folder)})
        return runs[name]

    return run


RECIPES = ("fineweb", "fineweb2", "gopher", "dclm", "dolma3", "c4")


@pytest.mark.parametrize("name", RECIPES)
def test_every_filter_removes_a_page_and_none_is_lost(finished: Any, name: str) -> None:
    run = finished(name)
    steps = rows(run, "steps", "operator, kind, rows_in, rows_out", "step > 0")
    idle = [operator for operator, kind, had, left in steps if kind in ("filter", "deduplicator") and had == left]
    assert idle == []
    kept, removed = len(exported(run)), len(rows(run, "ledger"))
    assert (kept + removed + len(rows(run, "quarantine")), kept >= 4) == (PAGES, True)
    [(step, error)] = rows(run, "quarantine", "step, error")
    assert step == 0 and "Content-Length" in error


@pytest.mark.parametrize("name", REASONS)
def test_every_reason_removes_a_page(finished: Any, name: str) -> None:
    run = finished(name)
    found = {reason for (reason,) in rows(run, "ledger", "DISTINCT reason") if not reason.startswith("duplicate of")}
    assert found == REASONS[name]


def test_bounds_depend_on_the_language_that_a_page_declares(finished: Any) -> None:
    run = finished("fineweb2")
    assert {sample["language"] for sample in exported(run)} >= {"de", "fr", "es", "en"}
    bounds = {0.263, 0.264, 0.252, 0.322, 0.3}
    assert {bound for (bound,) in run.sql("SELECT DISTINCT dup_line_frac_of_sample FROM stats").fetchall()} - {
        None
    } == bounds


@pytest.mark.parametrize("name", RECIPES)
def test_steps_that_need_a_model_have_parameters_that_exist(name: str, tmp_path: Path) -> None:
    text = (ROOT / "recipes" / f"{name}.yaml").read_text("utf-8")
    commented = [line.strip(" #") for line in text.split("\n") if line.startswith("  # - ")]
    for step in commented:
        [(operator, params)] = yaml.safe_load(step)[0].items()
        known = refinery.operators.Library().operators[operator].params
        assert {*params} <= {*known}, operator


def test_the_archive_is_what_its_script_writes() -> None:
    command = [sys.executable, str(ROOT / "bench" / "make_archive.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, json.dumps(done.stdout)
