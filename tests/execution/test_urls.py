"""Runs whose input and export are on object storage leave what runs over files leave; an S3 server on this machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import pytest

import refinery
from refinery.api import Run
from refinery.errors import DataError, OutputError, RecipeError
from refinery.inspect.why.query import RowHistories
from refinery.results import delivery
from tests.execution.ray.runs import samples, traces
from tests.runs import content, rows, settings, write_lines
from tests.s3 import make_bucket
from tests.sampling import named, sampled

KEYS = {"shard_size": 15_000, "np": 2, "open_tracer": True, "trace_num": 2}
FILTERS = ["clean_email_mapper", {"words_num_filter": {"min_num": 10}}]
STAGES = [*FILTERS, "document_deduplicator", {"document_line_deduplicator": {"frequency_threshold": 5}}]


@pytest.fixture
def bucket(server: str, request: pytest.FixtureRequest) -> str:
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name.lower())
    return make_bucket(name.strip("-")[-60:].strip("-"))


@pytest.fixture
def source(tmp_path: Path, bucket: str) -> str:
    """The URL of the samples that are in in.jsonl, too."""
    put(f"{bucket}/in.jsonl", write_lines(tmp_path / "in.jsonl", samples(120)).read_bytes())
    return f"{bucket}/in.jsonl"


def put(url: str, data: bytes) -> None:
    fs, path = fsspec.url_to_fs(url)
    fs.pipe_file(path, data)


def get(url: Any) -> bytes:
    fs, path = fsspec.url_to_fs(str(url))
    return bytes(fs.cat_file(path))


def names(url: str) -> list[str]:
    fs, path = fsspec.url_to_fs(url)
    fs.invalidate_cache()
    return sorted(name.removeprefix(f"{path}/") for name in fs.find(path))


def at_url(folder: Path, source: str, steps: Sequence[Any], export: str, **keys: Any) -> Run:
    work_dir = keys.pop("work_dir", folder / "url")
    keys = {"dataset_path": source, "export_path": export, "work_dir": work_dir} | KEYS | keys
    overwrite = keys.pop("overwrite", False)
    return refinery.run(settings(folder, steps, **keys), overwrite=overwrite)


def outcome_of(run: Run) -> str:
    """All tables but those that say how the work was done, files under their own names alone."""
    found = json.dumps(content(run, "shards"), default=str)
    for place in run.sql("SELECT DISTINCT file FROM files").fetchall():
        found = found.replace(place[0], Path(place[0]).name)
    return found


@pytest.mark.parametrize(
    "keys",
    named(
        {
            "plain": {},
            "statistics": {"keep_stats_in_res_ds": True, "process": FILTERS},
            "several files": {"export_shard_size": 8000},
            "several tables": {"export_shard_size": 8000, "export_type": "parquet", "process": STAGES[:3]},
            "an array": {"export_type": "json"},
            "parquet by processes": {"export_type": "parquet", "workers": "processes", "process": FILTERS, "np": 1},
        },
        "several tables",
    ),
)
def test_a_run_is_the_same(tmp_path: Path, bucket: str, source: str, keys: dict[str, Any]) -> None:
    steps, keys = keys.get("process", STAGES), {key: keys[key] for key in keys.keys() - {"process"}}
    one = refinery.run(settings(tmp_path, steps, **KEYS | keys))
    other = at_url(tmp_path, source, steps, f"{bucket}/out/out.jsonl", **keys)
    assert outcome_of(one) == outcome_of(other)
    assert [Path(path).read_bytes() for path in one.outputs] == [get(path) for path in other.outputs]
    assert traces(one) == traces(other)
    assert [path.name for path in one.outputs if isinstance(path, Path)] == [
        str(path).removeprefix(f"{bucket}/out/") for path in other.outputs
    ]
    stats = Path(one.outputs[0]).parent / "out_stats.jsonl"
    assert get(f"{bucket}/out/out_stats.jsonl") == stats.read_bytes()
    assert len(names(f"{bucket}/out")) == len(one.outputs) + 1
    manifest = json.loads((other.work_dir / ".refinery" / "manifest.json").read_text())
    assert [item["path"] for item in manifest["outputs"]] == list(other.outputs)
    assert all(item["modified"] for item in (*manifest["outputs"], *manifest["inputs"]))


def test_what_holds_is_neither_run_nor_put_again(
    tmp_path: Path, bucket: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploads: list[str] = []
    one = delivery.Delivery._one

    def counted(self: delivery.Delivery, item: Any, keep: bool) -> Any:
        before = len(self._put)
        found = one(self, item, keep)
        uploads.extend(self._put[before:])
        return found

    monkeypatch.setattr(delivery.Delivery, "_one", counted)
    first = at_url(tmp_path, source, FILTERS, f"{bucket}/out.jsonl")
    expected = get(first.outputs[0])
    assert "out.jsonl" in uploads
    uploads.clear()
    again = at_url(tmp_path, source, FILTERS, f"{bucket}/out.jsonl")
    assert rows(again, "shards", "min(reused)") == [(1,)] and "out.jsonl" not in uploads
    put(f"{bucket}/out.jsonl", b"somebody else's")
    with pytest.raises(OutputError, match="out.jsonl: has changed since a run put it there"):
        at_url(tmp_path, source, FILTERS, f"{bucket}/out.jsonl")
    assert get(f"{bucket}/out.jsonl") == b"somebody else's"
    at_url(tmp_path, source, FILTERS, f"{bucket}/out.jsonl", overwrite=True)
    assert "out.jsonl" in uploads and get(f"{bucket}/out.jsonl") == expected


def test_rows_are_retold_and_a_changed_object_is_read_anew(tmp_path: Path, bucket: str, source: str) -> None:
    run = at_url(tmp_path, source, FILTERS, f"{bucket}/out.jsonl")
    old = get(run.outputs[0])
    with RowHistories(run.work_dir) as histories:
        found = histories.of(1)
    assert found.file == f"{source}:2" and found.sample["id"] == 1
    put(source, get(source).replace(b"alpha", b"omega"))
    with pytest.raises(DataError, match="the input has changed"):
        RowHistories(run.work_dir)
    again = at_url(tmp_path, source, FILTERS, f"{bucket}/out.jsonl")
    assert rows(again, "shards", "max(reused)") == [(0,)]
    assert get(again.outputs[0]) == old.replace(b"alpha", b"omega")


@pytest.mark.long
def test_rows_are_refiltered_and_compared(tmp_path: Path, bucket: str, source: str) -> None:
    from refinery.inspect.diff.diff import compare
    from refinery.inspect.refilter.refilter import refilter

    run = at_url(tmp_path, source, FILTERS, f"{bucket}/out.jsonl")
    sets = ["process.2.min_num=32"]
    done = refilter(run.work_dir, sets, f"{bucket}/stricter.jsonl", str(tmp_path / "stricter"))
    assert [str(path) for path in done.outcome.outputs] == [f"{bucket}/stricter.jsonl"]
    fresh = at_url(tmp_path, source, [FILTERS[0], {"words_num_filter": {"min_num": 32}}], f"{bucket}/fresh.jsonl",
                   work_dir=tmp_path / "fresh")  # fmt: skip
    assert get(f"{bucket}/stricter.jsonl") == get(fresh.outputs[0]) != get(run.outputs[0])
    texts = compare(tmp_path / "stricter", fresh.work_dir).texts
    assert texts is not None and texts.exact and texts.compared == fresh.counts.kept and texts.differing == 0


@pytest.mark.long
def test_work_dir_at_a_url_too(tmp_path: Path, bucket: str, source: str) -> None:
    one = refinery.run(settings(tmp_path, STAGES, **KEYS))
    other = at_url(tmp_path, source, STAGES, f"{bucket}/out.jsonl", work_dir=f"{bucket}/run")
    assert outcome_of(one) == outcome_of(other) and get(other.outputs[0]) == Path(one.outputs[0]).read_bytes()
    assert "run/.refinery/manifest.json" in names(bucket)


def test_all_that_is_wrong_is_told_before_anything_runs(tmp_path: Path, bucket: str, source: str) -> None:
    recipe = tmp_path / "r.yaml"
    recipe.write_text(
        f"dataset_path:\n- {bucket}/x.jsonl\n- {source}\n- s3://no-such-bucket-x/a.jsonl\n"
        f"export_path: s3://no-such-bucket-y/out.jsonl\nwork_dir: {tmp_path / 'run'}\nprocess: [clean_email_mapper]\n"
    )
    with pytest.raises(DataError) as error:
        refinery.run(recipe)
    first, second, third = str(error.value).splitlines()
    assert first.startswith(f"{recipe}:2: {bucket}/x.jsonl: there is no such object or folder")
    assert second == f"{recipe}:4: s3://no-such-bucket-x/a.jsonl: there is no bucket 'no-such-bucket-x'"
    assert third.startswith(f"{recipe}:5: s3://no-such-bucket-y/out.jsonl: cannot be written: there is no such bucket")
    with pytest.raises(OutputError, match="no-such-bucket-y/out.jsonl: cannot be written: there is no such bucket"):
        at_url(tmp_path, source, FILTERS, "s3://no-such-bucket-y/out.jsonl")
    with pytest.raises(OutputError, match="it is also read"):
        at_url(tmp_path, source, FILTERS, source)
    with pytest.raises(RecipeError, match="s3://only-a-bucket names no object"):
        at_url(tmp_path, source, FILTERS, "s3://only-a-bucket")
    with pytest.raises(RecipeError, match=r"s3://bucket/folder/ names a folder. Write s3://bucket/folder/kept.jsonl"):
        at_url(tmp_path, source, FILTERS, "s3://bucket/folder/")


def test_nothing_stays_of_an_export_that_no_tables_account_for(
    tmp_path: Path, bucket: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(f"{bucket}/out/out.jsonl.other", b"not ours")

    def failing(*_: Any) -> None:
        raise OSError("no room for tables")

    monkeypatch.setattr("refinery.results.manifest.write", failing)
    with pytest.raises(OutputError, match="no room for tables"):
        at_url(tmp_path, source, FILTERS, f"{bucket}/out/out.jsonl")
    assert names(f"{bucket}/out") == ["out.jsonl.other"]
    monkeypatch.undo()
    run = at_url(tmp_path, source, FILTERS, f"{bucket}/out/out.jsonl")
    assert rows(run, "shards", "min(reused)") == [(1,)] and names(f"{bucket}/out")[0] == "out.jsonl"


# Objects that no run has put


@pytest.mark.parametrize(
    ("name", "keys", "then"),
    sampled(
        [
            ("out.jsonl", {}, False),
            ("out.jsonl", {}, True),
            ("out_stats.jsonl", {}, True),
            ("out-00-of-99.jsonl", {"export_shard_size": 4000}, True),
        ]
    ),
)
def test_objects_of_others_are_not_replaced(
    tmp_path: Path, bucket: str, source: str, name: str, keys: dict[str, Any], then: bool
) -> None:
    """then: the object is the run's afterwards, and changed by somebody again."""
    mine, export = f"{bucket}/{name}", f"{bucket}/out.jsonl"
    put(mine, b"mine")
    with pytest.raises(OutputError, match=f"{name}: was not put there by a run.*--overwrite") as caught:
        at_url(tmp_path, source, FILTERS, export, **keys)
    assert caught.value.exit_code == 6 and get(mine) == b"mine" and not (tmp_path / "url" / ".refinery").exists()
    at_url(tmp_path, source, FILTERS, export, overwrite=True, **keys)
    if "99" in name:
        assert get(mine) == b"mine", "not a part of the export"
        return
    assert get(mine) != b"mine"
    if not then:
        return
    at_url(tmp_path, source, FILTERS, export, **keys)  # now it is the run's
    put(mine, b"mine, too")
    with pytest.raises(OutputError, match=f"{name}: has changed since a run put it there"):
        at_url(tmp_path, source, FILTERS, export, **keys)
    assert get(mine) == b"mine, too"


def test_an_object_that_comes_while_the_run_works_is_not_replaced(
    tmp_path: Path, bucket: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill = refinery.results.database.fill

    def late(*arguments: Any) -> None:
        put(f"{bucket}/out.jsonl", b"mine")
        fill(*arguments)

    monkeypatch.setattr("refinery.results.database.fill", late)
    with pytest.raises(OutputError, match="out.jsonl: was not put there by a run"):
        at_url(tmp_path, source, FILTERS, f"{bucket}/out.jsonl")
    assert names(bucket) == ["in.jsonl", "out.jsonl"] and get(f"{bucket}/out.jsonl") == b"mine"


def test_a_run_that_was_killed_while_it_put_objects_goes_on(
    tmp_path: Path, bucket: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("refinery.results.manifest.describe", killed)
        patch.setattr("refinery.results.delivery.Delivery.take_back", lambda *_: None)
        with pytest.raises(Killed):
            at_url(tmp_path, source, FILTERS, f"{bucket}/out.jsonl", export_shard_size=4000)
    assert len(names(bucket)) > 2
    at_url(tmp_path, source, FILTERS, f"{bucket}/out.jsonl", export_shard_size=9000)


@pytest.mark.parametrize("fewer", sampled([False, True]))
def test_objects_of_an_earlier_export_to_the_same_url_go(tmp_path: Path, bucket: str, source: str, fewer: bool) -> None:
    """fewer: the export has fewer parts before it has only one."""
    put(f"{bucket}/out-00-of-99.jsonl.bak", b"mine")
    keys: dict[str, Any] = {"export_shard_size": 5000}
    many = at_url(tmp_path, source, FILTERS, f"{bucket}/out.jsonl", **keys).outputs
    assert len(many) > 2
    if fewer:
        few = at_url(tmp_path, source, FILTERS, f"{bucket}/out.jsonl", export_shard_size=12000).outputs
        assert 1 < len(few) < len(many)
        assert {f"{bucket}/{name}" for name in names(bucket) if "-of-" in name} == {
            *few,
            f"{bucket}/out-00-of-99.jsonl.bak",
        }
    one = at_url(tmp_path, source, ["clean_email_mapper"], f"{bucket}/out.jsonl").outputs
    assert names(bucket) == ["in.jsonl", "out-00-of-99.jsonl.bak", "out.jsonl"] and one == (f"{bucket}/out.jsonl",)


@pytest.mark.parametrize(
    ("name", "then"),
    sampled(
        [
            ("refinery.duckdb", False),
            ("refinery.duckdb", True),
            ("trace/sample_trace-clean_email_mapper.jsonl", True),
        ]
    ),
)
def test_objects_of_others_in_a_work_dir(tmp_path: Path, bucket: str, source: str, name: str, then: bool) -> None:
    """then: the object is written over on demand, and changed by somebody afterwards."""
    keys: dict[str, Any] = {"work_dir": f"{bucket}/run", "export": f"{bucket}/out.jsonl"}
    mine = f"{bucket}/run/{name}"
    put(mine, b"mine")
    with pytest.raises(OutputError, match=f"{name}: was not put there by a run") as caught:
        at_url(tmp_path, source, FILTERS, **keys)
    assert caught.value.exit_code == 6 and get(mine) == b"mine"
    if not then:
        return
    at_url(tmp_path, source, FILTERS, overwrite=True, **keys)
    assert get(mine) != b"mine"
    at_url(tmp_path, source, FILTERS, **keys)
    put(mine, b"mine, too")
    with pytest.raises(OutputError, match=f"{name}: has changed since a run put it there"):
        at_url(tmp_path, source, FILTERS, **keys)
    assert get(mine) == b"mine, too"


@pytest.mark.parametrize("kind", sampled(["parquet", "jsonl"]))
def test_streams_come_from_and_kept_samples_are_read_at_urls(tmp_path: Path, bucket: str, kind: str) -> None:
    given = [sample for sample in samples(60) if isinstance(sample, dict)]
    keys = {"work_dir": f"{bucket}/run", "export_path": f"{bucket}/kept.{kind}"}
    recipe = settings(tmp_path, STAGES[:3], **KEYS | keys)
    run = refinery.run(recipe, dataset=iter(given))
    assert [name for name in names(f"{bucket}/run") if "input" in name] == [
        ".refinery/input.json",
        ".refinery/input/part-000000.samples",
    ]
    here = refinery.run(settings(tmp_path, STAGES[:3], **KEYS), dataset=iter(given))
    assert run.to_arrow().to_pylist() == here.to_arrow().to_pylist()
    with duckdb.connect() as con:
        assert run.to_duckdb(con).project("id").fetchall() == here.to_duckdb().project("id").fetchall()
    assert {path for (path,) in rows(run, "files", "file")} == {f"{bucket}/run/.refinery/input/part-000000.samples"}
    again = refinery.run(recipe, dataset=iter(given))
    assert rows(again, "shards", "min(reused) > 0") == [(True,)]
    with RowHistories(again.work_dir) as histories:
        assert histories.of(0).row == 0
