"""Requests to storage that fail for the moment are repeated; what is repeated leaves what one request leaves."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from functools import partial, wraps
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from refinery.errors import DataError
from refinery.storage import drivers, retries
from refinery.storage.objects import info_of
from refinery.storage.remote import RemoteStore
from refinery.storage.retries import repeated, transient


class Flaky(MemoryFileSystem):
    """Objects in memory; of the calls of each method, those in `failing` fail, before or after their effect."""

    protocol = "flaky"
    store: Any = {}
    pseudo_dirs: Any = [""]
    failing: dict[str, list[str]] = {}

    def _disturbed(self, name: str, *args: Any, **options: Any) -> Any:
        todo = self.failing.get(name)
        when = todo.pop(0) if todo else ""
        if when == "before":
            raise ConnectionResetError(errno.ECONNRESET, "reset by peer")
        found = getattr(MemoryFileSystem, name)(self, *args, **options)
        if when == "after":
            raise TimeoutError("no answer")
        return found

    def __getattribute__(self, name: str) -> Any:
        if name in ("info", "find", "pipe_file", "put_file", "get_file", "cat_file", "rm", "rm_file"):
            call = partial(Flaky._disturbed, self, name)
            return wraps(getattr(MemoryFileSystem, name))(call)  # a driver may be asked which modes it knows
        return super().__getattribute__(name)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[RemoteStore]:
    monkeypatch.setattr(retries, "_PAUSES", (0.0,) * 4)
    fsspec.register_implementation("flaky", Flaky, clobber=True)
    Flaky.store.clear()
    Flaky.failing.clear()
    yield RemoteStore("flaky://bucket/parts")
    drivers.forget()


@pytest.mark.parametrize("when", ["before", "after"])
def test_each_call_is_repeated_to_the_same_effect(store: RemoteStore, when: str) -> None:
    local = store.scratch() / "new"
    local.write_bytes(b"one")
    Flaky.failing.update(
        {name: [when] for name in ("put_file", "pipe_file", "get_file", "find", "rm", "rm_file", "info")}
    )
    store.put(local, "a")
    store.write_text("b", "two")
    assert store.names() == ["a", "b"] and store.fetch("a").read_bytes() == b"one"
    Flaky.failing["cat_file"] = [when]
    assert store.read_text("b") == "two"
    store.discard("b")
    store.remove()
    assert store.names() == [] and not any(Flaky.failing.values())


def test_an_object_of_a_lost_answer_is_ours(store: RemoteStore) -> None:
    Flaky.failing["pipe_file"] = ["after"]
    assert store.create("lock", "mine")
    Flaky.failing["pipe_file"] = ["before", "before"]
    assert not store.create("lock", "another's") and store.read_text("lock") == "mine"


def test_storage_that_keeps_failing_is_named(store: RemoteStore) -> None:
    Flaky.failing["cat_file"] = ["before"] * 9
    with pytest.raises(OSError, match="reset by peer, at each of 5 attempts") as found:
        store.read_text("a")
    assert found.value.filename == "flaky://bucket/parts/a" and len(Flaky.failing["cat_file"]) == 4
    Flaky.failing["info"] = ["before"] * 9
    with pytest.raises(DataError, match=r"flaky://bucket/a: cannot be read: .* at each of 5 attempts"):
        info_of("flaky://bucket/a")


def test_a_missing_object_is_asked_for_once(store: RemoteStore) -> None:
    Flaky.failing["info"] = ["", "before"]
    assert not store.exists("a") and Flaky.failing["info"] == ["before"]


def test_a_driver_that_repeats_requests_itself_is_called_once() -> None:
    class Patient:
        retries, calls = 5, 0

        def ask(self) -> None:
            self.calls += 1
            raise ConnectionResetError

    driver = Patient()
    with pytest.raises(ConnectionResetError):
        repeated(driver, driver.ask)
    assert driver.calls == 1


class _Answer(Exception):
    def __init__(self, status: int) -> None:
        self.status = status


def test_only_errors_of_the_moment_are_transient() -> None:
    hidden = FileNotFoundError("url")
    hidden.__cause__ = _Answer(503)
    missing = FileNotFoundError("url")
    missing.__cause__ = _Answer(404)
    passing = (_Answer(500), _Answer(429), hidden, ConnectionResetError(), TimeoutError(), OSError(errno.EIO, "x"))
    lasting = (_Answer(403), missing, FileNotFoundError(), PermissionError(), OSError(errno.ENOSPC, "full"), KeyError())
    assert all(map(transient, passing)) and not any(map(transient, lasting))
