"""Statistics files on object storage: a local S3 server, and what is said when a driver is missing."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fsspec
import pytest
from click.testing import CliRunner

import refinery
from refinery.cli.main import cli
from refinery.errors import DataError, OutputError
from refinery.stats import StatsMerger
from refinery.stats.remote import RemoteFolder
from refinery.stats.removal import NOTE
from refinery.storage import retries
from tests.faulty_proxy import Faults, faulty
from tests.runs import settings, texts, write_lines

Where = tuple[str, dict[str, Any]]


@pytest.fixture
def bucket(server: str, request: pytest.FixtureRequest) -> Where:
    """An empty bucket: its URL, and the options that lead to it."""
    import s3fs

    options = {"endpoint_url": server}
    name = request.node.name.replace("_", "-").lower()[:60].strip("-")
    s3fs.S3FileSystem(**options).mkdir(name)
    return f"s3://{name}/stats", options


def put(where: Where, path: str, entries: Any) -> None:
    folder = RemoteFolder(*where)
    folder.write(path, [entries if isinstance(entries, bytes) else json.dumps(entries).encode()], durable=True)


def entry(n: int) -> dict[str, Any]:
    return {"total": 2.0 * n, "n": n, "mean": 2.0, "unit": "task"}


def fill(where: Where) -> None:
    for rank in range(3):
        put(where, f"summary/length/{rank:05d}.json", {"summary": entry(rank + 1)})
        put(where, f"fqdn/length/{rank:05d}.json", {"a.de": entry(1), "é.de": entry(rank + 5)})


def everything(where: Where) -> dict[str, Any]:
    folder = RemoteFolder(*where)
    folder.fs.invalidate_cache()
    return {path[len(folder.root) + 1 :]: json.loads(folder.fs.cat_file(path)) for path in folder.fs.find(folder.root)}


MERGED = {"summary/length/metric.json": {"summary": 6}, "fqdn/length/metric.json": {"é.de": 18, "a.de": 3}}


def counts(files: dict[str, Any]) -> dict[str, dict[str, int]]:
    return {
        path: {key: found["n"] for key, found in entries.items()}
        for path, entries in files.items()
        if path.endswith("metric.json")
    }


def test_folders_that_fsspec_has_opened(tmp_path: Path) -> None:
    """Folders that datatrove accepts: a DirFileSystem, a pair of path and file system, a pair of path and options."""
    import fsspec
    from fsspec.implementations.dirfs import DirFileSystem

    url, memory = "memory://opened/stats", fsspec.filesystem("memory")
    fill((url, {}))
    StatsMerger(DirFileSystem("/opened/stats", memory), ("memory://opened/pair", memory)).merge()
    assert counts(everything(("memory://opened/pair", {}))) == MERGED
    local = DirFileSystem(str(tmp_path / "here"), fsspec.filesystem("file"))
    StatsMerger((url, {}), local).merge()
    assert json.loads((tmp_path / "here/summary/length/metric.json").read_text())["summary"]["n"] == 6
    StatsMerger((url, {}), (str(tmp_path / "again"), {})).merge()
    assert (tmp_path / "again/summary/length/metric.json").read_bytes() == local.cat_file("summary/length/metric.json")
    with pytest.raises(DataError, match="5 is no folder"):
        StatsMerger(5, local).merge()


class Plain:
    """A driver of S3 that repeats no request by itself, as most drivers."""

    def __init__(self, address: str) -> None:
        import s3fs

        self._fs = s3fs.S3FileSystem(
            endpoint_url=address, skip_instance_cache=True, config_kwargs={"retries": {"max_attempts": 1}}
        )
        self._fs.retries = 1

    def __getattr__(self, name: str) -> Any:
        if name == "retries":
            raise AttributeError(name)
        return getattr(self._fs, name)


def test_requests_that_fail_for_the_moment_are_repeated(
    server: str, bucket: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One request in four fails; then those of one file, all of them."""
    monkeypatch.setattr(retries, "_PAUSES", (0.0,) * 9)
    fill(bucket)
    url, options = bucket
    StatsMerger(bucket, (f"{url}-expected", options)).merge()
    expected = everything((f"{url}-expected", options))
    assert counts(expected) == MERGED
    del expected["summary/length/metric.json"]
    for step in range(2):  # the second time, files of the first one are read and replaced
        faults = Faults(0.25, seed=step, kinds=("500", "503"))
        with faulty(server, faults) as address:
            fs = Plain(address)
            StatsMerger((url, fs), (f"{url}-merged", fs), remove_input=False).merge()
            RemoteFolder(f"{url}-merged", fs=fs).remove("summary/length/metric.json")
        assert faults.failed.total() > 3
        assert everything((f"{url}-merged", options)) == expected
    dead = Faults(1.0, only="summary/length/00001.json", kinds=("503",))
    with (
        faulty(server, dead) as address,
        pytest.raises(DataError, match=r"length/00001\.json: cannot be read: .*10 attempts"),
    ):
        StatsMerger((url, Plain(address)), (f"{url}-merged", {"endpoint_url": server})).merge()


def test_a_run_writes_its_statistics_files_at_a_url(tmp_path: Path) -> None:
    """The same bytes as on this machine, and a merge of the step takes them from there; a second run replaces them."""
    write_lines(tmp_path / "in.jsonl", texts(["a b c", "d e f g", "h"]))
    url = "memory://exported/stats"
    step = {"stats_merger": {"input_folder": url, "output_folder": "memory://exported/merged"}}
    for number, export in enumerate([url, str(tmp_path / "stats"), url]):
        process = [{"words_num_filter": {"min_num": 1}}, *([step] if export == url else [])]
        options = settings(tmp_path, process, stat_summary={"groups": ["summary", "histogram"], "export": export})
        folder = tmp_path / ("run" if export == url else "other")
        refinery.run(options | {"work_dir": str(folder), "export_path": str(folder / f"kept{number}.jsonl")})
    here = {
        str(path.relative_to(tmp_path / "stats")): json.loads(path.read_bytes())
        for path in (tmp_path / "stats").rglob("*.json")
    }
    assert len(here) > 2 and everything((url, {})) == here
    assert len(everything(("memory://exported/merged", {}))) == len(here)


@pytest.mark.parametrize("place", ["memory://kept/stats", pytest.param("stats", marks=pytest.mark.long)])
def test_statistics_files_of_others_stay_and_those_of_earlier_runs_go(tmp_path: Path, place: str) -> None:
    """A merge would count in the file of a statistic that is not computed any more."""
    write_lines(tmp_path / "in.jsonl", texts(["a b c", "d e f g", "h"]))
    folder = place if "://" in place else str(tmp_path / place)
    fs, root = fsspec.core.url_to_fs(folder)
    foreign = f"{root}/summary/num_words/00000.json"
    fs.makedirs(foreign.rpartition("/")[0], exist_ok=True)
    fs.pipe_file(foreign, b"{}")

    def run(step: str, **keys: Any) -> list[str]:
        summary = {"groups": ["summary"], "export": folder}
        refinery.run(settings(tmp_path, [step], stat_summary=summary), **keys)
        return sorted(name[len(root) + 1 :] for name in fs.find(root))

    with pytest.raises(OutputError, match="num_words/00000.json: was not (put there|written) by a run"):
        run("words_num_filter")
    assert fs.cat_file(foreign) == b"{}"
    fs.rm_file(foreign)
    fs.pipe_file(f"{root}/summary/num_words/00001.json", b"{}")
    others = ["summary/num_words/00001.json"]
    assert run("words_num_filter") == ["summary/num_words/00000.json", *others]
    assert run("text_length_filter") == [*others, "summary/text_len/00000.json"]
    assert run("words_num_filter") == ["summary/num_words/00000.json", *others]


def test_a_url_without_a_driver_is_refused_before_the_run(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["a b c"]))
    summary = {"groups": ["summary"], "export": "nosuch://bucket/stats"}
    with pytest.raises(OutputError, match=r"stat_summary\.export: nosuch://bucket/stats: "):
        refinery.run(settings(tmp_path, [{"words_num_filter": {"min_num": 1}}], stat_summary=summary))
    assert not (tmp_path / "run" / "run.duckdb").exists()


def test_from_and_to_a_bucket(bucket: Where, tmp_path: Path) -> None:
    url, options = bucket
    fill(bucket)
    StatsMerger(bucket, (url + "-merged", options)).merge()
    assert counts(everything((url + "-merged", options))) == MERGED
    StatsMerger(bucket, tmp_path).merge()
    assert json.loads((tmp_path / "summary/length/metric.json").read_bytes())["summary"]["n"] == 6
    assert len(everything(bucket)) == 6


def test_input_is_removed_in_place(bucket: Where) -> None:
    fill(bucket)
    assert StatsMerger(bucket, bucket, remove_input=True).merge().removed == 6
    assert counts(everything(bucket)) == MERGED
    assert everything(bucket).keys() == MERGED.keys()
    StatsMerger(bucket, bucket, remove_input=True).merge()
    assert counts(everything(bucket)) == MERGED


def test_a_removal_that_was_cut_off_goes_on(bucket: Where, monkeypatch: pytest.MonkeyPatch) -> None:
    url, options = bucket
    target = (url + "-merged", options)
    fill(bucket)
    real, left = RemoteFolder.remove, [2]

    def dying(self: RemoteFolder, path: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        real(self, path)

    monkeypatch.setattr(RemoteFolder, "remove", dying)
    with pytest.raises(KeyboardInterrupt):
        StatsMerger(bucket, target, remove_input=True).merge()
    monkeypatch.setattr(RemoteFolder, "remove", real)
    assert any(path.endswith(NOTE) for path in everything(target))
    assert len(everything(bucket)) == 4
    StatsMerger(bucket, target, remove_input=True).merge()
    assert everything(bucket) == {}
    assert counts(everything(target)) == MERGED
    assert everything(target).keys() == MERGED.keys()


def test_damaged_objects_are_named(bucket: Where, tmp_path: Path) -> None:
    fill(bucket)
    put(bucket, "summary/length/00001.json", b'{"a": 1')
    with pytest.raises(DataError, match=f"{bucket[0]}/summary/length/00001.json: damaged JSON"):
        StatsMerger(bucket, tmp_path).merge()


def test_command(bucket: Where, tmp_path: Path) -> None:
    """Keys and address from the environment, as every tool of that storage takes them."""
    fill(bucket)
    done = CliRunner().invoke(cli, ["stats", "merge", bucket[0], str(tmp_path)], catch_exceptions=False)
    assert done.exit_code == 0 and "6 files" in done.stdout
    assert (tmp_path / "fqdn/length/metric.json").exists()


def test_nothing_there(bucket: Where, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder|cannot be listed"):
        StatsMerger((bucket[0] + "/nowhere", bucket[1]), tmp_path).merge()


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    if find_spec("gcsfs") is None:
        with pytest.raises(DataError, match=r"no driver for gs://.*gcsfs.*s3fs"):
            StatsMerger("gs://somewhere/stats", tmp_path).merge()
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(DataError, match="pip install .*s3fs"):
        StatsMerger("s3://somewhere/stats", tmp_path).merge()


def test_an_unknown_scheme(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(DataError, match="nonsense"):
        StatsMerger("nonsense://somewhere", tmp_path).merge()


def test_file_urls_are_local(tmp_path: Path) -> None:
    (tmp_path / "in/g/s").mkdir(parents=True)
    (tmp_path / "in/g/s/00000.json").write_text('{"k": 2}')
    StatsMerger(f"file://{tmp_path}/in", tmp_path / "out").merge()
    assert (tmp_path / "out/g/s/metric.json").exists()
