"""When workers are processes, and what comes back from them besides results."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from refinery import errors
from refinery.operators import Library
from refinery.operators.processes import raised
from refinery.planning.pipeline import prepare
from refinery.recipe import load
from refinery.workers import backends as crews
from refinery.workers.backends import BackendChoice
from refinery.workers.process_main import error_fields
from refinery.workers.row_errors import RowIsolation
from tests.runs import operator_folder, refine, settings, texts, write_lines

OF_USER = ["plain_mapper"]
PYTHON = ["clean_html_mapper"]
KERNELS = [{"text_length_filter": {"min_len": 1}}, "fix_unicode_mapper"]


def apart(folder: Path, steps: list[Any], **keys: Any) -> bool:
    """Return whether the only stage of a recipe runs in processes."""
    operator_folder(folder / "operators", plain="return text")
    write_lines(folder / "in.jsonl", texts([f"text {k}" for k in range(100)]))
    recipe = settings(folder, steps, **{"np": 2, "shard_size": 500, "operators": folder / "operators", **keys})
    library = Library((folder / "operators",))
    prepared = prepare(load(recipe, library=library), library)
    prepared.workers = 2
    choice = BackendChoice(prepared.worker_settings, str(folder), lambda: folder, folder / ".running")
    return choice.apart(prepared.stages[0].program, prepared.shards)


def test_small_inputs_start_none(tmp_path: Path) -> None:
    assert not apart(tmp_path, PYTHON)


def test_code_of_users_always_runs_in_processes(tmp_path: Path) -> None:
    assert apart(tmp_path, OF_USER) and apart(tmp_path, OF_USER, workers="threads")


@pytest.mark.parametrize(
    ("steps", "keys", "expected"),
    [
        (PYTHON, {}, True),
        (KERNELS, {}, False),
        (PYTHON, {"workers": "threads"}, False),
        (KERNELS, {"workers": "processes"}, True),
        (KERNELS, {"row_timeout": 5}, True),
        (PYTHON, {"workers": "threads", "row_timeout": 5}, True),
        (PYTHON, {"shard_size": 10_000_000}, False),
    ],
)
def test_what_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: list[Any], keys: dict[str, Any], expected: bool
) -> None:
    monkeypatch.setattr(crews, "WORTH", 1000)
    assert apart(tmp_path, steps, **keys) is expected


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (errors.DataError("in.jsonl: cannot be read"), errors.DataError, "in.jsonl: cannot be read"),
        (errors.RecipeError([errors.Problem("a:1", "wrong")]), errors.RecipeError, "a:1: wrong"),
        (duckdb.ConversionException("no number"), duckdb.ConversionException, "no number"),
        (duckdb.OutOfMemoryException("too much"), MemoryError, "too much"),
        (MemoryError(), MemoryError, ""),
        (FileNotFoundError(2, "No such file", "x"), FileNotFoundError, "[Errno 2] No such file: 'x'"),
        (KeyError("key"), RuntimeError, "KeyError: 'key'"),
        (SystemExit(3), RuntimeError, "SystemExit: 3"),
    ],
)
def test_errors_of_processes_are_raised_here(error: BaseException, kind: type, text: str) -> None:
    found = raised(json.loads(json.dumps(error_fields(error))))
    assert type(found) is kind and str(found) == text


@dataclass
class Rows:
    """As much of a batch as finding failures needs."""

    rows: np.ndarray

    def take(self, index: np.ndarray) -> Rows:
        return Rows(self.rows[index])

    def __len__(self) -> int:
        return len(self.rows)


class Pass:
    pass_sql = ""


@pytest.mark.parametrize("most", [1, 7, 100])
def test_a_batch_that_memory_does_not_hold_is_run_in_halves(most: int) -> None:
    sizes: list[int] = []

    def query(sql: str, batch: Any, first_row: int) -> pa.Table:
        sizes.append(len(batch))
        if len(batch) > most:
            raise duckdb.OutOfMemoryException("too much")
        return pa.table({"_i": np.arange(len(batch)), "row": batch.rows})

    found, failures = RowIsolation(Pass(), query).run(Rows(np.arange(100) * 3), 0)  # type: ignore[arg-type]
    assert found["_i"].to_pylist() == list(range(100)) and not failures
    assert found["row"].to_pylist() == [3 * k for k in range(100)]
    assert max(size for size in sizes if size <= most) * 2 >= most


def test_a_row_that_memory_does_not_hold_ends_the_run() -> None:
    def query(sql: str, batch: Any, first_row: int) -> pa.Table:
        raise duckdb.OutOfMemoryException("too much")

    with pytest.raises(duckdb.OutOfMemoryException):
        RowIsolation(Pass(), query).run(Rows(np.arange(10)), 0)  # type: ignore[arg-type]


def test_a_run_that_may_take_more_memory_than_there_is_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its first shard, in the log; the system kills such a run without a word."""
    quiet = refine(tmp_path / "quiet", texts(["a"]), ["words_num_filter"])
    assert not [note for note in quiet.warnings if "GB of memory" in note]
    run = refine(tmp_path / "much", texts(["a"]), ["words_num_filter"], memory_limit="900GB")
    assert [note for note in run.warnings if note.startswith("memory_limit allows 900.0 GB, and there are ")]
    log = (run.work_dir / ".refinery" / "log" / "run.log").read_text(encoding="utf-8")
    assert log.index("memory_limit allows 900.0 GB") < log.index("shard 0 done")
    monkeypatch.setattr("refinery.workers.machine.memory", lambda: 50_000_000)
    run = refine(tmp_path / "little", texts(["a"]), ["words_num_filter"])
    assert [note for note in run.warnings if "the texts of the batches of all workers may take" in note]
