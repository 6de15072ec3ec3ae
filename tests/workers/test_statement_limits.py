"""SQL without end is ended: a row that takes too long alone goes into quarantine, SQL without end for every row ends the run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import refinery
from refinery.errors import OperatorError, RecipeError, StatementTimeout
from refinery.io.batch import Batch
from refinery.planning import binding
from refinery.workers import statement_limits
from refinery.workers.crash_marker import died
from refinery.workers.program_connection import ProgramConnection
from tests.runs import exported, operator_folder, refine, rows, settings, texts, write_lines
from tests.sampling import sampled
from tests.waiting import HANG

ENDLESS = "(WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r) > 0"
STUCK = "jaro_similarity(repeat('a', n), repeat('b', n)) >= 0"  # one expression, which DuckDB does not leave
TOLD = "SQL took longer than 1.5 seconds (row_timeout, which is never less for SQL)"

COMMAND = "from refinery.workers import statement_limits as limits; limits.DEFAULT = 1.0; from refinery.__main__ import start; start()"
LENGTH = {"text_length_filter": {"min_len": 1}}


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few seconds in place of minutes."""
    monkeypatch.setattr(statement_limits, "LEAST", 1.5)
    monkeypatch.setattr(statement_limits, "DEFAULT", 1.5)
    monkeypatch.setattr(binding, "_ALONE", 0.75)  # of each step, to find it among others


@pytest.mark.parametrize(
    ("around", "keys"), sampled([([LENGTH], {}), ([LENGTH], {"row_timeout": 1}), ([], {"row_timeout": 1})])
)
def test_sql_without_end_is_a_mistake_of_its_step_and_runs_into_the_limit_once(
    tmp_path: Path, around: list[Any], keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []
    ended = statement_limits.StatementLimit._watch

    def watch(limit: statement_limits.StatementLimit, *arguments: Any) -> None:
        ended(limit, *arguments)
        if arguments[2].is_set():
            given.append(limit._seconds)

    monkeypatch.setattr(statement_limits.StatementLimit, "_watch", watch)
    write_lines(tmp_path / "in.jsonl", texts(["a", "b"]))
    with pytest.raises(RecipeError) as caught:
        refinery.run(settings(tmp_path, [*around, {"sql_filter": {"where": ENDLESS}}, *around], **keys))
    [problem] = caught.value.problems
    assert problem.what.startswith(f"sql_filter: {TOLD}, over no rows at all")
    assert given == ([1.5, 0.75] if around else [1.5])  # all at once; then only to find the step among others


def stuck(folder: Path, count: int = 6) -> dict[str, Any]:
    """A recipe over so many rows, the last of which cannot be interrupted."""
    samples = [{"text": f"text {k}", "n": 3_000_000 if k == count - 1 else 3} for k in range(count)]
    write_lines(folder / "in.jsonl", samples)
    return settings(folder, [LENGTH, {"sql_filter": {"where": STUCK}}, LENGTH])


@pytest.mark.long
def test_a_row_that_cannot_be_interrupted_costs_itself_in_a_process(tmp_path: Path) -> None:
    run = refinery.run(stuck(tmp_path, 2) | {"workers": "processes"})
    assert rows(run, "quarantine", "_row, step, operator, error") == [(1, 2, "sql_filter", TOLD)]
    assert run.counts.kept == 1


def test_a_statement_that_does_not_come_back_ends_a_run_by_threads(tmp_path: Path) -> None:
    (tmp_path / "recipe.json").write_text(json.dumps(stuck(tmp_path)), encoding="utf-8")
    command = [sys.executable, "-c", COMMAND, "run", str(tmp_path / "recipe.json"), "--workers", "threads"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 4 and "sql_filter" in done.stderr and "cannot be interrupted" in done.stderr
    assert not (tmp_path / "run" / "out.jsonl").exists()
    [note] = (tmp_path / "run").rglob(".running")
    assert died(note) == "was ended by a crash (SQL that did not come back)"  # so the next run uses processes


def slow(monkeypatch: pytest.MonkeyPatch, *at: int) -> None:
    """Have what step 2 decides take too long for rows `at`."""
    query = ProgramConnection.query

    def timed(connection: ProgramConnection, sql: str, batch: Batch, first_row: int) -> pa.Table:
        asked = sql[sql.rindex("SELECT") :]
        if set(at) & set(batch.rows.tolist()) and ("_dropped" in asked or "_alive_2" in asked):
            raise StatementTimeout(f"in.yaml:3: sql_filter: {TOLD}")
        return query(connection, sql, batch, first_row)

    monkeypatch.setattr(ProgramConnection, "query", timed)


STEPS: list[Any] = [LENGTH, {"sql_filter": {"where": "length(text) > 0"}}]


def test_one_slow_row_costs_itself_in_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow(monkeypatch, 4)
    run = refine(tmp_path, texts(f"text {k}" for k in range(9)), STEPS, workers="threads")
    assert rows(run, "quarantine", "_row, step, operator, error") == [(4, 2, "sql_filter", TOLD)]
    assert [sample["id"] for sample in exported(run)] == [0, 1, 2, 3, 5, 6, 7, 8]


def test_sql_without_end_for_every_row_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow(monkeypatch, *range(9))
    with pytest.raises(OperatorError, match=r"sql_filter: SQL took longer than 1.5 .* for each of 3 rows alone"):
        refine(tmp_path, texts(f"text {k}" for k in range(9)), STEPS, workers="threads")
    assert not (tmp_path / "run" / "out.jsonl").exists()


def test_slow_functions_are_no_endless_sql(tmp_path: Path) -> None:
    folder = operator_folder(tmp_path / "operators", slow='time.sleep(0.35); return text + "."')
    run = refine(tmp_path, texts(f"t {k}" for k in range(5)), ["slow_mapper"], operators=str(folder), workers="threads")
    assert run.counts.kept == 5 and run.counts.quarantined == 0
