"""Calls in threads of their own, and databases that are opened by them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from refinery.common import connections
from refinery.common.in_thread import InThread


def test_a_call_goes_on_beside_the_caller() -> None:
    gate = threading.Event()
    call = InThread(lambda: (gate.wait(10), threading.current_thread())[1])
    gate.set()
    assert call.result() is not threading.main_thread() and call.result() is call.result()


def test_what_a_call_raises_is_raised_where_its_result_is_asked_for() -> None:
    call = InThread(lambda: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            call.result()


def test_a_database_opened_ahead_is_used_once() -> None:
    connections.open_ahead()
    connections.open_ahead()
    ahead = connections._ahead[0].result()
    with connections.connect() as first, connections.connect() as second:
        assert first is ahead and second is not ahead
        first.execute("CREATE TABLE t AS SELECT 1 AS a").fetchall()
        assert not second.execute("FROM duckdb_tables()").fetchall()
        for con in (first, second):
            assert con.execute("SELECT current_setting('enable_external_access')").fetchall() == [(False,)]


def test_a_file_is_not_opened_ahead(tmp_path: Path) -> None:
    connections.open_ahead()
    with connections.connect([tmp_path], database=str(tmp_path / "a.duckdb")) as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS a").fetchall()
    assert (tmp_path / "a.duckdb").is_file()
    connections.connect().close()


def test_a_database_that_cannot_be_opened_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_opened", lambda name: 1 / 0)
    connections.open_ahead()
    with pytest.raises(ZeroDivisionError):
        connections.connect()
