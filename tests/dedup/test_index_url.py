"""An index at a URL: on an S3 server of this machine, and in memory."""

from __future__ import annotations

import functools
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.dedup import index as indexes
from refinery.dedup.index_url import IndexBucket
from refinery.errors import OperatorError, OutputError
from refinery.storage.open import open_store
from refinery.storage.remote import RemoteStore
from tests.runs import exported, lines_of, refine, settings, texts, write_lines
from tests.s3 import make_bucket, s3_server


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as address:
        yield address


# Most tests use the store in memory alone in `make test`; those of conditions on objects, and one of whole runs, both.
@pytest.fixture(params=[pytest.param("s3", marks=pytest.mark.long), "memory"])
def url(request: pytest.FixtureRequest) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[-50:].strip("-")
    if request.param == "memory":
        return f"memory://{name}/seen"
    request.getfixturevalue("server")
    return f"{make_bucket(name)}/seen"


everywhere = pytest.mark.parametrize("url", ["s3", "memory"], indirect=True)


def step(url: str, **more: Any) -> list[Any]:
    return [{"document_deduplicator": {"index": url, "lowercase": True, **more}}]


def objects(url: str) -> dict[str, bytes]:
    store = open_store(url)
    return {name: store.fetch(name).read_bytes() for name in store.names()}


def listed(url: str) -> list[str]:
    """The files of marks that the index lists."""
    found = [name for name in open_store(url).names() if re.fullmatch(r"index.*\.json", name)]
    return [item["file"] for item in json.loads(open_store(url).read_text(found[-1]))["generations"]] if found else []


def kept(run: Any) -> list[str]:
    return [row["text"] for row in exported(run)]


@pytest.mark.parametrize("url", ["s3", pytest.param("memory", marks=pytest.mark.long)], indirect=True)
def test_later_runs_know_what_earlier_ones_kept(url: str, tmp_path: Path) -> None:
    one = refine(tmp_path / "1", texts(["a", "b", "a"]), step(url), project_name="mine")
    assert kept(one) == ["a", "b"] and len(listed(url)) == 1
    two = refine(tmp_path / "2", texts(["c", "B", "c", "d"]), step(f"{url}/"), project_name="mine")
    assert kept(two) == ["c", "d"] and len(listed(url)) == 2
    run_id = one.sql("SELECT run_id FROM runs").fetchall()[0][0]
    found = two.sql("SELECT reason FROM ledger WHERE _row = 1 AND reason IS NOT NULL").fetchall()
    assert found == [(f"duplicate of mine {run_id} row 1",)]
    before = objects(url)
    assert kept(refine(tmp_path / "3", texts(["d", "a"]), step(url))) == [] and objects(url) == before
    assert {name.partition("-")[0] for name in before} == {"index", "marks"}  # no claim and no probe is left


def test_a_run_that_is_repeated_takes_its_own_place(url: str, tmp_path: Path) -> None:
    refine(tmp_path / "1", texts(["a"]), step(url))
    write_lines(tmp_path / "2" / "in.jsonl", texts(["a", "b", "c"]))
    recipe = settings(tmp_path / "2", step(url))
    assert kept(refinery.run(recipe)) == ["b", "c"]
    refine(tmp_path / "3", texts(["c", "d"]), step(url))
    assert kept(refinery.run(recipe)) == ["b", "c"]
    assert len(listed(url)) == 3 and {name for name in objects(url) if name.startswith("marks")} == set(listed(url))


def test_an_index_of_another_kind_is_refused(url: str, tmp_path: Path) -> None:
    refine(tmp_path / "1", texts(["a"]), step(url))
    before = objects(url)
    for steps, what in (
        (step(url, ignore_non_character=True), "ignore_non_character"),
        ([{"key_deduplicator": {"key": "text", "index": url}}], "ignore_non_character, key, lowercase, operator"),
    ):
        with pytest.raises(OperatorError, match=f"index {url} was made with other {what}"):
            refine(tmp_path / "2", texts(["a"]), steps)
    open_store(url).discard(listed(url)[0])
    with pytest.raises(OperatorError, match=r"has lost marks-00001-\w+\.parquet"):
        refine(tmp_path / "2", texts(["b"]), step(url))
    open_store(f"{url}/other").write_text("mine.txt", "x")
    with pytest.raises(OperatorError, match="is neither an index nor an empty folder"):
        refine(tmp_path / "2", texts(["b"]), step(f"{url}/other"))
    assert set(before) - set(objects(url)) == {name for name in before if name.startswith("marks")}


def test_match_keys_of_the_same_size_that_have_changed_are_refused(url: str, tmp_path: Path) -> None:
    refine(tmp_path / "1", texts(["a"]), step(url))
    [marks], before = listed(url), objects(url)
    data = bytearray(before[marks])
    data[len(data) // 3] ^= 1
    (tmp_path / "changed").write_bytes(data)
    open_store(url).put(tmp_path / "changed", marks)
    with pytest.raises(OperatorError, match=rf"index {url}: {marks} has other contents than run .* has written"):
        refine(tmp_path / "2", texts(["b"]), step(url))
    assert objects(url) == {**before, marks: bytes(data)}


def test_of_two_runs_at_once_the_second_publishes_nothing(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refine(tmp_path, texts(["a"]), [{"text_length_filter": {"min_len": 1}}])  # an earlier export in its place
    real, other = indexes.extend, []

    def meanwhile(*given: Any) -> Any:
        if not other:
            other.append(None)
            other.append(refine(tmp_path / "other", texts(["c"]), step(url)))
        return real(*given)

    with monkeypatch.context() as patch:
        patch.setattr(indexes, "extend", meanwhile)
        with pytest.raises(
            OutputError, match=f"{url}: another run has extended the index meanwhile; run this one again"
        ):
            refine(tmp_path, texts(["c", "d"]), step(url))
    assert [row["text"] for row in lines_of(tmp_path / "run" / "out.jsonl")] == ["a"] and len(listed(url)) == 1
    assert kept(refine(tmp_path, texts(["c", "d"]), step(url))) == ["d"] and len(listed(url)) == 2


def test_a_run_is_refused_while_another_one_holds_the_claim(url: str, tmp_path: Path) -> None:
    refine(tmp_path, texts(["a"]), step(url))
    with IndexBucket(url).alone("another", 1):
        with pytest.raises(OutputError, match=f"another run is about to extend .*remove {url}/claim-00002.json"):
            refine(tmp_path / "new", texts(["b"]), step(url))
        with pytest.raises(OutputError, match="another run is about to extend"), IndexBucket(url).alone("", 1):
            pass
    assert not (tmp_path / "new" / "run" / "out.jsonl").exists() and len(listed(url)) == 1
    assert kept(refine(tmp_path / "new", texts(["b"]), step(url))) == ["b"]


@everywhere
def test_a_list_is_created_by_one_of_many(url: str, tmp_path: Path) -> None:
    """Although each of them believes that it holds the claim."""
    path = tmp_path / "marks"
    path.write_bytes(b"marks")
    names: list[str] = []

    def extend(number: int) -> bool:
        try:
            with IndexBucket(url).beside(path, 1) as aside:
                IndexBucket(url).extend(aside, "", 0, lambda name: json.dumps([name, number]))
                names.append(aside)
        except OutputError as error:
            assert "this one is published, but not in the index. Run it again" in str(error)
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(extend, range(16))) == 1
    assert set(objects(url)) == {"index-00001.json", names[0]}  # the others have left nothing


@everywhere
def test_a_request_that_the_driver_repeats_finds_its_own_object(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store: Any = open_store(url)
    real = store._fs.pipe_file

    @functools.wraps(real)
    def twice(*given: Any, **more: Any) -> None:
        real(*given, **more)
        real(*given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(store._fs, "pipe_file", twice)
        assert store.create("a", "one") and not store.create("a", "two")
    assert store.read_text("a") == "one"


KILLED = """
import os, signal, sys
import refinery
from refinery.dedup import index_url
def dies(*given): os.kill(os.getpid(), signal.SIGKILL)
setattr(index_url.IndexBucket, sys.argv[1], dies)
refinery.run(eval(sys.argv[2]))
"""


@pytest.mark.long
@pytest.mark.parametrize("at", ["beside", "extend"])
def test_a_run_that_is_killed_leaves_the_index_as_it_was(server: str, tmp_path: Path, at: str) -> None:
    url = f"{make_bucket(f'killed-{at}')}/seen"
    refine(tmp_path / "1", texts(["a"]), step(url))
    before = listed(url)
    write_lines(tmp_path / "2" / "in.jsonl", texts(["a", "b"]))
    recipe = settings(tmp_path / "2", step(url))
    ended = subprocess.run([sys.executable, "-c", KILLED, at, repr(recipe)], capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert listed(url) == before
    check_that_only_the_same_run_goes_on(url, recipe, tmp_path)


def check_that_only_the_same_run_goes_on(url: str, recipe: dict[str, Any], folder: Path) -> None:
    """After its end without cleaning up. It keeps b."""
    assert "claim-00002.json" in objects(url)
    with pytest.raises(OutputError, match=f"if it was killed, repeat it, or remove {url}/claim-00002.json"):
        refine(folder / "3", texts(["b"]), step(url))
    assert kept(refinery.run(recipe)) == ["b"]
    assert len(listed(url)) == 2 and "claim-00002.json" not in objects(url)
    assert kept(refine(folder / "3", texts(["b", "c"]), step(url))) == ["c"]


class Killed(BaseException):
    """The end of a process, of which nothing is removed."""


@pytest.mark.parametrize("at", [pytest.param("beside", marks=pytest.mark.long), "extend"])
def test_a_run_that_cleans_nothing_up_leaves_the_index_as_it_was(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    refine(tmp_path / "1", texts(["a"]), step(url))
    before = listed(url)
    write_lines(tmp_path / "2" / "in.jsonl", texts(["a", "b"]))
    recipe = settings(tmp_path / "2", step(url))

    def dies(*given: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(IndexBucket, at, dies)
        patch.setattr(RemoteStore, "discard", lambda *given: None)
        refinery.run(recipe)
    assert listed(url) == before
    check_that_only_the_same_run_goes_on(url, recipe, tmp_path)


def test_a_storage_that_cannot_keep_runs_apart_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "memory://conditions-without-effect/seen"
    store: Any = open_store(url)
    real = store._fs.pipe_file
    monkeypatch.setattr(store._fs, "pipe_file", lambda path, content, mode="": real(path, content))
    with pytest.raises(OperatorError, match=r"the storage does not follow conditions \(If-None-Match\)"):
        refine(tmp_path, texts(["a"]), step(url))
    assert store.names() == [] and not (tmp_path / "run" / "out.jsonl").exists()


def test_a_storage_that_cannot_be_reached_is_named_before_anything_is_processed(server: str, tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="index s3://no-such-bucket/seen cannot be used: there is no such object"):
        refine(tmp_path, texts(["a"]), step("s3://no-such-bucket/seen"))
    assert not (tmp_path / "run" / "out.jsonl").exists()


def test_an_index_may_be_copied_from_a_folder(url: str, tmp_path: Path) -> None:
    refine(tmp_path / "1", texts(["a"]), step(str(tmp_path / "seen")))
    store = open_store(url)
    for path in (tmp_path / "seen").iterdir():
        store.put(path, path.name)
    assert kept(refine(tmp_path / "2", texts(["a", "b"]), step(url))) == ["b"]
    assert len(listed(url)) == 2 and "index.json" not in objects(url)
    store.write_text("index.json", "{}")
    with pytest.raises(OperatorError, match=r"both index\.json and index-00001\.json are there: remove index\.json"):
        refine(tmp_path / "3", texts(["c"]), step(url))


def test_two_steps_with_one_url_are_refused(url: str, tmp_path: Path) -> None:
    steps = [*step(url), {"key_deduplicator": {"key": "text", "index": f"{url}/"}}]
    with pytest.raises(refinery.errors.RecipeError, match="have the same index"):
        refine(tmp_path, texts(["a"]), steps)


def test_an_index_in_a_folder_and_one_at_a_url_are_extended_together(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "seen"
    steps = [*step(str(folder)), {"key_deduplicator": {"key": "text", "index": url}}]
    with monkeypatch.context() as patch, ExitStack() as held:
        patch.setattr(IndexBucket, "beside", lambda *given: held.enter_context(_full()))
        with pytest.raises(OutputError, match=f"{url}: the index cannot be extended: No space left on device"):
            refine(tmp_path, texts(["a"]), steps)
    assert listed(url) == [] and not list(folder.iterdir()) and not (tmp_path / "run" / "out.jsonl").exists()
    assert kept(refine(tmp_path, texts(["a"]), steps)) == ["a"] and len(listed(url)) == 1


def _full() -> Any:
    raise OSError(28, "No space left on device")
