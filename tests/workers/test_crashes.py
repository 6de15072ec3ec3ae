"""A row that ends a worker process, or never ends, is lost; everything else is as if that row had not existed."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from refinery.api import Run
from refinery.errors import OperatorError
from refinery.inspect.why.query import RowHistories
from refinery.io.sources import cut, find
from refinery.operators.processes import WorkerDied
from refinery.workers.observer import ProcessObserver
from refinery.workers.process_runner import _hopeless
from refinery.workers.tasks import Task
from refinery.workers.worker import Worker
from tests.compiled import program_of
from tests.runs import exported, operator_folder, refine, rows, settings, texts, write_lines
from tests.sampling import named
from tests.workers.test_orphans import workers_of

# What each operator does to a text that names it, besides ending all others with a full stop.
DEEDS = {
    "segfault": "import ctypes; ctypes.string_at(0)",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "leaves": "import os; os._exit(7)",
    "raises": 'raise ValueError("not this one")',
    "stops": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "sleeps": "import time; time.sleep(1000)",
    "backtracks": 'import re; re.match(r"(a+)+$", "a" * 60 + "b")',
    # Hears no alarm, as native code that does not come back.
    "frozen": "import signal, time; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]); time.sleep(1000)",
}


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bodies = {name: f'if "{name}" in text:\n    {deed}\nreturn text + "."' for name, deed in DEEDS.items()}
    return operator_folder(tmp_path_factory.mktemp("operators"), **bodies)


def run(folder: Path, operators: Path, samples: Sequence[str], *names: str, **keys: Any) -> Run:
    steps: list[Any] = [{"text_length_filter": {"min_len": 3}}, *(f"{name}_mapper" for name in names)]
    keys = {"workers": "processes", "np": 2, "operators": str(operators), **keys}
    return refine(folder, texts(samples), steps, **keys)


def many(count: int, **at: int) -> list[str]:
    """Texts, some with a word of their own at a place."""
    found = [f"text number {k}" for k in range(count)]
    for word, place in at.items():
        found[place] = f"here is {word} {place}"
    return found


def quarantine(found: Run) -> list[tuple[Any, ...]]:
    return rows(found, "quarantine", "_row, step, operator, error")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        pytest.param("segfault", "the worker process was killed by SIGSEGV", marks=pytest.mark.long),
        ("killed", "the worker process was killed by SIGKILL"),
    ],
)
def test_a_crash_costs_its_row(tmp_path: Path, operators: Path, name: str, error: str) -> None:
    samples = many(60, **{name: 41})
    found = run(tmp_path, operators, samples, "raises", name, shard_size=800)
    assert quarantine(found) == [(41, 3, f"{name}_mapper", error)]
    [(raw, file, line)] = rows(found, "quarantine", "raw, file, line")
    assert f"here is {name} 41" in raw and file.endswith("in.jsonl") and line == 42
    assert [row["text"] for row in exported(found)] == [text + ".." for k, text in enumerate(samples) if k != 41]
    assert found.sql("SELECT count(*) FROM shards").fetchall()[0][0] > 2
    with RowHistories(found.work_dir) as histories:  # the crash is not repeated
        history = histories.of(41)
    assert history.fate == "quarantined" and history.error == error
    assert [event.fate for event in history.events] == ["kept", "changed", "quarantined"]


def test_several_crashes_of_a_shard_cost_their_rows(tmp_path: Path, operators: Path) -> None:
    samples = many(9, segfault=3, leaves=6, raises=7)
    samples[4] = "another segfault"
    found = run(tmp_path, operators, samples, "leaves", "segfault", "raises", np=1)
    assert [(row, step) for row, step, *_ in quarantine(found)] == [(3, 3), (4, 3), (6, 2), (7, 4)]
    assert found.counts.kept == 5
    assert quarantine(found)[2][3] == "the worker process ended with exit status 7"


def test_rows_that_raise_are_told_of_as_by_threads(tmp_path: Path, operators: Path) -> None:
    samples = many(50, raises=20)
    found = [run(tmp_path / kind, operators, samples, "raises", workers=kind) for kind in ("processes", "threads")]
    assert quarantine(found[0]) == quarantine(found[1]) != []
    assert "not this one" in quarantine(found[0])[0][3]
    assert exported(found[0]) == exported(found[1])
    assert workers_of(os.getpid()) == []  # a run that ends leaves none


@pytest.mark.parametrize("name", named({name: name for name in ("sleeps", "backtracks", "frozen")}, "sleeps"))
def test_a_row_that_takes_too_long_goes_into_quarantine(tmp_path: Path, operators: Path, name: str) -> None:
    samples = many(12, **{name: 7})
    found = run(tmp_path, operators, samples, name, row_timeout=1.5, workers="threads")
    assert quarantine(found) == [(7, 2, f"{name}_mapper", "took longer than 1.5 seconds (row_timeout)")]
    assert found.counts.kept == 11


@pytest.mark.long
def test_a_worker_that_stops_itself_goes_on(tmp_path: Path, operators: Path) -> None:
    found = run(tmp_path, operators, many(100, stops=70), "stops")
    assert quarantine(found) == [] and found.counts.kept == 100
    assert exported(found)[70]["text"].endswith(".")


def test_a_crash_that_no_row_is_to_blame_for_ends_the_run(tmp_path: Path, operators: Path) -> None:
    body = """
    change.count = getattr(change, "count", 0) + 1
    if change.count > 6:
        import os; os._exit(9)
    return None
    """
    folder = operator_folder(tmp_path / "operators", worn=body)
    with pytest.raises(OperatorError, match=r"in\.jsonl: the worker process ended with exit status 9 again and again"):
        run(tmp_path, folder, many(12), "worn")


@pytest.mark.long
def test_samples_in_memory_reach_processes(tmp_path: Path, operators: Path) -> None:
    import pyarrow as pa

    import refinery

    table = pa.table({"text": many(60, segfault=7), "n": list(range(60))})
    recipe = settings(tmp_path, ["segfault_mapper"], np=2, workers="processes", shard_size=500, operators=operators)
    del recipe["dataset_path"]
    found = refinery.run(recipe, dataset=table)
    assert [row["n"] for row in exported(found)] == [n for n in range(60) if n != 7]
    assert rows(found, "quarantine", "_row, file") == [(7, "dataset")]


def test_a_line_that_is_too_large_to_be_read_is_named(tmp_path: Path) -> None:
    """A process that is killed while it reads has run no row; the line that it began to read is the cause."""
    path = tmp_path / "in.jsonl"
    small = '{"text": "a"}\n\n'
    path.write_text(small * 3 + '{"text": "' + "b" * 2_000_000 + '"}\n' + small, encoding="utf-8")
    [shard] = cut(find([str(path)])[0], 1 << 30)
    message = _hopeless(shard, WorkerDied(-signal.SIGKILL, {"at": None, "row": 2}))
    assert "line 7 of the file, which has 2.0 MB" in message and "no single row" not in message
    assert "no single row is the cause" in _hopeless(shard, WorkerDied(-signal.SIGKILL, {"at": [0, 2], "row": None}))


def test_the_driver_hears_of_the_row_that_is_read_next(tmp_path: Path) -> None:
    sent: list[dict[str, Any]] = []
    path = write_lines(tmp_path / "in.jsonl", texts(["a", "b", "c"]))
    [shard] = cut(find([str(path)])[0], 1 << 30)
    with closing(
        Worker(program_of(["words_num_filter"]), observer=ProcessObserver(sent.append, None, False))
    ) as worker:
        assert [len(batch) for batch in worker.batches(shard, Task("", 1 << 20, batch_rows=2))] == [2, 1]
    assert [message["row"] for message in sent] == [0, 2, 3, None]


def test_processes_that_were_killed_are_in_the_summary(tmp_path: Path) -> None:
    """The first process is killed, as by the system; the second one does the shard."""
    mark = tmp_path / "killed"
    deed = f"""
    import pathlib, signal
    if not pathlib.Path({str(mark)!r}).exists():
        pathlib.Path({str(mark)!r}).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return text"""
    folder = operator_folder(tmp_path / "operators", once=deed)
    found = run(tmp_path, folder, many(5), "once")
    assert found.counts.kept == 5
    assert [note for note in found.warnings if "worker processes were killed 1 times" in note]
