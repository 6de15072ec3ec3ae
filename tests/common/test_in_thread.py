"""Calls in threads of their own."""

from __future__ import annotations

import threading

import pytest

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
