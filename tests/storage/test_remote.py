"""The store at a URL: an S3 server on this machine, and a driver that keeps objects in memory."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from refinery.checkpoints.results import OF_RUNS
from refinery.errors import DataError
from refinery.storage.open import open_store
from refinery.storage.remote import RemoteStore
from refinery.storage.store import Store
from tests.s3 import make_bucket


@pytest.fixture(params=["s3", "memory"])
def store(request: pytest.FixtureRequest) -> RemoteStore:
    name = request.node.name.replace("_", "-").replace("[", "-").strip("]").lower()[-60:].strip("-")
    if request.param == "memory":
        return RemoteStore(f"memory://{name}/parts")
    request.getfixturevalue("server")
    return RemoteStore(f"{make_bucket(name)}/parts")


def put(store: Store, name: str, content: bytes) -> None:
    path = store.scratch() / "new"
    path.write_bytes(content)
    store.publish(path, name)
    assert not path.exists()


def test_what_is_published_is_fetched(store: RemoteStore) -> None:
    assert store.names() == [] and not store.exists("stage_1/a")
    put(store, "stage_1/a", b"one")
    assert store.exists("stage_1/a") and store.fetch("stage_1/a").read_bytes() == b"one"
    assert store.fetch("stage_1/a") == store.place("stage_1/a")
    put(store, "stage_1/a", b"another")
    assert store.fetch("stage_1/a").read_bytes() == b"another"


def test_what_another_process_has_published_is_seen(store: RemoteStore) -> None:
    other = RemoteStore(store.url)
    put(store, "a", b"one")
    assert other.fetch("a").read_bytes() == b"one"
    put(store, "a", b"two")
    assert other.fetch("a").read_bytes() == b"two"
    assert other.names() == ["a"]
    store.remove("a")
    assert not other.exists("a") and other.names() == []
    with pytest.raises(FileNotFoundError):
        other.fetch("a")


def test_names_sizes_and_removal_go_by_prefix(store: RemoteStore) -> None:
    for name in ("stage_1/00000.done.json", "stage_1/00001.done.json", "stage_10/00000.done.json", "note"):
        store.write_text(name, "{}")
    assert store.names("stage_1/") == ["stage_1/00000.done.json", "stage_1/00001.done.json"]
    assert len(store.names("stage_1")) == 3 and store.names("stage_1/00001") == ["stage_1/00001.done.json"]
    assert store.size() == 8 and store.size("stage_1/") == 4
    store.remove("stage_1/")
    assert store.names() == ["note", "stage_10/00000.done.json"]
    store.remove()
    assert store.names() == []


def test_vacating_leaves_what_is_of_others(store: RemoteStore, tmp_path: Path) -> None:
    for place in (store, open_store(str(tmp_path / "here"))):
        for name in ("stage_1/a", "stage_1/b", "run.json", "run.json.bak", "notes.txt", "stages/a"):
            place.write_text(name, "{}")
        place.vacate(OF_RUNS)
        assert place.names() == ["notes.txt", "run.json.bak", "stages/a"]


def test_texts(store: RemoteStore) -> None:
    store.write_text("a/b.json", "grüße\n")
    assert store.read_text("a/b.json") == "grüße\n"
    with pytest.raises(FileNotFoundError):
        store.read_text("a/c.json")


def test_copies_are_forgotten(store: RemoteStore) -> None:
    put(store, "a/b", b"content")
    copy = store.fetch("a/b")
    store.forget()
    assert not copy.exists()
    assert store.fetch("a/b").read_bytes() == b"content"


def test_paths_of_this_machine_are_themselves(store: RemoteStore, tmp_path: Path) -> None:
    assert store.fetch(str(tmp_path)) == tmp_path == store.place(str(tmp_path))


def test_threads_may_fetch_one_object_at_once(store: RemoteStore) -> None:
    content = bytes(range(256)) * 4096
    put(store, "large", content)
    with ThreadPoolExecutor(8) as pool:
        copies = list(pool.map(lambda _: store.fetch("large").read_bytes(), range(32)))
    assert set(copies) == {content}


def test_copies_go_with_their_process_and_those_of_killed_ones_are_tidied(server: str, tmp_path: Path) -> None:
    url = f"{make_bucket('tidied')}/parts"
    put(RemoteStore(url), "a", b"x")
    code = f"""
import os, signal, sys
from refinery.storage.remote import RemoteStore
print(RemoteStore({url!r}).fetch("a"), flush=True)
if sys.argv[1:]: os.kill(os.getpid(), signal.SIGKILL)
"""
    ended, killed = (
        Path(subprocess.run([sys.executable, "-c", code, *more], capture_output=True, text=True).stdout.strip())
        for more in ([], ["die"])
    )
    assert not ended.exists() and killed.read_bytes() == b"x"
    mine = RemoteStore(url).fetch("a")
    RemoteStore(url).tidy()
    assert not killed.exists() and mine.exists()


def test_an_unknown_place_is_an_error(server: str) -> None:
    with pytest.raises(OSError, match="s3://no-such-bucket-here/parts/a"):
        RemoteStore("s3://no-such-bucket-here/parts").write_text("a", "")
    with pytest.raises(DataError, match="nowhere"):
        RemoteStore("nowhere://bucket/parts")
    assert isinstance(open_store("memory://opened"), RemoteStore)
