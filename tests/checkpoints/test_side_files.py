"""Files beside the input: SQL that reads them, and what is done when they change between runs, and while one runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.api import Run
from refinery.errors import DataError, RecipeError
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.refilter.refilter import refilter
from refinery.inspect.tune import tune
from refinery.inspect.why.query import RowHistories
from refinery.storage.run_folder import RunDir
from refinery.workers.worker import Worker
from tests.runs import content, operator_folder, settings, texts, write_lines
from tests.sampling import named, sampled

SAMPLES = [{"text": f"text {k % 40} of {k % 3}", "k": k % 7} for k in range(150)]
OLD, NEW = "k,w\n1,1\n2,9\n", "k,w\n1,9\n3,1\n5,2\n"

# Steps by what reads the file; SIDE stands for its path.
READERS: dict[str, list[Any]] = {
    "filter": [{"sql_filter": {"where": "k IN (SELECT k FROM 'SIDE')"}}],
    "function": [{"sql_filter": {"where": "k IN (FROM (SELECT k FROM read_csv(['SIDE'], header = true)))"}}],
    "glob": [{"sql_filter": {"where": "k IN (SELECT k FROM 'FOLDER/*.csv')"}}],
    "names": [{"sql_filter": {"where": "(SELECT count(*) FROM glob('FOLDER/*')) > 1 OR k = 1"}}],
    "mapper": [{"sql_mapper": {"text": "text || ' ' || (SELECT count(*) FROM 'SIDE' s WHERE s.k > 2)"}}],
    "keep": [
        {"document_deduplicator": {"keep": "CASE WHEN (SELECT count(*) FROM 'SIDE') > 2 THEN k ELSE -k END desc"}}
    ],
    "own": [{"listed_filter": None}],
    "later": [{"document_deduplicator": None}, {"sql_filter": {"where": "k NOT IN (SELECT k FROM 'SIDE')"}}],
}
OWN = """/*---
doc: Keep samples that are listed.
version: 1
examples: []
---*/
SELECT length({{ text }}) < 9 OR CAST({{ field('k') }} AS VARCHAR) IN (SELECT CAST(k AS VARCHAR) FROM 'SIDE') AS keep
"""


UNNAMED = os.fsdecode(b"s\xe9ide.csv")


def asked(folder: Path, steps: list[Any], name: str = "run", **keys: Any) -> dict[str, Any]:
    side = folder / "side"
    side.mkdir(exist_ok=True)
    text = json.dumps(steps).replace("SIDE", str(side / "list.csv")).replace("FOLDER", str(side))
    own = folder / "operators" / "filters" / "listed_filter.sql"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(OWN.replace("SIDE", str(side / "list.csv")))
    if not (folder / "in.jsonl").exists():
        write_lines(folder / "in.jsonl", SAMPLES)
    places = {"work_dir": folder / name, "export_path": folder / name / "out.jsonl"}
    given = {"operators": [str(folder / "operators")], "shard_size": 2_000, "np": 2, "workers": "threads"}
    return settings(folder, json.loads(text), **places, **given | keys)


def put(folder: Path, text: str) -> None:
    (folder / "side").mkdir(exist_ok=True)
    (folder / "side" / "list.csv").write_text(text)


def left(run: Run) -> tuple[Any, bytes]:
    return content(run), run.outputs[0].read_bytes()


def reused(run: Run) -> set[int]:
    return {count for (count,) in run.sql("SELECT DISTINCT reused FROM shards").fetchall()}


@pytest.mark.parametrize("steps", named(READERS, "later", "names", "keep"))
def test_a_run_is_of_the_file_as_it_is_now(tmp_path: Path, steps: list[Any]) -> None:
    put(tmp_path, OLD)
    before = left(refinery.run(asked(tmp_path, steps)))
    if steps is READERS["later"]:
        again = refinery.run(asked(tmp_path, steps))
        assert left(again) == before and reused(again) == {2}
    put(tmp_path, NEW)
    (tmp_path / "side" / "more.csv").write_text("k,w\n6,6\n")
    after, fresh = (refinery.run(asked(tmp_path, steps, name)) for name in ("run", "fresh"))
    assert left(after) == left(fresh) and after.outputs[0].read_bytes() != before[1]
    assert max(reused(after)) == (1 if "document_deduplicator" in steps[0] and len(steps) > 1 else 0)


def test_sums_are_by_the_groups_of_now(tmp_path: Path) -> None:
    keys = {"stat_summary": {"group_by": {"listed": f"k IN (SELECT k FROM '{tmp_path}/side/list.csv')"}}}
    found = []
    for text, name in ((OLD, "run"), (NEW, "run"), (NEW, "fresh")):
        put(tmp_path, text)
        run = refinery.run(asked(tmp_path, [{"text_length_filter": {}}], name, **keys))
        found.append(run.sql("SELECT * FROM stat_summary ORDER BY ALL").fetchall())
    assert found[1] == found[2] != found[0]


def stopped_after(monkeypatch: pytest.MonkeyPatch, shards: int, then: Callable[[], None]) -> None:
    """Have the shard after so many begin with `then`."""
    run, done = Worker.run, []

    def counted(worker: Worker, *arguments: Any) -> Any:
        done.append(1)
        if len(done) == shards:
            then()
        return run(worker, *arguments)

    monkeypatch.setattr(Worker, "run", counted)


def test_a_killed_run_does_not_mix_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed() -> None:
        raise KeyboardInterrupt

    put(tmp_path, OLD)
    with monkeypatch.context() as patched:
        stopped_after(patched, 3, killed)
        with pytest.raises(BaseException):  # noqa: B017  whatever a run ends with that is interrupted
            refinery.run(asked(tmp_path, READERS["filter"], np=1))
    assert list((RunDir(tmp_path / "run").parts / "stage_1").glob("*.done.json"))
    put(tmp_path, NEW)
    run, fresh = (refinery.run(asked(tmp_path, READERS["filter"], name)) for name in ("run", "fresh"))
    assert left(run) == left(fresh) and reused(run) == {0}


@pytest.mark.parametrize(
    "change", named({"written": lambda path: path.write_text(NEW), "gone": Path.unlink}, "written")
)
def test_a_file_that_changes_while_the_run_reads_it_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], Any]
) -> None:
    put(tmp_path, OLD)
    recipe = asked(tmp_path, READERS["filter"], np=1)
    with monkeypatch.context() as patched:
        stopped_after(patched, 3, lambda: change(tmp_path / "side" / "list.csv"))
        with pytest.raises(DataError, match="list.csv: has changed since the run began"):
            refinery.run(recipe)
    assert not (tmp_path / "run" / "out.jsonl").exists() and not (tmp_path / "run" / "manifest.json").exists()
    put(tmp_path, OLD)
    run, fresh = (refinery.run(asked(tmp_path, READERS["filter"], name)) for name in ("run", "fresh"))
    assert left(run) == left(fresh)


@pytest.mark.long
def test_worker_processes_notice_it_too(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    edits = f"""
    if text == "text 39 of 2":
        Path({str(tmp_path / "side" / "list.csv")!r}).write_text({NEW!r})
    """
    operators = operator_folder(tmp_path / "edit", edit=edits)
    keys = {"operators": [str(operators), str(tmp_path / "operators")], "workers": "processes"}
    with pytest.raises(DataError, match="list.csv: has changed since"):
        refinery.run(asked(tmp_path, [{"edit_mapper": None}, *READERS["filter"]], **keys))


def test_what_is_stored_is_not_used_with_another_file(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    refinery.run(asked(tmp_path, [*READERS["filter"], {"text_length_filter": {"min_len": 3}}]))
    put(tmp_path, NEW)
    with pytest.raises(DataError, match=r"list.csv changed since the run"):
        refilter(tmp_path / "run", ["process.2.min_len=11"])
    with pytest.raises(DataError, match=r"list.csv changed since the run"):
        RowHistories(tmp_path / "run")
    with (
        FinishedRun.open(tmp_path / "run") as stored,
        pytest.raises(DataError, match=r"list.csv changed since the run"),
    ):
        tune(stored, "text_length_filter", ["min_len=1..9"])
    put(tmp_path, OLD)
    assert refilter(tmp_path / "run", ["process.2.min_len=11"]).outcome.counts.kept


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        pytest.param(
            {"sql_filter": {"where": "k IN (SELECT k FROM read_csv('a' || text))"}},
            "sql_filter: .*is computed",
            marks=pytest.mark.long,
        ),
        (
            {"sql_mapper": {"text": "(SELECT any_value(x) FROM query('SELECT 1 AS x'))"}},
            "sql_mapper: .*runs a statement",
        ),
        ({"document_deduplicator": {"keep": "(SELECT max(k) FROM read_csv(text))"}}, "deduplicator: .*is computed"),
        ({"listed_filter": None}, "listed_filter: .*is computed"),
    ],
)
def test_names_that_are_computed_are_refused(tmp_path: Path, step: Any, reason: str) -> None:
    recipe = asked(tmp_path, [step])
    own = tmp_path / "operators" / "filters" / "listed_filter.sql"
    own.write_text(own.read_text().replace("FROM '", "FROM read_csv({{ text }} || '").replace(".csv'", ".csv')"))
    with pytest.raises(RecipeError, match=reason):
        refinery.run(recipe)


def test_a_word_list_that_changes_while_it_is_used_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = tmp_path / "lists"
    lists.mkdir()
    (lists / "stopwords.json").write_text('{"en": ["text"]}')
    write_lines(tmp_path / "in.jsonl", texts(f"text {k}" for k in range(300)))
    steps = [{"stopwords_filter": {"stopwords_dir": str(lists), "min_ratio": 0.1}}]
    stopped_after(monkeypatch, 3, lambda: (lists / "stopwords.json").write_text('{"en": ["none"]}') and None)
    with pytest.raises(DataError, match=r"stopwords.json: has changed since"):
        refinery.run(asked(tmp_path, steps, np=1))


@pytest.mark.parametrize(("link", "glob"), sampled([("lists/b", "lists/*/x.csv"), ("lists/a/y.csv", "lists/a/*.csv")]))
def test_a_glob_of_sql_that_a_link_to_nowhere_matches_is_refused(tmp_path: Path, link: str, glob: str) -> None:
    (tmp_path / "lists" / "a").mkdir(parents=True)
    (tmp_path / "lists" / "a" / "x.csv").write_text(OLD)
    write_lines(tmp_path / "in.jsonl", SAMPLES)
    where = f"k IN (SELECT k FROM '{tmp_path}/{glob}')"
    given = settings(tmp_path, [{"sql_filter": {"where": where}}])
    assert refinery.run(given)
    (tmp_path / link).symlink_to("/nowhere/at/all")
    with pytest.raises(DataError, match=f"{link} is a link to /nowhere/at/all, which is not there"):
        refinery.run(given)


@pytest.mark.parametrize("reader", sampled(["names", "glob"]))
def test_a_glob_that_meets_a_name_that_is_not_utf8(tmp_path: Path, reader: str) -> None:
    given = asked(tmp_path, [{"text_length_filter": {}}, *READERS[reader]])
    (tmp_path / "side" / "list.csv").write_text(OLD)
    (tmp_path / "side" / UNNAMED).write_text(OLD)
    with pytest.raises(
        RecipeError, match=r"step 2: sql_filter: .*side/s\\xe9ide.csv: the name is not UTF-8.*Rename it"
    ):
        refinery.run(given)
    (tmp_path / "side" / UNNAMED).rename(tmp_path / "side" / "other.csv")
    assert refinery.run(given).counts.kept
