"""Rows that do not add up end a run, with an exit code of its own, and leave no results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from refinery.cli import main
from refinery.compiler.model import Stat
from refinery.errors import ConservationError
from refinery.execution import publish
from refinery.execution.local_backend import LocalBackend
from refinery.execution.open import open_recipe
from refinery.execution.stage_runner import StageRunner
from refinery.planning.pipeline import prepare
from refinery.recipe.stat_summary import StatSummary
from refinery.results import database, tables
from refinery.results import stat_summary as summary
from refinery.results.database import Counts, Database
from refinery.storage.open import open_store
from refinery.storage.run_folder import RunDir
from refinery.workers.program_connection import ProgramConnection
from refinery.workers.worker import ShardResult, Worker
from tests.runs import content, refine, settings, write_lines

STEPS: list[Any] = [{"text_length_filter": {"min_len": 3}}, {"sql_filter": {"where": "CAST(text AS INT) % 2 = 0"}}]
# Kept: 100 and 102. Removed: 1 by the first step, 101 by the second. Quarantined: in reading, and in the second step.
LINES = [{"text": "100"}, {"text": "1"}, "broken", {"text": "101"}, {"text": "three"}, {"text": "102"}]
COUNTS = Counts(read=6, kept=2, removed=2, quarantined=2)


class Books:
    """A run's tables before they are checked."""

    def __init__(self, folder: Path) -> None:
        write_lines(folder / "in.jsonl", LINES)
        recipe, library = open_recipe(settings(folder, STEPS))
        self.prepared = prepare(recipe, library, shard_size=40)
        store = open_store(str(RunDir(folder).parts))
        with StageRunner(self.prepared, store, LocalBackend(self.prepared, store)) as stages:
            self.done = stages.run()
        self.results = self.done[0].results
        self.db = Database(folder / "books.duckdb")
        plan = self.prepared
        cells = tables.step_cells(plan.recipe.steps, plan.library.operators, plan.sizes)
        made = tables.statements(plan.stages, [None], cells)
        database.fill(self.db, self.done, made)

    def check(self) -> Counts:
        return database.check(self.db, self.done)


@pytest.fixture(scope="module")
def balanced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Books]:
    found = Books(tmp_path_factory.mktemp("books"))
    with found.db:
        yield found


@pytest.fixture
def books(balanced: Books) -> Iterator[Books]:
    """Books that a test may change: they are as they were after it."""
    results, facts = [*balanced.results], balanced.db.con.sql("FROM facts").to_arrow_table()
    balanced.db.con.begin()
    yield balanced
    balanced.db.con.rollback()
    balanced.db.con.register("facts", facts)
    balanced.results[:] = results


def test_honest_books_balance(books: Books) -> None:
    assert len(books.results) > 2 and books.check() == COUNTS


TAMPERING = {
    "a result counts a row too many": (lambda b: _first(b, rows=1), "7 rows were read, but 2 kept . 2 removed"),
    "a result counts a kept row too few": (lambda b: _first(b, kept=-1), "2 were kept, but 1 written"),
    "a fact is lost": (lambda b: b.db.share("facts", "FROM facts WHERE _row <> 0", 9), "1 were kept, but 2 written"),
    "a fact stands twice": (
        lambda b: b.db.share("facts", "FROM facts UNION ALL FROM facts WHERE _row = 1", 9),
        "facts has 5 rows, but 2 were kept and 2 removed",
    ),
    "a sample has no statistics": (lambda b: b.db.run("DELETE FROM stats WHERE _row = 0"), "stats has 3 rows"),
    "a ledger entry is lost": (lambda b: b.db.run("DELETE FROM ledger WHERE _row = 1"), "2 kept . 1 removed"),
    "a quarantined row is lost": (lambda b: b.db.run("DELETE FROM quarantine WHERE step = 0"), "1 quarantined = 5"),
    "two rows have one number": (
        lambda b: b.db.run("UPDATE quarantine SET _row = 0 WHERE step = 0"),
        "6 rows were read, but 5 row numbers are accounted for",
    ),
    "a step is given a row less than was left": (
        lambda b: b.db.run("UPDATE steps SET rows_in = rows_in - 1, removed = removed - 1 WHERE step = 2"),
        r"step 2 \(sql_filter\) was given 3 rows where 4 were left",
    ),
    "a step's own sum is wrong": (
        lambda b: b.db.run("UPDATE steps SET removed = removed + 1 WHERE step = 1"),
        r"step 1 \(text_length_filter\): 5 in, 2 removed, 0 quarantined, 4 out",
    ),
    "the last step leaves more than is kept": (
        lambda b: b.db.run("UPDATE steps SET rows_out = rows_out + 1, removed = removed - 1 WHERE step = 2"),
        "3 rows were left after the last step, but 2 kept",
    ),
}


@pytest.mark.parametrize(
    ("query", "most", "shared"),
    [
        ("SELECT 1::BIGINT AS a, 0.5::DOUBLE AS b, TRUE AS c", 1, True),
        ("SELECT 1::BIGINT AS a", 1 << 40, False),
        ("SELECT 'text' AS a", 1, False),
        ("SELECT [1] AS a", 1, False),
    ],
)
def test_only_short_rows_are_kept_in_memory(tmp_path: Path, query: str, most: int, shared: bool) -> None:
    with Database(tmp_path / "some.duckdb") as db:
        db.share("facts", query, most)
        assert db.rows("FROM facts") == db.rows(query) and db.shares("facts") == shared


def _first(books: Books, **more: int) -> None:
    """Change the counts of the first shard that has any."""
    k = next(k for k, result in enumerate(books.results) if result.kept)
    books.results[k] = replace(books.results[k], **{n: getattr(books.results[k], n) + d for n, d in more.items()})


@pytest.mark.parametrize(("tamper", "message"), TAMPERING.values(), ids=TAMPERING.keys())
def test_broken_books_are_found(books: Books, tamper: Callable[[Books], None], message: str) -> None:
    tamper(books)
    with pytest.raises(ConservationError, match=message) as caught:
        books.check()
    assert caught.value.exit_code == 5


def test_a_run_that_loses_a_row_leaves_no_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = refine(tmp_path, LINES, STEPS, export_path=tmp_path / "run" / "first.jsonl", use_cache=False)
    published = content(before)
    run = Worker.run

    def forgetful(self: Any, *args: Any) -> ShardResult:
        result = run(self, *args)
        return replace(result, rows=result.rows + 1)

    monkeypatch.setattr(Worker, "run", forgetful)
    with pytest.raises(ConservationError, match="7 rows were read"):
        refine(tmp_path, LINES, STEPS)
    assert not (tmp_path / "run" / "out.jsonl").exists() and not (tmp_path / "run" / ".refinery" / "parts").exists()
    assert content(before) == published


def _miscounting(more: int) -> Callable[..., list[Any]]:
    """An export that reports `more` rows than it has written."""

    def export(*args: Any) -> list[Any]:
        first, *others = written(*args)
        return [replace(first, rows=first.rows + more), *others]

    written = publish._export
    return export


def test_rows_that_get_lost_in_the_export_are_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "_export", _miscounting(1))
    with pytest.raises(ConservationError, match="2 were kept, but 3 written"):
        refine(tmp_path, LINES, STEPS)
    assert not (tmp_path / "run" / "out.jsonl").exists()


def test_rows_that_get_lost_between_stages_are_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Worker.run

    def forgetful(self: Any, shard: Any, task: Any) -> ShardResult:
        result = run(self, shard, task)
        return replace(result, rows=result.rows - 1) if task.last else result

    monkeypatch.setattr(Worker, "run", forgetful)
    with pytest.raises(ConservationError, match="stage 2 was given 4 rows where 5 were left"):
        refine(tmp_path, LINES, [{"document_deduplicator": None}, STEPS[0]])
    assert not (tmp_path / "run" / "out.jsonl").exists()


def test_the_command_ends_with_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(publish, "_export", _miscounting(-1))
    write_lines(tmp_path / "in.jsonl", LINES)
    (tmp_path / "recipe.json").write_text(json.dumps(settings(tmp_path, STEPS)))
    monkeypatch.setattr("sys.argv", ["refinery", "run", str(tmp_path / "recipe.json")])
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert caught.value.code == 5
    assert "refinery: rows do not add up: 2 were kept, but 1 written" in capsys.readouterr().err


def test_moments_do_not_depend_on_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "BLOCK", 25_000)
    values = np.random.default_rng(3).random(100_000) * 1000 / 7
    rows = pa.table(
        {"_row": np.arange(len(values)), "ratio": values, "_key_1": [f"k{n % 7}" for n in range(len(values))]}
    )
    measured = SimpleNamespace(stats=[Stat("ratio", "ratio", 1, "DOUBLE")], chars={}, keys=["_key_1"])
    with Database(tmp_path / "moments.duckdb") as db:
        db.table("facts", rows, "_row")
        found = set()
        for threads in (1, 2, 3, 4):
            db.run(f"SET threads = {threads}")
            summary.summarise(db, [measured], StatSummary(group_by=(("of seven", "_row % 7"),)))
            found |= set(db.rows("SELECT * FROM stat_summary"))
    assert len(found) == 8


@pytest.mark.parametrize("places", [[0, 0, 2, 3], [0, 1, 2], [0, 1, 2, 2, 3]], ids=["exchanged", "lost", "twice"])
def test_samples_are_told_apart_where_sums_are_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: list[int]
) -> None:
    query = ProgramConnection.query

    def faulty(connection: ProgramConnection, *arguments: Any) -> pa.Table:
        done = query(connection, *arguments)
        return done.take(pa.array(places)) if len(done) == 4 else done

    monkeypatch.setattr(ProgramConnection, "query", faulty)
    lost, twice = 4 - len(set(places)), len(places) - len(set(places))
    with pytest.raises(ConservationError, match=rf"of 4 rows from 0 on {lost} were lost, {twice} are there twice"):
        refine(tmp_path, [{"text": f"text {k}"} for k in range(4)], STEPS[:1], workers="threads")
    assert not (tmp_path / "run" / "out.jsonl").exists()
