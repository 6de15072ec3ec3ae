"""The connections to the tables of a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa

from refinery.results.database import Database
from tests.waiting import HANG


def test_a_statement_gets_more_memory_while_another_one_runs(tmp_path: Path) -> None:
    running, done, tries = threading.Event(), threading.Event(), list[str]()

    def rows() -> Iterator[pa.RecordBatch]:
        running.set()
        done.wait(HANG)
        yield pa.record_batch({"n": [1, 2]})

    def work() -> str:
        with db.cursor() as con:
            [(limit,)] = con.execute("SELECT current_setting('memory_limit')").fetchall()
        tries.append(limit)
        if len(tries) == 1:
            raise duckdb.OutOfMemoryException("too little")
        return limit

    with Database(tmp_path / "a.duckdb") as db:
        schema = pa.schema({"n": pa.int64()})
        db.con.register("slow", pa.RecordBatchReader.from_batches(schema, rows()))
        db.beside("CREATE TABLE made AS SELECT 1 AS n")
        counted = list[int]()
        thread = threading.Thread(target=lambda: counted.append(db.count("SELECT count(*) FROM slow")))
        thread.start()
        assert running.wait(HANG)
        try:
            assert db.with_room(work) == tries[1] != tries[0]
        finally:
            done.set()
            thread.join()
        db.settle()
        assert counted == [2] and db.count("SELECT n FROM made") == 1
        assert db.with_room(work) == tries[0]  # the limit is the usual one again
