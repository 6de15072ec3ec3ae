"""Names of steps in the tables of a run, and what they leave as it is: all other columns, and stored results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.api import Run
from tests.runs import content, exported, refine, rows, settings, texts

SAMPLES = texts(["a b c", "a b c", "one", "a b c d e f g h", "some words here", "x y z w x y z w x y"])


def steps(*names: str | None) -> list[Any]:
    """Two stages of four steps, named or not."""
    plain: list[dict[str, Any]] = [
        {"words_num_filter": {"min_num": 2}},
        {"document_deduplicator": {}},
        {"words_num_filter": {"min_num": 1, "max_num": 7}},
        {"clean_email_mapper": {}},
    ]
    return [step if name is None else {**step, "name": name} for step, name in zip(plain, names, strict=True)]


NAMES = ("too short", 'it\'s "twice" – 同じ', None, "no {{ '{{' }} addresses")


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return refine(tmp_path_factory.mktemp("named"), SAMPLES, steps(*NAMES))


def test_tables_have_the_names_in_a_column(named: Run) -> None:
    given = [*NAMES[:3], "no {{ addresses"]
    assert rows(named, "steps", "step, name") == list(enumerate(given, 1))
    assert rows(named, "ledger", "_row, step, name") == [
        (1, 2, NAMES[1]),
        (2, 1, "too short"),
        (3, 3, None),
        (5, 3, None),
    ]
    for table in ("steps", "ledger"):
        described = named.sql(f"DESCRIBE {table}").fetchall()
        assert ("name", "VARCHAR") in [row[:2] for row in described]


def test_names_change_nothing_else(named: Run, tmp_path: Path) -> None:
    plain = refine(tmp_path, SAMPLES, steps(None, None, None, None))
    for table in ("steps", "ledger"):
        assert rows(plain, table, "DISTINCT name") == [(None,)]
        kept = "* EXCLUDE (name)" if table == "ledger" else "* EXCLUDE (name, seconds)"
        assert rows(plain, table, kept) == rows(named, table, kept)
    for view in ("samples", "removed"):
        found = [rows(run, view, "* EXCLUDE (name, file)", "TRUE ORDER BY ALL") for run in (plain, named)]
        assert found[0] == found[1]
    views = ("samples", "removed", "changed", "waterfall", "verdicts", "overlap")  # these have names, seconds or files
    without = ("steps", "ledger", "files", "shards", "runs", *views)
    assert content(plain, *without) == content(named, *without) and exported(plain) == exported(named)
    assert rows(plain, "runs", "fingerprint") == rows(named, "runs", "fingerprint")


def test_steps_renamed_reuse_all_results(tmp_path: Path) -> None:
    """Named for the first time, renamed, and without names again: each run has the names of its own recipe."""
    first = refine(tmp_path, SAMPLES, steps(None, None, None, None))
    assert rows(first, "shards", "max(reused)") == [(0,)]
    before = exported(first)
    for names in (NAMES, ("other", "names", "for", "all"), (None, None, None, None)):
        again = refinery.run(settings(tmp_path, steps(*names)))
        assert rows(again, "shards", "min(reused)") == [(2,)]
        assert exported(again) == before
        told = [name and name.replace("{{ '{{' }}", "{{") for name in names]
        assert rows(again, "steps", "name") == [(name,) for name in told]
        assert dict(rows(again, "ledger", "step, name")) == {step: told[step - 1] for step in (1, 2, 3)}
