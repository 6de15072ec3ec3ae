"""A run's own earlier additions to an index do not count while the export that they stand for is about to be replaced."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.errors import ConservationError, OutputError
from refinery.execution import publish
from refinery.results import database
from tests.runs import exported, lines_of, refine, settings, texts, write_lines
from tests.sampling import named

TEN = texts(f"text {number}" for number in range(10))


def step(index: Path | str, **more: Any) -> list[Any]:
    return [{"document_deduplicator": {"index": str(index), **more}}]


def recipe(folder: Path, index: Path | str, **keys: Any) -> dict[str, Any]:
    return settings(folder, step(index), **keys)


def kept(run: refinery.Run) -> list[str]:
    return [row["text"] for row in exported(run)]


def remembered(index: Path) -> int:
    """Number of generations that the index lists."""
    return len(json.loads((index / "index.json").read_text())["generations"])


def inputs(folder: Path) -> Path:
    """A folder with two input files of ten samples in all."""
    write_lines(folder / "in" / "a.jsonl", TEN[:6])
    write_lines(folder / "in" / "b.jsonl", TEN[6:])
    return folder / "in"


def _append(folder: Path) -> None:
    with (folder / "b.jsonl").open("a") as file:
        file.write('{"id": 10, "text": "text 10"}\n{"id": 11, "text": "text 11"}\n{"id": 12, "text": "text 12"}\n')


def _correct(folder: Path) -> None:
    write_lines(folder / "a.jsonl", [{"id": 77, "text": "text 0"}, *TEN[1:6]])


def _swap(folder: Path) -> None:
    (folder / "a.jsonl").rename(folder / "c.jsonl")


EDITS: dict[str, Callable[[Path], None]] = {
    "nothing": lambda folder: None,
    "touched": lambda folder: os.utime(folder / "a.jsonl", ns=(10**18, 10**18)),
    "appended": _append,
    "corrected": _correct,
    "renamed": _swap,
    "one file less": lambda folder: (folder / "b.jsonl").unlink(),
    "one file more": lambda folder: None if write_lines(folder / "d.jsonl", texts(["of d"])) else None,
    "shorter": lambda folder: None if write_lines(folder / "a.jsonl", TEN[:2]) else None,
}


@pytest.mark.parametrize("edit", named(EDITS, "touched", "appended"))
@pytest.mark.parametrize(
    "keys",
    named({"one file": {}, "several files": {"export_shard_size": 100}, "parquet": {"suffix": "parquet"}}, "one file"),
)
def test_a_run_over_edited_inputs_exports_all_of_them(
    tmp_path: Path, edit: Callable[[Path], None], keys: dict[str, Any]
) -> None:
    keys = dict(keys)
    name = f"out.{keys.pop('suffix', 'jsonl')}"
    folder = inputs(tmp_path)

    def run(place: str, index: str) -> list[bytes]:
        export = tmp_path / place / name
        given = settings(tmp_path, step(tmp_path / index), dataset_path=folder, export_path=export, **keys)
        return [path.read_bytes() for path in refinery.run(given).outputs]

    run("kept", "seen")
    edit(folder)
    fresh = run("fresh", "other")
    assert run("kept", "seen") == fresh and any(fresh)
    assert run("kept", "seen") == fresh and remembered(tmp_path / "seen") == 1


def test_what_others_have_added_in_between_counts(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    assert kept(refine(tmp_path / "1", texts(["a", "b"]), step(seen))) == ["a", "b"]
    assert kept(refine(tmp_path / "2", texts(["b", "c", "d"]), step(seen))) == ["c", "d"]
    assert kept(refine(tmp_path / "1", texts(["a", "b", "c", "e"]), step(seen))) == ["a", "b", "e"]
    assert kept(refine(tmp_path / "3", texts(["a", "e", "f"]), step(seen))) == ["f"] and remembered(seen) == 3


def test_another_recipe_for_the_same_export_replaces_what_it_stands_for(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    refine(tmp_path / "1", texts(["a", "b"]), step(seen))
    shorter = [{"sql_filter": {"where": "text <> 'a'"}}, *step(seen)]
    assert kept(refine(tmp_path / "1", texts(["a", "b"]), shorter)) == ["b"]
    assert kept(refine(tmp_path / "2", texts(["a", "b"]), step(seen))) == ["a"]
    elsewhere = {"work_dir": tmp_path / "other", "export_path": tmp_path / "1" / "run" / "out.jsonl"}
    assert kept(refine(tmp_path / "1", texts(["b", "c"]), step(seen), **elsewhere)) == ["b", "c"]


def test_a_run_that_keeps_nothing_leaves_nothing_in_the_index(tmp_path: Path) -> None:
    """Its export is empty now: what it stood for is in no export."""
    seen = tmp_path / "seen"
    refine(tmp_path / "1", texts(["a", "b"]), step(seen))
    assert kept(refine(tmp_path / "1", texts(["a"]), [{"sql_filter": {"where": "false"}}, *step(seen)])) == []
    assert remembered(seen) == 0 and not list(seen.glob("marks-*"))
    assert kept(refine(tmp_path / "2", texts(["a", "b"]), step(seen))) == ["a", "b"]


def test_an_export_that_was_taken_away_counts(tmp_path: Path) -> None:
    """A month is exported and moved away, then the next month is exported under the same name."""
    seen, export = tmp_path / "seen", tmp_path / "run" / "out.jsonl"
    refine(tmp_path, texts(["a", "b"]), step(seen))
    shutil.move(export, tmp_path / "january.jsonl")
    february = refine(tmp_path, texts(["b", "c"]), step(seen))
    assert kept(february) == ["c"] and remembered(seen) == 2
    [note] = [text for text in february.warnings if "index" in text]
    assert f"is not at {export} any more; its samples count as kept elsewhere" in note
    # Only the second export is there and replaced; the first one still stands elsewhere.
    assert kept(refine(tmp_path, texts(["b", "c", "d"]), step(seen))) == ["c", "d"] and remembered(seen) == 2


def test_a_removed_export_is_made_again_from_the_same_contents(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    refine(tmp_path, texts(["a", "b"]), step(seen))
    shutil.rmtree(tmp_path / "run")
    assert kept(refine(tmp_path, texts(["a", "b"]), step(seen))) == ["a", "b"] and remembered(seen) == 1


def test_a_project_that_is_moved_with_its_index_knows_its_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    asked = {"dataset_path": "in.jsonl", "export_path": "run/out.jsonl", "process": step("seen")}
    write_lines(before / "in.jsonl", TEN)
    monkeypatch.chdir(before)
    refinery.run(asked)
    monkeypatch.chdir(tmp_path)
    before.rename(after)
    monkeypatch.chdir(after)
    os.utime("in.jsonl", ns=(10**18, 10**18))
    assert exported(refinery.run(asked)) == TEN


def test_a_copy_of_a_project_does_not_replace_what_the_first_has_added(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    refine(tmp_path / "1", texts(["a", "b"]), step(seen))
    shutil.copytree(tmp_path / "1", tmp_path / "2")
    assert kept(refine(tmp_path / "2", texts(["a", "b", "c"]), step(seen))) == ["c"] and remembered(seen) == 2


def test_samples_of_a_program_replace_those_of_before(tmp_path: Path) -> None:
    asked = {"export_path": str(tmp_path / "out.jsonl"), "process": step(tmp_path / "seen")}
    refinery.run(asked, dataset=TEN)
    assert exported(refinery.run(asked, dataset=[*TEN, {"id": 10, "text": "more"}]))[:-1] == TEN


def test_a_run_that_fails_after_its_export_replaces_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failed run has taken its export back, so no export is there; the next run goes on from what it had found."""
    seen = tmp_path / "seen"
    refine(tmp_path, texts(["a", "b"]), step(seen))

    def lost(*_: Any) -> None:
        raise ConservationError("rows do not add up")

    with monkeypatch.context() as patch:
        patch.setattr(database, "check_written", lost)
        with pytest.raises(ConservationError):
            refine(tmp_path, texts(["a", "b", "c"]), step(seen))
    assert kept(refine(tmp_path, texts(["a", "b", "c"]), step(seen))) == ["a", "b", "c"] and remembered(seen) == 1


def test_a_run_that_is_cut_off_before_it_is_listed_is_listed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    refine(tmp_path, texts(["a", "b"]), step(seen))

    def cut_off(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(publish.index, "_list", cut_off)
        with pytest.raises(KeyboardInterrupt):
            refine(tmp_path, texts(["a", "b", "c"]), step(seen))
    assert kept(refine(tmp_path, texts(["a", "b", "c", "d"]), step(seen))) == ["a", "b", "c", "d"]
    assert kept(refine(tmp_path / "2", texts(["c", "d", "e"]), step(seen))) == ["e"] and remembered(seen) == 2


def test_an_index_and_an_export_at_urls(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", TEN)
    asked = settings(tmp_path, step("memory://index-reruns/seen"))
    asked |= {"export_path": "memory://index-reruns/out/k.jsonl", "work_dir": str(tmp_path / "run")}
    first = refinery.run(asked)
    write_lines(tmp_path / "in.jsonl", [*TEN, {"id": 10, "text": "more"}])
    again = refinery.run(asked)
    assert (first.counts.kept, again.counts.kept) == (10, 11)
    assert refine(tmp_path / "2", texts(["more", "else"]), step("memory://index-reruns/seen")).counts.kept == 1


def test_an_index_that_has_lost_its_list_is_refused(tmp_path: Path) -> None:
    """It does not count as a new one: all that it had would be exported a second time."""
    seen = tmp_path / "seen"
    refine(tmp_path / "1", texts(["a", "b"]), step(seen))
    (seen / "index.json").unlink()
    with pytest.raises((OutputError, refinery.errors.OperatorError), match="has lost"):
        refine(tmp_path / "2", texts(["b", "c"]), step(seen))


def test_an_export_of_before_stays_where_it_is_if_the_index_is_refused(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    refine(tmp_path, texts(["a", "b"]), step(seen))
    with pytest.raises(refinery.errors.OperatorError, match="was made with other lowercase"):
        refine(tmp_path, texts(["c"]), step(seen, lowercase=True))
    assert [row["text"] for row in lines_of(tmp_path / "run" / "out.jsonl")] == ["a", "b"]
