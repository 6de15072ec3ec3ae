"""Files that are lost while a run writes them end the run: a lost file is never read as one that was not written."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import refinery
from refinery.errors import OutputError
from refinery.io.batch import LINE, Batch
from refinery.io.model import Shard
from refinery.io.writers.shared_file import SharedFile
from refinery.io.writers.write import PartWriter
from refinery.storage.local import LocalStore
from refinery.workers import worker as workers
from refinery.workers.done_marks import ShardPublisher
from refinery.workers.threads import WorkerThreads
from tests.runs import lines_of, operator_folder, settings, texts, write_lines


def batch(lines: bool) -> Batch:
    values = pa.array(['{"text": "a"}', '{"text": "b"}'], pa.string())
    return Batch(lines, pa.table({LINE if lines else "text": values}), np.arange(2), np.arange(1, 3))


@pytest.mark.parametrize("lines", [True, False])
def test_a_part_that_is_lost_while_it_is_written_is_an_error(tmp_path: Path, lines: bool) -> None:
    scratch = tmp_path / "scratch"
    with pytest.raises(OutputError, match="removed while it was written"):
        with PartWriter(scratch / "part", lines) as writer:
            writer.write(batch(lines), np.arange(2))
            writer._flush() if not lines else None
            shutil.rmtree(scratch)
    assert writer.path is None


def test_a_table_without_samples_is_no_part(tmp_path: Path) -> None:
    with PartWriter(tmp_path / "part", False) as writer:
        pass
    assert writer.path is None and list(tmp_path.iterdir()) == []


def test_a_lost_file_is_not_published(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    with pytest.raises(OutputError, match="lost: was removed before the run had ended"):
        store.publish(tmp_path / "lost", "stage_1/00000.jsonl")
    assert store.names() == []


@pytest.mark.parametrize("how", ["removed", "cut"])
def test_bytes_of_an_export_that_wait_in_a_lost_file_are_an_error(tmp_path: Path, how: str) -> None:
    output = SharedFile(str(tmp_path / "out.jsonl"), "jsonl", tmp_path)
    second = output.piece(1)
    second.write(b"of the second shard\n")
    output.relieve(second._shard)
    [aside] = tmp_path.glob("*.export")
    aside.unlink() if how == "removed" else aside.write_bytes(b"of the")
    second.write(b"its second line\n")
    with pytest.raises(OutputError, match="removed while it was written|bytes of it were lost"):
        if how == "removed":
            output.relieve(second._shard)
        second.close()
        output.piece(0).close()
    output.discard()


# A run whose temporary files go away, as after a cleaner of /tmp


REMOVES = """
if "LAST" in text:
    for folder, _, names in os.walk({parts!r}):
        for name in names:
            if name.endswith(".tmp"):
                os.unlink(os.path.join(folder, name))
return text.lower()
"""


def test_a_run_whose_temporary_files_are_removed_fails_and_the_next_one_is_whole(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", [*texts(f"Text number {k}" for k in range(40)), {"id": 40, "text": "LAST"}])
    parts = str(tmp_path / "run" / ".refinery" / "parts")
    operators = operator_folder(tmp_path / "ops", lower=REMOVES.format(parts=parts))
    steps: list[Any] = [{"lower_mapper": None}, {"document_deduplicator": {}}, {"text_length_filter": {"min_len": 1}}]
    asked = settings(tmp_path, steps, operators=[str(operators)], workers="threads")
    with pytest.raises(OutputError, match="Run the same command again"):
        refinery.run(asked)
    assert not (tmp_path / "run" / "out.jsonl").exists()
    operator_folder(tmp_path / "ops", lower="return text.lower()")
    refinery.run(asked)
    assert {line["text"][0] for line in lines_of(tmp_path / "run" / "out.jsonl")} == {"t", "l"}


# A run that gives up


class Slow:
    """A worker that works on after its run has given up."""

    def __init__(self, *_: Any) -> None:
        self.stopped = threading.Event()

    def stop(self) -> None:
        self.stopped.set()

    def close(self) -> None:
        pass


def test_a_run_that_gives_up_begins_no_further_shard() -> None:
    begun: list[int] = []

    def job(number: int) -> Any:
        def run(worker: Slow) -> None:
            begun.append(number)
            if number == 0:
                raise KeyboardInterrupt

        return run

    with pytest.raises(KeyboardInterrupt), WorkerThreads(None, 1, None, None, Slow) as pool:  # type: ignore[arg-type]
        pool.map([job(number) for number in range(9)])
    assert begun == [0]


def test_a_run_that_gives_up_marks_no_shard_as_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second Ctrl-C does not wait for threads; what they finish afterwards is not stored."""
    write_lines(tmp_path / "in.jsonl", texts(["a", "b"]))
    real = ShardPublisher.publish
    seen: list[workers.Worker] = []
    run = workers.Worker.run

    def running(worker: workers.Worker, shard: Shard, task: Any) -> Any:
        seen.append(worker)
        return run(worker, shard, task)

    def stops(publisher: ShardPublisher, local: Path, name: str) -> str:
        seen[-1].stop()
        return real(publisher, local, name)

    monkeypatch.setattr(workers.Worker, "run", running)
    monkeypatch.setattr(ShardPublisher, "publish", stops)
    with pytest.raises(OutputError, match="the run has given up"):
        refinery.run(settings(tmp_path, [{"document_deduplicator": {}}], workers="threads"))
    assert seen and not list((tmp_path / "run").rglob("*.done.json"))


def test_two_attempts_at_a_shard_share_no_temporary_file(tmp_path: Path) -> None:
    """A thread of a run that has given up may still write beside the next run of the same program."""
    task = workers.Task("stage_1", 1, None, 0, False, False, True, None, str(tmp_path))
    first, second = (ShardPublisher(Shard(0, (), 0, 0), task) for _ in range(2))
    assert first.scratch("stage_1/00000") != second.scratch("stage_1/00000")
