"""Runs whose storage fails now and then leave what undisturbed ones leave; storage that keeps failing is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.storage import drivers, retries
from refinery.storage.drivers import located
from refinery.storage.open import open_store
from tests.commands import caller
from tests.execution.ray.runs import samples
from tests.faulty_proxy import KINDS, Faults, faulty
from tests.runs import content, rows, settings, write_lines
from tests.s3 import make_bucket
from tests.sampling import sampled

STEPS: list[Any] = ["clean_email_mapper", "document_deduplicator", {"words_num_filter": {"min_num": 8}}]
KEYS = {"shard_size": 20_000, "np": 2, "open_tracer": True, "trace_num": 2}


@pytest.fixture(scope="module")
def bucket(server: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A bucket with samples, which anybody may read by http, too."""
    url = make_bucket("faulty")
    lines = write_lines(tmp_path_factory.mktemp("samples") / "in.jsonl", samples(400))
    located(url)[0].put_file(str(lines), "faulty/data/in.jsonl", ACL="public-read")
    return url


@pytest.fixture(scope="module")
def undisturbed(bucket: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, bytes]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    keys = KEYS | {"dataset_path": f"{bucket}/data/in.jsonl", "export_path": folder / "out.jsonl"}
    run = refinery.run(settings(folder, STEPS, **keys))
    yield content(run, "shards", "quarantine"), (folder / "out.jsonl").read_bytes()


@pytest.mark.parametrize(("rate", "seed"), sampled([(0.01, 4), (0.01, 2), (0.01, 3), (0.2, 4)]))
def test_everything_on_object_storage(
    server: str, bucket: str, undisturbed: tuple[Any, bytes], tmp_path: Path, rate: float, seed: int
) -> None:
    """One request in a hundred fails, and in another case one in five."""
    tables, export = undisturbed
    place, faults = f"{bucket}/{rate}-{seed}", Faults(rate, seed)
    keys = KEYS | {"dataset_path": f"{bucket}/data/", "export_path": f"{place}/out.jsonl", "work_dir": f"{place}/run"}
    with faulty(server, faults):
        run = refinery.run(settings(tmp_path, STEPS, **keys))
        assert content(run, "shards", "quarantine") == tables
    assert faults.failed.total() > faults.requests * rate / 4
    assert open_store(place).fetch("out.jsonl").read_bytes() == export
    assert set(open_store(place).names()) >= {"run/.refinery/manifest.json", "run/refinery.duckdb"}
    assert not [name for name in open_store(place).names() if ".tmp" in name or "/joined/" in name]
    again = refinery.run(settings(tmp_path, STEPS, **keys))
    assert rows(again, "shards", "min(reused)") == [(2,)]


@pytest.mark.parametrize(("rate", "seed"), sampled([(0.1, 1), (0.2, 2), (0.2, 3)]))
def test_an_input_on_a_web_server(
    server: str,
    bucket: str,
    undisturbed: tuple[Any, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rate: float,
    seed: int,
) -> None:
    """The driver of http:// repeats nothing by itself."""
    monkeypatch.setattr(retries, "_PAUSES", (0.0,) * 9)
    faults = Faults(rate, seed)
    with faulty(server, faults) as address:
        keys = KEYS | {"dataset_path": [f"{address}/faulty/data/in.jsonl"]}
        run = refinery.run(settings(tmp_path, STEPS, **keys))
    assert faults.failed.total() > 1
    assert content(run, "shards", "quarantine") == undisturbed[0]
    assert run.outputs[0].read_bytes() == undisturbed[1]


def test_storage_that_keeps_failing_ends_the_run(
    server: str, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the object; the same command succeeds once the storage is well again."""
    monkeypatch.setattr(retries, "_PAUSES", (0.0,) * 2)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    drivers.forget()
    call = caller(monkeypatch, capsys)
    place = f"{bucket}/dead"
    keys = KEYS | {"dataset_path": f"{bucket}/data/", "export_path": f"{place}/out.jsonl", "work_dir": tmp_path / "run"}
    options = [f"--{name}={keys[name]}" for name in ("dataset_path", "export_path", "work_dir")]
    (tmp_path / "recipe.yaml").write_text("process: [clean_email_mapper]\n")
    command = ["run", str(tmp_path / "recipe.yaml"), "--quiet", *options]
    with faulty(server, Faults(1.0, only="out.jsonl", kinds=("503",))):
        code, _, said = call(*command)
    assert code == 6 and f"{place}/out.jsonl" in said
    with faulty(server, Faults(1.0, only="in.jsonl", kinds=("dropped",))) as address:
        web = f"{address}/faulty/data/in.jsonl"
        code, _, said = call(*(f"--dataset_path={web}" if "dataset_path" in word else word for word in command))
    assert code == 3, said
    assert f"{web}: cannot be read: Server disconnected, at each of 3 attempts" in " ".join(said.split())
    assert not open_store(place).names()
    code, _, said = call(*command)
    assert code == 0, said
    assert open_store(place).names() == ["out.jsonl"]


def test_the_proxy_has_faults_of_all_kinds() -> None:
    faults = Faults(0.5)
    asked = [faults.of("GET", f"/{number}", "") for number in range(100)]
    assert {*asked} == {"", *KINDS} and faults.requests == 100
    assert asked == [Faults(0.5).of("GET", f"/{number}", "") for number in range(100)]
